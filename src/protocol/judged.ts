import { isAscii } from 'node:buffer'
import { Judge, mostBytes, mostTable, type Entry, type Reading } from '../judge/index.js'
import type { Facts, FrameLimits } from './frame.js'
import { hiddenCharacters } from './hidden-characters.js'
import { isObject, member, parseJson, type Json } from './json.js'
import { byte } from './scan.js'
import { unread } from './unread.js'

export { mostTable }

/** One for all: what it holds is of the text that it read last. */
export const judge = new Judge(hiddenCharacters)

/** What is not parsed, as far as nobody looks into it. */
const key = 'structuredContent'

/**
 * A message with the structured content of a tool's result, which is surely as it should be as a text: its value, and what was found. The
 * structured content in it is not parsed.
 * @returns undefined of any other
 */
export const judged = (bytes: Buffer, limits: FrameLimits): ({ readonly value: Json } & Pick<Facts, 'plain' | 'repeats'>) | undefined => {
  if (bytes.length > (limits.judgedBytes ?? mostBytes) || !bytes.includes(`"${key}"`)) return undefined
  const reading = judge.read(bytes, limits.depth)
  if (reading === undefined) return undefined
  const result = judge.member(reading, reading.root, 'result')
  const structured = result && judge.member(reading, result, key)
  if (result === undefined || structured === undefined) return undefined
  const text = judge.cut(reading, structured)
  if (text === undefined) return undefined
  const named = text[0] === byte.openObject
  if (!named && text[0] !== byte.openArray) return undefined
  const from = text.byteOffset - bytes.byteOffset
  // Latin-1 is ASCII's cheapest way into a string.
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8'
  const value = parseJson(`${bytes.toString(encoding, 0, from)}null${bytes.toString(encoding, from + text.length)}`)
  const holder = isObject(value) ? member(value, 'result') : undefined
  if (!isObject(holder)) return undefined
  Object.assign(holder, { [key]: unread(text, named) })
  return { value, plain: reading.plain, repeats: repeatsIn(reading, result, structured) }
}

/** The blocks, by index, whose text is the text of the structured content. */
const repeatsIn = (reading: Reading, result: Entry, structured: Entry): readonly number[] => {
  const content = judge.member(reading, result, 'content')
  return content === undefined ? [] : judge.repeats(reading, content, 'text', structured)
}
