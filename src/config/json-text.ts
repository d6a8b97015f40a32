import type { Json } from '../protocol/unmetered.js'
import { deepest, placeAt, SyntaxProblem, type Place, type Text } from './text.js'
import { parseYaml } from './yaml-text.js'

/**
 * Strict JSON (RFC 8259). `JSON.parse` takes the last of two equal keys in silence, does not always say where it stopped, and quotes
 * the text, in which there may be secrets: what is wrong, and where something stands, is asked of YAML, of which JSON is a part. What
 * is right is read without it.
 * @throws SyntaxProblem
 */
export const parseJson = async (source: string): Promise<Text> => {
  const data = parsed(source)
  if (data === undefined) {
    const fault = await findFault(source)
    if (fault !== undefined) throw fault
    throw await parseYaml(source).then(() => misplaced(), (cause: unknown) => (cause instanceof SyntaxProblem && cause.place ? misplaced(cause.place) : cause))
  }
  // YAML's reader says which.
  if (membersIn(data) < membersWritten(source)) return parseYaml(source)
  return { data, placeOf: async keys => (await parseYaml(source)).placeOf(keys) }
}

/** In the words of JSON: YAML speaks of flow maps. */
const misplaced = (place?: Place): SyntaxProblem =>
  new SyntaxProblem('not JSON: a bracket, a comma or a colon is missing, or is too many', place)

const parsed = (source: string): Json | undefined => {
  try {
    return JSON.parse(source) as Json
  } catch {
    return undefined
  }
}

const membersIn = (data: Json, depth = 0): number => {
  if (depth > deepest) throw new SyntaxProblem(`nested deeper than ${deepest}`)
  if (typeof data !== 'object' || data === null) return 0
  const held: readonly (Json | undefined)[] = Object.values(data)
  return held.reduce<number>((sum, value) => sum + membersIn(value ?? null, depth + 1), Array.isArray(data) ? 0 : held.length)
}

/** Of what is JSON: a text that a colon follows is a key. */
const membersWritten = (source: string): number =>
  [...source.matchAll(/"(?:[^"\\]|\\.)*"[ \t\n\r]*(:?)/g)].filter(([, colon]) => colon === ':').length

/** Two values, and no comma between: YAML takes it for one, over several words. */
const twoWords = /^(?:[0-9.eE+-]+|true|false|null)(?=\s)/

const json = /^(?:[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)$/

/** What YAML has and JSON has not: comments, other quotes, bare words, a comma too many. */
const findFault = async (source: string): Promise<SyntaxProblem | undefined> => {
  const { Lexer } = await import('yaml')
  let offset = 0
  let last = ''
  for (const token of new Lexer().lex(source)) {
    // Marks of the lexer's own are no part of the text.
    if (/^[\u0002\u0018\u001f]$/.test(token)) continue
    const problem = (reason: string) => new SyntaxProblem(reason, placeAt(source, offset))
    if (/^(?:#|\/\/|\/\*)/.test(token)) return problem('JSON has no comments')
    if (token.trim() !== '') {
      const [word] = twoWords.exec(token) ?? []
      if (word !== undefined) return new SyntaxProblem('not JSON: expected a comma or a bracket', placeAt(source, offset + word.length))
      if (!json.test(token)) return problem('not JSON: expected a value, or a key in double quotes')
      if (/^[,:]$/.test(last) && /^[\]},:]$/.test(token)) return problem(`not JSON: nothing stands between "${last}" and "${token}"`)
      last = token
    }
    offset += token.length
  }
  return undefined
}
