import { isAscii } from 'node:buffer'
import { ByteValidator, failures, maxBytes, type LongString } from '#relay/judge/index.js'
import { BLOCK_DATA, BLOCK_TEXT, LONG_BYTES, RESOURCE_BLOB, RESOURCE_TEXT } from '#relay/judge/layout.js'
import type { Facts, FrameLimits } from './frame.js'
import { hiddenCharacters } from './text/characters.js'
import { isArray, isObject, member, parseJson, type Json, type JsonObject } from './json.js'
import { keysAtEnds, usualKey } from './message.js'
import { byte } from './scan.js'
import { turns } from './turns.js'
import { putUnread, valueOfString } from './unread.js'

export const byteValidator = new ByteValidator(hiddenCharacters)

/** Errors of the byte validator. After one, the message is parsed whole; its findings are the same. */
export { failures as byteValidatorFailures }

/** The member of a result that is parsed at its first use. */
const lazyMember = 'structuredContent'
const keyToken = Buffer.from(`"${lazyMember}"`)

/** Places of long strings in a block of content. */
const stringPlaces: ReadonlyMap<number, { readonly within?: string; readonly name: string }> = new Map([
  [BLOCK_TEXT, { name: 'text' }],
  [BLOCK_DATA, { name: 'data' }],
  [RESOURCE_TEXT, { within: 'resource', name: 'text' }],
  [RESOURCE_BLOB, { within: 'resource', name: 'blob' }],
])

/** A value that is cut out of the text before parsing, and put into the parsed value. */
interface Cut {
  readonly text: Buffer
  /** The JSON text in its place. */
  readonly instead: 'null' | '""'
  readonly put: (result: JsonObject) => void
}

/** A check that was made while the text was read. */
interface Checked {
  readonly table: Buffer
  /** The value surely matches the schema, whether or not formats are asserted. */
  readonly isValid: boolean
}

interface FastRead extends Pick<Facts, 'plain' | 'repeats'> {
  readonly value: Json
}

/** A shorter message is parsed as fast as it is read here, and so is one up to LONG_BYTES without a table. */
const fewBytes = 1024

/** How many steps reading this text costs in a turn of the event loop (turns.ts). */
export const stepsOfReading = ({ length }: Buffer): number => length >> 3

/**
 * Reads a message that the byte validator finds unambiguous. structuredContent and long strings are parsed at
 * their first use.
 * @returns undefined if the message must be parsed whole: it is ambiguous, too long, or short and without
 * structuredContent
 */
export const readFast = (bytes: Buffer, limits: FrameLimits): FastRead | undefined => {
  const { length } = bytes
  const { judgedBytes = maxBytes, expected } = limits
  if (length > judgedBytes || (length < fewBytes && expected !== undefined)) return undefined
  if (length < LONG_BYTES && !bytes.includes(keyToken)) return undefined
  const table = expected && expectedTable(bytes, expected)
  if (length < LONG_BYTES && expected !== undefined && table === undefined) return undefined
  turns.spend(stepsOfReading(bytes))
  const parts = byteValidator.readResult(bytes, limits.depth, table, spend)
  if (parts === undefined) return undefined
  const { plain, repeats, structured, strings, isValid } = parts
  const first = structured?.[0]
  if (first !== undefined && first !== byte.openObject && first !== byte.openArray) return undefined
  const cuts = strings.map(string => cutOf(string, structured))
  if (structured !== undefined) {
    const value = lazyJson(structured, first === byte.openObject, table && { table, isValid })
    cuts.push({ text: structured, instead: 'null', put: result => assign(result, lazyMember, value) })
  }
  // Latin-1 is the cheapest encoding from ASCII bytes to a string.
  const value = parsed(bytes, isAscii(bytes) ? 'latin1' : 'utf8', cuts)
  return value === undefined ? undefined : { value, plain, repeats }
}

const spend = (steps: number): void => turns.spend(steps)

/** Bytes at the beginning and at the end of a response that are searched for its id: most stand there. */
const idBytes = 96

/**
 * The table for a response whose message is not read yet. The id may be the wrong one: the check by its table
 * is then not used.
 */
const expectedTable = (bytes: Buffer, expected: NonNullable<FrameLimits['expected']>): Buffer | undefined => {
  const key = usualKey(bytes) ?? keysAtEnds(bytes.subarray(0, idBytes), bytes.subarray(-idBytes))[0]
  return key === undefined ? undefined : expected(key, bytes.length)
}

// `structured` is read only if `isStructuredText` is true. That is so only in a result with
// structuredContent, so the default is never read.
const cutOf = (
  { block, member: place, text, isStructuredText, isBase64 }: LongString, structured = text,
): Cut => {
  const valueOf = () => (isStructuredText ? structured.toString() : valueOfString(text))
  const { within, name } = stringPlaces.get(place) ?? { name: '' }
  return {
    text,
    instead: '""',
    put(result) {
      const content = member(result, 'content')
      const holder = isArray(content) ? content[block] : undefined
      const target = within !== undefined && isObject(holder) ? member(holder, within) : holder
      if (isObject(target)) putUnread(target, name, { text, isBase64 }, valueOf)
    },
  }
}

const assign = (holder: Json | undefined, name: string, value: Json): void => {
  if (isObject(holder)) Object.assign(holder, { [name]: value })
}

/** Parses the message without the cut values, then puts each value back into the result. */
const parsed = (bytes: Buffer, encoding: 'latin1' | 'utf8', cuts: Cut[]): Json | undefined => {
  let text = ''
  let at = 0
  if (cuts.length > 1) cuts.sort((one, other) => one.text.byteOffset - other.text.byteOffset)
  for (const cut of cuts) {
    const from = cut.text.byteOffset - bytes.byteOffset
    text += bytes.toString(encoding, at, from) + cut.instead
    at = from + cut.text.length
  }
  const value = parseJson(text + bytes.toString(encoding, at))
  const result = isObject(value) ? member(value, 'result') : undefined
  if (isObject(result)) for (const { put } of cuts) put(result)
  return value
}

/**
 * The proxy returns its LazyJson under this symbol; JSON has no symbol keys. A WeakMap would cost more to
 * collect.
 */
const handler = Symbol('lazy')

/** Parses the text of an object or array at the first access. */
class LazyJson implements ProxyHandler<JsonObject | readonly Json[]> {
  readonly text: Buffer
  readonly checked: Checked | undefined
  #value: object | undefined

  constructor(text: Buffer, checked: Checked | undefined) {
    this.text = text
    this.checked = checked
  }

  get value(): object {
    const value = this.#value ?? parseJson(this.text.toString())
    if (typeof value !== 'object' || value === null) {
      throw new TypeError('the text is not that of an object or array')
    }
    return (this.#value = value)
  }

  get(_: object, key: string | symbol): unknown {
    return key === handler ? this : Reflect.get(this.value, key)
  }

  has(_: object, key: string | symbol): boolean {
    return Reflect.has(this.value, key)
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.value)
  }

  getOwnPropertyDescriptor(_: object, key: string | symbol): PropertyDescriptor | undefined {
    return Reflect.getOwnPropertyDescriptor(this.value, key)
  }

  // Received JSON must not be changed: the change would be lost.
  defineProperty(): boolean {
    return false
  }

  deleteProperty(): boolean {
    return false
  }

  preventExtensions(): boolean {
    return false
  }
}

/**
 * An object or array that is parsed at the first access. It cannot be changed or cloned (`structuredClone`,
 * `postMessage`). Send a thread the text instead.
 * @param text valid JSON of an object or array
 */
export const lazyJson = (text: Buffer, isObjectText: boolean, checked?: Checked): Json =>
  new Proxy<JsonObject | readonly Json[]>(isObjectText ? {} : [], new LazyJson(text, checked))

const lazyOf = (value: Json): LazyJson | undefined => {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, handler) : undefined
  return found instanceof LazyJson ? found : undefined
}

export const textOf = (value: Json): Buffer | undefined => lazyOf(value)?.text

/** The check that was made while the value's text was read. */
export const checkedOf = (value: Json): Checked | undefined => lazyOf(value)?.checked

/** The parsed value of a lazy one: walking it is faster without the proxy. */
export const parsedOf = (value: Json): Json => (lazyOf(value)?.value as Json | undefined) ?? value
