import type { Document, Lexer } from 'yaml'
import { placeAt, type FilePlace } from '#relay/base/operator-file.js'
import type { Data } from '#relay/protocol/unmetered.js'
import type { Keys } from './source.js'

/** Deepest nesting of a file: the YAML parser recurses. */
const maxDepth = 200

/** How often aliases may repeat their anchors: a bomb of nested aliases needs more. */
const maxAliases = 100

/** A parsed text. */
export interface ConfigurationText {
  readonly data: Data
  /** Where a key or a list element stands; for a missing one, the nearest that holds it. */
  readonly placeOf: (keys: Keys) => FilePlace | undefined | Promise<FilePlace | undefined>
}

/** A text that is not JSON or YAML, or whose values JSON does not have. */
export class SyntaxProblem extends Error {
  override readonly name = 'SyntaxProblem'
  constructor(
    reason: string,
    /** Undefined when the error is not at one place. */
    readonly place?: FilePlace,
  ) {
    super(reason)
  }
}

/**
 * YAML 1.2, core schema: text keys, no duplicate keys, no custom tags, one document. The package is loaded
 * here: a relay without a YAML file starts sooner.
 * @throws SyntaxProblem
 */
export const parseYaml = async (source: string): Promise<ConfigurationText> => {
  const { isAlias, isMap, isNode, isScalar, isSeq, Lexer, parseDocument, visit } = await import('yaml')
  // A stack overflow within the recursive parser can end the process.
  if (depthOf(new Lexer(), source) > maxDepth) throw new SyntaxProblem(`nested deeper than ${maxDepth}`)
  // Pretty errors quote the file's lines, which may hold secrets. The package's own search for duplicate keys
  // is quadratic.
  const document = parseDocument(source, { prettyErrors: false, stringKeys: true, uniqueKeys: false })
  const fail = (at: number, reason: string): never => {
    throw new SyntaxProblem(reason, placeAt(source, at))
  }
  const problem = document.errors[0] ?? document.warnings[0]
  // Some messages end with a quotation from the file.
  if (problem) return fail(problem.pos[0], problem.message.replace(/\n[^]*|:? "(?:[^"\\]|\\.)*"$/, ''))
  visit(document, {
    Map: (_, map) => {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        const name = JSON.stringify(key.value)
        if (seen.has(key.value)) fail(key.range?.[0] ?? 0, `the key ${name} stands here twice`)
        seen.add(key.value)
      }
    },
  })
  const placeOf = (keys: Keys) => {
    let node: unknown = document.contents
    let offset: number | undefined
    for (const key of keys) {
      if (isAlias(node)) node = node.resolve(document)
      const pair = isMap(node)
        ? node.items.find(item => isScalar(item.key) && item.key.value === key)
        : undefined
      const place = pair?.key ?? (isSeq(node) ? node.items[Number(key)] : undefined)
      node = pair ? pair.value : place
      if (isNode(place)) offset = place.range?.[0] ?? offset
    }
    return offset === undefined ? undefined : placeAt(source, offset)
  }
  return { data: dataOf(document), placeOf }
}

/**
 * The depth of nested brackets and successive dashes. Nesting by indentation is not counted: the size of
 * such a file grows with the square of the depth, and the size is limited.
 */
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

const dataOf = (document: Document): Data => {
  try {
    return plain(document.toJS({ maxAliasCount: maxAliases }))
  } catch (cause) {
    if (cause instanceof ReferenceError) throw new SyntaxProblem(cause.message)
    throw new SyntaxProblem('holds something that JSON cannot say (a date, a set, an infinity, a loop)')
  }
}

const plain = (value: unknown): Data => {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    // `fromEntries` makes `__proto__` a member like any other.
    return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, plain(held)]))
  }
  throw new TypeError('not JSON')
}

/**
 * Strict JSON (RFC 8259). `JSON.parse` takes the last of two equal keys without an error, does not always say
 * where it stopped, and quotes the text, which may hold secrets. So errors and places come from the YAML
 * parser, as JSON is a subset of YAML; a valid file is read without it.
 * @throws SyntaxProblem
 */
export const parseStrictJson = async (source: string): Promise<ConfigurationText> => {
  const data = parsed(source)
  if (data === undefined) {
    throw (await findFault(source)) ?? await parseYaml(source).then(() => misplaced(), (cause: unknown) =>
      (cause instanceof SyntaxProblem && cause.place ? misplaced(cause.place) : cause))
  }
  // Fewer members than keys: the YAML parser says which key is a duplicate.
  if (membersIn(data) < keysIn(source)) return parseYaml(source)
  return { data, placeOf: async keys => (await parseYaml(source)).placeOf(keys) }
}

/** Replaces a message of the YAML parser, which speaks of flow maps and not of JSON. */
const misplaced = (place?: FilePlace): SyntaxProblem =>
  new SyntaxProblem('not JSON: a bracket, a comma or a colon is missing, or is too many', place)

const parsed = (source: string): Data | undefined => {
  try {
    return JSON.parse(source) as Data
  } catch {
    // `findFault` and the YAML parser say why.
    return undefined
  }
}

const membersIn = (data: Data, depth = 0): number => {
  if (depth > maxDepth) throw new SyntaxProblem(`nested deeper than ${maxDepth}`)
  if (typeof data !== 'object' || data === null) return 0
  const held: readonly (Data | undefined)[] = Object.values(data)
  const below = held.reduce<number>((sum, value) => sum + membersIn(value ?? null, depth + 1), 0)
  return below + (Array.isArray(data) ? 0 : held.length)
}

/** In valid JSON, a string followed by a colon is a key. */
const keysIn = (source: string): number =>
  [...source.matchAll(/"(?:[^"\\]|\\.)*"[ \t\n\r]*(:?)/g)].filter(([, colon]) => colon === ':').length

/** The first of two values without a comma between them: YAML reads them as one text of several words. */
const firstOfTwo = /^(?:[0-9.eE+-]+|true|false|null)(?=\s)/

const jsonString = String.raw`"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"`
const jsonNumber = String.raw`-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`
const jsonToken = new RegExp(`^(?:[{}[\\],:]|${jsonString}|${jsonNumber}|true|false|null)$`)

/** Finds tokens that YAML has and JSON has not: comments, other quotes, bare words, a comma too many. */
const findFault = async (source: string): Promise<SyntaxProblem | undefined> => {
  const { Lexer } = await import('yaml')
  let offset = 0
  let last = ''
  for (const token of new Lexer().lex(source)) {
    // The lexer's own marks are no part of the text.
    if (/^[\u0002\u0018\u001f]$/.test(token)) continue
    const problem = (reason: string, at = offset) => new SyntaxProblem(reason, placeAt(source, at))
    if (/^(?:#|\/\/|\/\*)/.test(token)) return problem('JSON has no comments')
    if (token.trim() !== '') {
      const [word] = firstOfTwo.exec(token) ?? []
      if (word !== undefined) return problem('not JSON: expected a comma or a bracket', offset + word.length)
      if (!jsonToken.test(token)) return problem('not JSON: expected a value, or a key in double quotes')
      if (/^[,:]$/.test(last) && /^[\]},:]$/.test(token)) {
        return problem(`not JSON: nothing stands between "${last}" and "${token}"`)
      }
      last = token
    }
    offset += token.length
  }
  return undefined
}
