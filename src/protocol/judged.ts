import { isAscii } from 'node:buffer'
import { Judge, mostBytes, mostTable, type Entry, type Reading } from '../judge/index.js'
import type { Facts, FrameLimits } from './frame.js'
import { hiddenCharacters } from './hidden-characters.js'
import { isArray, isObject, member, parseJson, type Json, type JsonObject } from './json.js'
import { byte } from './scan.js'
import { unread } from './unread.js'

export { mostTable }

/** One for all: what it holds is of the text that it read last. */
export const judge = new Judge(hiddenCharacters)

/** What is not parsed, as far as nobody looks into it. */
const key = 'structuredContent'

/** Strings shorter than that are parsed as soon as they are cut out; so are texts. */
const longBytes = 16 * 1024

/** Where a block of content may have a long string. */
const places = [{ name: 'text' }, { name: 'data' }, { within: 'resource', name: 'text' }, { within: 'resource', name: 'blob' }] as const

/** Of more blocks none is looked at. */
const mostBlocks = 8

/** A value that is cut out of a text before that is parsed, and put into what was parsed. */
interface Cut {
  readonly text: Buffer
  /** The JSON text that stands in its place in between. */
  readonly instead: 'null' | '""'
  readonly put: (result: JsonObject) => void
}

/**
 * A message that surely is as it should be as a text: its value, and what was found. The structured content of a tool's result in it is not
 * parsed.
 * @returns undefined of any other, and of what is short and has none
 */
export const judged = (bytes: Buffer, limits: FrameLimits): ({ readonly value: Json } & Pick<Facts, 'plain' | 'repeats'>) | undefined => {
  const { length } = bytes
  if (length > (limits.judgedBytes ?? mostBytes) || (length < longBytes && !bytes.includes(`"${key}"`))) return undefined
  const reading = judge.read(bytes, limits.depth)
  if (reading === undefined) return undefined
  const result = judge.member(reading, reading.root, 'result')
  const content = judge.member(reading, result, 'content')
  const structured = judge.member(reading, result, key)
  const text = judge.cut(reading, structured)
  const named = text?.[0] === byte.openObject
  if (text !== undefined && !named && text[0] !== byte.openArray) return undefined
  const repeats = content !== undefined && structured !== undefined ? judge.repeats(reading, content, 'text', structured) : []
  const isLatin = isAscii(bytes)
  const repeated = (index: number) => (repeats.some(repeat => repeat.index === index && repeat.isExact) ? text : undefined)
  const cuts = isLatin && content !== undefined ? longStrings(reading, content, repeated) : []
  if (text !== undefined) cuts.push({ text, instead: 'null', put: holder => assign(holder, key, unread(text, named)) })
  // Latin-1 is ASCII's cheapest way into a string.
  const value = parsed(bytes, isLatin ? 'latin1' : 'utf8', cuts)
  return value === undefined ? undefined : { value, plain: reading.plain, repeats: repeats.map(({ index }) => index) }
}

/** @param repeated what the text of a block repeats, character by character */
const longStrings = (reading: Reading, content: Entry, repeated: (index: number) => Buffer | undefined): Cut[] => {
  const cuts: Cut[] = []
  if ((judge.text(reading, content)?.length ?? 0) < longBytes) return cuts
  for (let index = 0; index < mostBlocks; index++) {
    const block = judge.element(reading, content, index)
    if (block === undefined) break
    for (const place of places) {
      const holder = 'within' in place ? judge.member(reading, block, place.within) : block
      const text = judge.text(reading, judge.member(reading, holder, place.name))
      if (text === undefined || text.length < longBytes || text[0] !== byte.quote) continue
      const source = place === places[0] ? repeated(index) : undefined
      if (source === undefined && text.includes(byte.backslash)) continue
      const said = (source ?? text.subarray(1, -1)).toString('latin1')
      cuts.push({ text, instead: '""', put: result => assign(holderIn(result, index, place), place.name, said) })
    }
  }
  return cuts
}

const holderIn = (result: JsonObject, index: number, place: (typeof places)[number]): Json | undefined => {
  const content = member(result, 'content')
  const block = isArray(content) ? content[index] : undefined
  return 'within' in place && isObject(block) ? member(block, place.within) : block
}

const assign = (holder: Json | undefined, name: string, value: Json): void => {
  if (isObject(holder)) Object.assign(holder, { [name]: value })
}

/** What the text says, with what was cut out of it put back. */
const parsed = (bytes: Buffer, encoding: 'latin1' | 'utf8', cuts: readonly Cut[]): Json | undefined => {
  let text = ''
  let at = 0
  for (const cut of [...cuts].sort((one, other) => one.text.byteOffset - other.text.byteOffset)) {
    const from = cut.text.byteOffset - bytes.byteOffset
    text += bytes.toString(encoding, at, from) + cut.instead
    at = from + cut.text.length
  }
  const value = parseJson(text + bytes.toString(encoding, at))
  const result = isObject(value) ? member(value, 'result') : undefined
  if (isObject(result)) for (const { put } of cuts) put(result)
  return value
}
