import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser'
import { CustomsError } from '#relay/base/errors.js'
import { placeAt } from '#relay/base/operator-file.js'
import { tomlDocument } from './toml-document.js'
import { noTable, type Document, type Member, type Span, type TableValue, type Value } from './tree.js'

/**
 * A client's configuration: TOML when the file is named `.toml`, else JSON with comments.
 * @throws CustomsError BAD_CONFIG: `FILE:LINE:COLUMN: reason`
 */
export const parseDocument = (file: string, text: string): Document => {
  const fail = (at: number, reason: string): never => {
    const { line, column } = placeAt(text, at)
    throw new CustomsError('BAD_CONFIG', `${file}:${line}:${column}: ${reason}`)
  }
  try {
    return (/\.toml$/i.test(file) ? tomlDocument : jsonDocument)(text, fail)
  } catch (error) {
    // The parsers recurse: deep nesting overflows the stack.
    if (error instanceof RangeError) return fail(0, 'nested too deep')
    throw error
  }
}

/**
 * JSON as editors read it: with comments, and commas before a closing bracket.
 * @param fail throws for a syntax error
 */
const jsonDocument = (text: string, fail: (at: number, reason: string) => never): Document => {
  const problems: ParseError[] = []
  // The parser knows no byte order mark; a space keeps all offsets.
  const root =
    parseTree(text.replace(/^\ufeff/, ' '), problems, { allowTrailingComma: true, allowEmptyContent: true })
  const [problem] = problems
  if (problem !== undefined) {
    const reason = printParseErrorCode(problem.error)
    return fail(problem.offset, reason.replace(/([a-z])(?=[A-Z])/g, '$1 ').toLowerCase())
  }
  const spell = (value: string) => JSON.stringify(value)
  const value = root === undefined ? noTable : valueOf(root)
  return {
    text, root: value.kind === 'table' ? value : fail(0, 'the file must hold an object'), spellText: spell,
    spellKey: spell,
  }
}

const spanOf = ({ offset, length }: Node): Span => ({ from: offset, to: offset + length })

const valueOf = (node: Node): Value => {
  const value: unknown = node.value
  if (node.type === 'object') return tableOf(node)
  if (node.type === 'array') {
    return { kind: 'list', elements: (node.children ?? []).map(valueOf), ...spanOf(node) }
  }
  if (node.type === 'string') return { kind: 'text', text: String(value), ...spanOf(node) }
  const kept = typeof value === 'boolean' || value === null ? value : undefined
  return { kind: 'other', value: kept, ...spanOf(node) }
}

const tableOf = ({ children = [] }: Node): TableValue => ({
  kind: 'table',
  members: children.flatMap((property): Member[] => {
    const [key, value] = property.children ?? []
    if (key === undefined || value === undefined) return []
    const spans = { keys: [spanOf(key)], places: [spanOf(property)] }
    return [{ key: String(key.value), ...spans, layout: 'comma', value: valueOf(value) }]
  }),
})
