import type { SchemaLimits } from '../../core/check.js'
import { isArray, isObject, type Json } from '../../protocol/unmetered.js'

/** A schema's JSON text, and about how many bytes of memory it takes as text and as values; or which limit it breaks, in words. */
export type Measured = { readonly text: string; readonly held: number } | { readonly over: string }

/** Bytes of memory that a value takes, its own part of an array or object included. */
const bytesOfValue = 60

/** Nothing of a schema that is over a limit is read beyond the place where that shows. */
export const measure = (schema: Json, limits: SchemaLimits): Measured => {
  const tooLong = { over: `is longer than ${limits.schemaBytes} bytes` }
  const room: Room = { bytes: limits.schemaBytes, values: 0 }
  if (!fits(schema, room, limits.schemaDepth)) {
    return room.bytes < 0 ? tooLong : { over: `is nested deeper than ${limits.schemaDepth}` }
  }
  // By now it is small enough to be written out; escapes and characters beyond ASCII may still make it too long.
  const text = JSON.stringify(schema)
  return Buffer.byteLength(text) > limits.schemaBytes ? tooLong : { text, held: 2 * text.length + bytesOfValue * room.values }
}

interface Room {
  bytes: number
  values: number
}

/** Whether depth and least length keep the limits: a character has a byte at least. */
const fits = (value: Json, room: Room, depth: number): boolean => {
  room.values++
  if (typeof value === 'string') return take(value.length + 2, room)
  if (isArray(value)) {
    return depth > 0 && take(1 + Math.max(1, value.length), room) && value.every(item => fits(item, room, depth - 1))
  }
  if (!isObject(value)) return take(1, room)
  const keys = Object.keys(value)
  return (
    depth > 0 &&
    take(1 + Math.max(1, 2 * keys.length), room) &&
    // Keys, not entries: of an object with 100,000 members no more is read than there are bytes to spend.
    keys.every(key => take(key.length + 2, room) && fits(value[key] ?? null, room, depth - 1))
  )
}

const take = (bytes: number, room: Room): boolean => (room.bytes -= bytes) >= 0
