import type { Document, Lexer } from 'yaml'
import type { Json } from '../protocol/unmetered.js'
import type { Keys } from './problem.js'
import { deepest, placeAt, SyntaxProblem, type Text } from './text.js'

/** How often aliases may repeat what anchors hold: enough for sharing, too little for a bomb of nested aliases. */
const mostAliases = 100

/**
 * YAML 1.2, core schema: text keys, no duplicate keys, no custom tags, one document. The package is loaded here and not
 * before: a configuration in JSON, or none, should not pay for it.
 * @throws SyntaxProblem
 */
export const parseYaml = async (source: string): Promise<Text> => {
  const { isAlias, isMap, isNode, isScalar, isSeq, Lexer, parseDocument, visit } = await import('yaml')
  // The parser recurses, and a stack that overflows in the middle of it can take the process along.
  if (depthOf(new Lexer(), source) > deepest) throw new SyntaxProblem(`nested deeper than ${deepest}`)
  // The pretty form of an error quotes the file's lines, and there may be secrets in them. The package's own search for
  // duplicate keys compares each with each.
  const document = parseDocument(source, { prettyErrors: false, stringKeys: true, uniqueKeys: false })
  const fail = (at: number, reason: string): never => {
    throw new SyntaxProblem(reason, placeAt(source, at))
  }
  const problem = document.errors[0] ?? document.warnings[0]
  // Some messages end with what was found there.
  if (problem) return fail(problem.pos[0], problem.message.replace(/\n[^]*|:? "(?:[^"\\]|\\.)*"$/, ''))
  visit(document, {
    Map: (_, map) => {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        if (seen.has(key.value)) fail(key.range?.[0] ?? 0, `the key ${JSON.stringify(key.value)} stands here twice`)
        seen.add(key.value)
      }
    },
  })
  const placeOf = (keys: Keys) => {
    let node: unknown = document.contents
    let offset: number | undefined
    for (const key of keys) {
      if (isAlias(node)) node = node.resolve(document)
      const pair = isMap(node) ? node.items.find(item => isScalar(item.key) && item.key.value === key) : undefined
      const place = pair?.key ?? (isSeq(node) ? node.items[Number(key)] : undefined)
      node = pair ? pair.value : place
      if (isNode(place)) offset = place.range?.[0] ?? offset
    }
    return offset === undefined ? undefined : placeAt(source, offset)
  }
  return { data: dataOf(document), placeOf }
}

/** Brackets within brackets, and dashes in a row: nesting by indentation needs a file that grows with its square. */
const depthOf = (lexer: Lexer, source: string): number => {
  let brackets = 0
  let dashes = 0
  let most = 0
  for (const token of lexer.lex(source)) {
    if (token === '[' || token === '{') brackets += 1
    else if (token === ']' || token === '}') brackets -= 1
    else if (token === '-' || token === '?') dashes += 1
    else if (token.trim() !== '' || token.includes('\n')) dashes = 0
    most = Math.max(most, brackets + dashes)
  }
  return most
}

const dataOf = (document: Document): Json => {
  try {
    return plain(document.toJS({ maxAliasCount: mostAliases }))
  } catch (cause) {
    if (cause instanceof ReferenceError) throw new SyntaxProblem(cause.message)
    throw new SyntaxProblem('holds something that JSON cannot say (a date, a set, an infinity, a loop)')
  }
}

const plain = (value: unknown): Json => {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    // `fromEntries` makes `__proto__` a member like any other.
    return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, plain(held)]))
  }
  throw new TypeError('not JSON')
}
