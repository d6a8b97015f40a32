import type { Json } from '../protocol/json.js'
import { deepest, SyntaxProblem } from './syntax-problem.js'


const space = /[ \t\n\r]*/y
const punctuation = /[{}[\],:]/y
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const words = /true|false|null/y

const literals: ReadonlyMap<string, Json> = new Map<string, Json>([['true', true], ['false', false], ['null', null]])

/**
 * Strict JSON (RFC 8259) for files that people write. `JSON.parse` takes the last of two equal keys in silence, and does not
 * always say where it stopped; the wire's own parser speaks of frames, and config/ stays apart from it.
 * @throws SyntaxProblem with line and column
 */
export const parseJson = (source: string): Json => new Reader(source).document()

class Reader {
  #at = 0

  constructor(readonly source: string) {}

  document(): Json {
    const value = this.#value(0)
    this.#take(space)
    if (this.#at < this.source.length) this.#fail('nothing may follow the value')
    return value
  }

  #value(depth: number): Json {
    if (depth > deepest) this.#fail(`nested deeper than ${deepest}`)
    this.#take(space)
    const string = this.#take(text)
    if (string !== undefined) return unescape(string)
    const digits = this.#take(number)
    if (digits !== undefined) return Number(digits)
    const literal = literals.get(this.#take(words) ?? '')
    if (literal !== undefined) return literal
    if (this.#skip('[')) return this.#array(depth)
    if (this.#skip('{')) return this.#object(depth)
    return this.#fail('expected a JSON value')
  }

  #array(depth: number): Json {
    const elements: Json[] = []
    if (this.#skip(']')) return elements
    for (;;) {
      elements.push(this.#value(depth + 1))
      if (this.#skip(']')) return elements
      if (!this.#skip(',')) this.#fail('expected "," or "]"')
    }
  }

  #object(depth: number): Json {
    const members = new Map<string, Json>()
    if (this.#skip('}')) return {}
    for (;;) {
      this.#take(space)
      const start = this.#at
      const key = this.#take(text)
      if (key === undefined) return this.#fail('expected a key in double quotes')
      const name = unescape(key)
      if (members.has(name)) this.#fail(`the key ${JSON.stringify(name)} stands here twice`, start)
      if (!this.#skip(':')) this.#fail('expected ":"')
      members.set(name, this.#value(depth + 1))
      // `fromEntries` makes `__proto__` a member like any other.
      if (this.#skip('}')) return Object.fromEntries(members)
      if (!this.#skip(',')) this.#fail('expected "," or "}"')
    }
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.source)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  #skip(mark: string): boolean {
    this.#take(space)
    const start = this.#at
    if (this.#take(punctuation) === mark) return true
    this.#at = start
    return false
  }

  #fail(reason: string, at = this.#at): never {
    const before = this.source.slice(0, at).split('\n')
    throw new SyntaxProblem(reason, { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 })
  }
}

const unescape = (quoted: string): string => String(JSON.parse(quoted))
