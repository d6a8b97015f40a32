import { isArray, isObject, type Json } from '#protocol/unmetered.js'

/** Values and characters in one piece of text, which takes a few milliseconds. */
const perPiece = 20_000
const maxCharacters = 500_000

interface Level {
  /** The keys of an object; undefined for an array. */
  readonly keys: readonly string[] | undefined
  readonly value: Json
  readonly length: number
  next: number
}

const open = (value: Json): Level | undefined => {
  if (isArray(value)) return { keys: undefined, value, length: value.length, next: 0 }
  if (!isObject(value)) return undefined
  const keys = Object.keys(value)
  return { keys, value, length: keys.length, next: 0 }
}

/** Deeper than any value that the relay forwards: a limit for cyclic values from the library's callers. */
const deepest = 5000

/** A scalar; a long text comes in pieces. Infinity is written as a number that is parsed as Infinity. */
function* scalars(value: Json): Generator<string> {
  if (typeof value !== 'string' || value.length <= maxCharacters) {
    yield value === Infinity ? '1e999' : value === -Infinity ? '-1e999' : JSON.stringify(value)
    return
  }
  yield '"'
  for (let at = 0; at < value.length; at += maxCharacters) {
    yield JSON.stringify(value.slice(at, at + maxCharacters)).slice(1, -1)
  }
  yield '"'
}

/** The JSON text of a value in pieces, so that the writing of a large one can be spread over time. */
export function* encode(value: Json): Generator<string> {
  const first = open(value)
  if (first === undefined) {
    yield* scalars(value)
    return
  }
  let text = first.keys === undefined ? '[' : '{'
  const stack = [first]
  let written = 0
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (++written % perPiece === 0 || text.length > maxCharacters) {
      yield text
      text = ''
    }
    if (top.next === top.length) {
      text += top.keys === undefined ? ']' : '}'
      stack.pop()
      continue
    }
    const key = top.keys?.[top.next]
    const child = childOf(top, key)
    if (top.next++ > 0) text += ','
    if (key !== undefined) text += `${JSON.stringify(key)}:`
    const level = open(child)
    if (level === undefined) {
      for (const piece of scalars(child)) {
        if (text.length > maxCharacters) {
          yield text
          text = ''
        }
        text += piece
      }
    } else {
      text += level.keys === undefined ? '[' : '{'
      if (stack.push(level) > deepest) throw new RangeError('nested too deep to be written')
    }
  }
  yield text
}

const childOf = ({ value, next }: Level, key: string | undefined): Json => {
  if (isArray(value)) return value[next] ?? null
  return isObject(value) && key !== undefined ? (value[key] ?? null) : null
}
