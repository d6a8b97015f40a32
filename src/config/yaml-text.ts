import type { Document, Lexer } from 'yaml'
import type { Json } from '../protocol/json.js'
import { deepest, SyntaxProblem } from './syntax-problem.js'

/** How often aliases may repeat what anchors hold: enough for sharing, too little for a bomb of nested aliases. */
const mostAliases = 100

/**
 * YAML 1.2, core schema: text keys, no duplicate keys, no custom tags, one document. The package is loaded here and not
 * before: a configuration in JSON, or none, should not pay for it.
 * @throws SyntaxProblem
 */
export const parseYaml = async (source: string): Promise<Json> => {
  const { isScalar, Lexer, LineCounter, parseDocument, visit } = await import('yaml')
  // The parser recurses, and a stack that overflows in the middle of it can take the process along.
  if (depthOf(new Lexer(), source) > deepest) throw new SyntaxProblem(`nested deeper than ${deepest}`)
  const lines = new LineCounter()
  // The pretty form of an error quotes the file's lines, and there may be secrets in them. The package's own search for
  // duplicate keys compares each with each.
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false, stringKeys: true, uniqueKeys: false })
  const fail = (at: number, reason: string): never => {
    const { line, col } = lines.linePos(at)
    throw new SyntaxProblem(reason, { line, column: col })
  }
  const problem = document.errors[0] ?? document.warnings[0]
  if (problem) return fail(problem.pos[0], problem.message.split('\n')[0] ?? 'not YAML')
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
  return dataOf(document)
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
