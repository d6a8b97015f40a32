import type { Fault, FrameLimits } from './frame.js'
import { isArray, isObject, isString, parseJson, type Json } from './json.js'
import { unmetered } from './unmetered.js'
import { afterSpace, afterString, byte, isSpace } from './scan.js'
import { loneSurrogate, stringsIn, tooDeep } from './ambiguity.js'

/** Bytes that are parsed in one turn of the event loop. */
export const pieceBytes = 512 * 1024

/** A container takes many times the memory of its text, an object twice that of an array. */
const maxArrays = 1_200_000

/** Listing the members of a larger object takes longer than one turn of the event loop may. */
const maxMembers = 250_000

export interface Parsed {
  /** Undefined when the text is not JSON, or over a limit. */
  readonly value: Json | undefined
  readonly faults: readonly Fault[]
  /** No string has an escape that may stand for a hidden character. */
  readonly unescaped: boolean
}

/** An object or array whose end was not reached yet. The members before `from` are parsed. */
interface Open {
  readonly named: boolean
  from: number
  /** The parsed members; undefined while there are none. */
  value: Record<string, Json> | Json[] | undefined
  /** Where the key of the member at hand stands in an object. */
  key: readonly [from: number, to: number]
  /** Number of parsed members of an object. */
  members: number
  /** Strings in the text since `from`, keys included. */
  strings: number
  /** What stands before `from`. */
  after: 'opening' | 'comma' | 'member'
}

class NotJson extends Error {}

/**
 * Parses a long JSON text as strictly as `JSON.parse`, which reads it in runs of whole members of about
 * `runBytes`; the bytes between the runs are checked here. Also finds whether two parsers could read the text
 * differently.
 */
export function* parseInPieces(
  bytes: Buffer, ascii: boolean, limits: FrameLimits, runBytes = pieceBytes,
): Generator<void, Parsed, void> {
  const pieces = new Pieces(bytes, ascii, runBytes)
  try {
    const start = afterSpace(bytes, 0)
    if (bytes[start] !== byte.openObject && bytes[start] !== byte.openArray) throw new NotJson()
    for (let at = start; at < bytes.length; at++) {
      const one = bytes[at]
      if (one === byte.quote) at = pieces.string(at) - 1
      else if (one === byte.openObject || one === byte.openArray) {
        if (pieces.open(one === byte.openObject, at) > limits.depth) return none(tooDeep(limits))
        if (pieces.containers > maxArrays) return none(tooManyContainers)
      } else if (one === byte.closeObject || one === byte.closeArray) {
        const value = pieces.close(one === byte.closeObject, at)
        if (value === undefined) continue
        if (afterSpace(bytes, at + 1) < bytes.length) throw new NotJson()
        return { value, faults: pieces.isAmbiguous ? [ambiguous] : [], unescaped: !pieces.hasEscapes }
      } else if (one === byte.comma && pieces.comma(at)) {
        if (pieces.members > maxMembers) return none(tooManyMembers)
        yield
      } else if (one === byte.colon) pieces.colon()
    }
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
  }
  return none()
}

const none = (...faults: readonly Fault[]): Parsed => ({ value: undefined, faults, unescaped: false })

const tooManyContainers: Fault =
  { kind: 'size', path: '', message: `more than ${maxArrays / 2} objects, or ${maxArrays} arrays` }
const tooManyMembers: Fault =
  { kind: 'size', path: '', message: `an object of more than ${maxMembers} members` }

/** Without its place: to find that would take as long again. */
const ambiguous: Fault = {
  kind: 'ambiguous',
  path: '',
  message: 'the same key twice, half of a surrogate pair, or a number beyond the range of a double',
}

const doubtfulEscape = /\\[ubfr]/

class Pieces {
  readonly #encoding: 'latin1' | 'utf8'
  readonly #stack: Open[] = []
  #lastString: readonly [from: number, to: number] = [0, 0]
  /** An array counts as one, an object as two. */
  containers = 0
  /** Number of members of the largest object so far. */
  members = 0
  isAmbiguous = false
  /** Of any character (`\\u`), or of a control character other than TAB and LF. */
  hasEscapes = false

  constructor(private readonly bytes: Buffer, ascii: boolean, private readonly runBytes: number) {
    this.#encoding = ascii ? 'latin1' : 'utf8'
  }

  /** @returns the nesting */
  open(named: boolean, at: number): number {
    this.containers += named ? 2 : 1
    return this.#stack.push({
      named, from: at + 1, value: undefined, key: [at, at], members: 0, strings: 0, after: 'opening',
    })
  }

  /** @returns where the string ends */
  string(at: number): number {
    const to = afterString(this.bytes, at)
    this.#top.strings++
    this.#lastString = [at, to]
    return to
  }

  colon(): void {
    this.#top.key = this.#lastString
  }

  /** @returns true when a piece was read */
  comma(at: number): boolean {
    const top = this.#top
    if (at - top.from < this.runBytes) return false
    for (const [depth, outer] of this.#stack.entries()) {
      const inner = this.#stack[depth + 1]
      if (inner !== undefined && inner.value === undefined) this.#readBefore(outer, inner)
    }
    this.#read(top, at, top.after === 'member')
    top.from = at + 1
    top.after = 'comma'
    return true
  }

  /** @returns the value, at the end of the outermost container */
  close(named: boolean, at: number): Json | undefined {
    const closed = this.#stack.pop()
    if (closed?.named !== named) throw new NotJson()
    const outer = this.#stack.at(-1)
    if (closed.value === undefined && outer !== undefined) {
      outer.strings += closed.strings
      return undefined
    }
    const value = this.#read(closed, at, closed.after !== 'comma')
    if (outer === undefined) return value
    this.#put(outer, outer.named ? this.#string(outer.key) : '', value)
    outer.from = at + 1
    outer.after = 'member'
    return undefined
  }

  get #top(): Open {
    const top = this.#stack.at(-1)
    if (top === undefined) throw new NotJson()
    return top
  }

  /** Parses the members of the outer container before the inner one, which is read in pieces from now on. */
  #readBefore(outer: Open, inner: Open): void {
    const opening = inner.from - 1
    let to = opening
    if (outer.named) {
      const [from, end] = outer.key
      const colon = afterSpace(this.bytes, end)
      const isMember = this.bytes[colon] === byte.colon && afterSpace(this.bytes, colon + 1) === opening
      if (from < outer.from || !isMember) throw new NotJson()
      outer.strings--
      to = from
    }
    while (to > outer.from && isSpace(this.bytes[to - 1])) to--
    const isFirst = to === outer.from && outer.after !== 'member'
    if (!isFirst && this.bytes[to - 1] !== byte.comma) throw new NotJson()
    if (!isFirst) this.#read(outer, to - 1, outer.after === 'member')
    this.#valueOf(outer)
    this.#valueOf(inner)
  }

  /** Parses the members between `from` and `end`. @returns the object or array with all members so far */
  #read(open: Open, end: number, mayBeNone: boolean): Json {
    let from = afterSpace(this.bytes, open.from)
    const value = this.#valueOf(open)
    if (from >= end && mayBeNone) return value
    if (open.after === 'member') {
      if (this.bytes[from] !== byte.comma) throw new NotJson()
      from = afterSpace(this.bytes, from + 1)
    }
    if (from >= end) throw new NotJson()
    const text = this.bytes.toString(this.#encoding, from, end)
    const part = parseJson(open.named ? `{${text}}` : `[${text}]`)
    if (part === undefined) throw new NotJson()
    const escapes = doubtfulEscape.test(text)
    if (escapes) this.hasEscapes = true
    if (stringsIn(part, Infinity, escapes) !== open.strings) this.isAmbiguous = true
    open.strings = 0
    if (isArray(part)) for (const element of unmetered(part)) this.#put(open, '', element)
    else if (isObject(part)) for (const key in unmetered(part)) this.#put(open, key, part[key] ?? null)
    return value
  }

  #valueOf(open: Open): Record<string, Json> | Json[] {
    return (open.value ??= open.named ? {} : [])
  }

  #put(open: Open, key: string, member: Json): void {
    const into = this.#valueOf(open)
    if (Array.isArray(into)) into.push(member)
    else {
      this.members = Math.max(this.members, ++open.members)
      if (Object.hasOwn(into, key)) this.isAmbiguous = true
      if (key === '__proto__') {
        Object.defineProperty(
          into, key, { value: member, enumerable: true, configurable: true, writable: true },
        )
      } else into[key] = member
    }
  }

  #string([from, to]: readonly [number, number]): string {
    const text = this.bytes.toString(this.#encoding, from, to)
    const key = parseJson(text)
    if (!isString(key)) throw new NotJson()
    if (doubtfulEscape.test(text)) this.hasEscapes = true
    if (loneSurrogate.test(key)) this.isAmbiguous = true
    return key
  }
}
