import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser'
import type { Document, Member, Span, TableValue, Value } from './tree.js'
import { noTable } from './tree.js'

/**
 * JSON as editors read it: comments and commas before a closing bracket are fine.
 * @param fail is told what is wrong, and where
 */
export const jsonDocument = (text: string, fail: (at: number, reason: string) => never): Document => {
  const problems: ParseError[] = []
  // The parser knows no byte order mark; a space keeps every place where it was.
  const root = parseTree(text.replace(/^\ufeff/, ' '), problems, { allowTrailingComma: true, allowEmptyContent: true })
  const [problem] = problems
  if (problem !== undefined) return fail(problem.offset, printParseErrorCode(problem.error).replace(/([a-z])(?=[A-Z])/g, '$1 ').toLowerCase())
  const spell = (value: string) => JSON.stringify(value)
  const value = root === undefined ? noTable : valueOf(root)
  return { text, root: value.kind === 'table' ? value : fail(0, 'the file must hold an object'), spellText: spell, spellKey: spell }
}

const spanOf = ({ offset, length }: Node): Span => ({ from: offset, to: offset + length })

const valueOf = (node: Node): Value => {
  const value: unknown = node.value
  if (node.type === 'object') return tableOf(node)
  if (node.type === 'array') return { kind: 'list', elements: (node.children ?? []).map(valueOf), ...spanOf(node) }
  if (node.type === 'string') return { kind: 'text', text: String(value), ...spanOf(node) }
  return { kind: 'other', value: typeof value === 'boolean' || value === null ? value : undefined, ...spanOf(node) }
}

const tableOf = ({ children = [] }: Node): TableValue => ({
  kind: 'table',
  members: children.flatMap((property): Member[] => {
    const [key, value] = property.children ?? []
    if (key === undefined || value === undefined) return []
    return [{ key: String(key.value), keys: [spanOf(key)], places: [spanOf(property)], layout: 'comma', value: valueOf(value) }]
  }),
})
