import { ParseError, parseTOML, type AST } from 'toml-eslint-parser'
import type { Document, Member, Span, TableValue, Value } from './tree.js'

/** TOML 1.1. @param fail throws for a syntax error */
export const tomlDocument = (text: string, fail: (at: number, reason: string) => never): Document => {
  const root: Table = { kind: 'table', members: [] }
  for (const node of parse(text, fail).body[0].body) {
    if (node.type === 'TOMLKeyValue') addPair(root, node, 'line')
    else addTable(root, node)
  }
  return { text, root, spellText, spellKey: key => (/^[\w-]+$/.test(key) ? key : spellText(key)) }
}

const parse = (text: string, fail: (at: number, reason: string) => never): AST.TOMLProgram => {
  try {
    // The parser knows no byte order mark; a space keeps all offsets.
    return parseTOML(text.replace(/^\ufeff/, ' '), { tomlVersion: '1.1' })
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    return fail(error.index, error.message)
  }
}

// TOML has every escape of JSON, and wants U+007F escaped too.
const spellText = (text: string): string => JSON.stringify(text).replaceAll('\u007f', '\\u007f')

/** A table while it is read: its parts may stand anywhere in the file. */
interface Table extends TableValue {
  readonly members: Growing[]
}

interface Growing extends Member {
  readonly keys: Span[]
  readonly places: Span[]
  readonly value: Value | Table
}

const spanOf = ({ range: [from, to] }: AST.TOMLNode): Span => ({ from, to })

const nameOf = (key: AST.TOMLBare | AST.TOMLQuoted): string =>
  (key.type === 'TOMLBare' ? key.name : key.value)

/** Adds `[a.b.c]`. `[[a.b]]` is added as one value: its elements hold no servers. */
const addTable = (root: Table, node: AST.TOMLTable): void => {
  const made = node.kind === 'array' ? otherValue(node) : { kind: 'table' as const, members: [] }
  const table = add(root, node.key.keys, made, spanOf(node), 'line')
  if (table === undefined || node.kind === 'array') return
  for (const pair of node.body) addPair(table, pair, 'line')
}

const addPair = (table: Table, node: AST.TOMLKeyValue, layout: Member['layout']): void => {
  add(table, node.key.keys, valueOf(node.value), spanOf(node), layout)
}

/** Adds what stands under a dotted key. @returns the table that stands there now, if it is one */
const add = (
  table: Table,
  [key, ...rest]: readonly (AST.TOMLBare | AST.TOMLQuoted)[],
  value: Value | Table,
  place: Span,
  layout: Member['layout'],
): Table | undefined => {
  if (key === undefined) return table
  let found = table.members.find(one => one.key === nameOf(key))
  if (found === undefined) {
    found = {
      key: nameOf(key), keys: [], places: [], layout,
      value: rest.length === 0 ? value : { kind: 'table', members: [] },
    }
    table.members.push(found)
  }
  found.keys.push(spanOf(key))
  found.places.push(place)
  return isGrowing(found.value) ? add(found.value, rest, value, place, layout) : undefined
}

// Only this module makes tables, so each one is a growing `Table`.
const isGrowing = (value: Value | Table): value is Table => value.kind === 'table'

const valueOf = (node: AST.TOMLContentNode): Value | Table => {
  if (node.type === 'TOMLInlineTable') {
    const table: Table = { kind: 'table', members: [] }
    for (const pair of node.body) addPair(table, pair, 'comma')
    return table
  }
  if (node.type === 'TOMLArray') {
    return { kind: 'list', elements: node.elements.map(valueOf), ...spanOf(node) }
  }
  return node.kind === 'string' ? { kind: 'text', text: node.value, ...spanOf(node) } : otherValue(node)
}

const otherValue = (node: AST.TOMLNode): Value => ({
  kind: 'other',
  value: node.type === 'TOMLValue' && node.kind === 'boolean' ? node.value : undefined,
  ...spanOf(node),
})
