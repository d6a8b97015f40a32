import type { SchemaLimits } from '../core/check.js'
import { isArray, isObject, type Json } from '../protocol/json.js'

/** A schema's JSON text and its length in bytes; or which limit it breaks, in words. */
export type Measured = { readonly text: string; readonly bytes: number } | { readonly over: string }

/** Nothing of a schema that is over a limit is read beyond the place where that shows. */
export const measure = (schema: Json, limits: SchemaLimits): Measured => {
  const tooLong = { over: `is longer than ${limits.schemaBytes} bytes` }
  const room = { bytes: limits.schemaBytes }
  if (!fits(schema, room, limits.schemaDepth)) {
    return room.bytes < 0 ? tooLong : { over: `is nested deeper than ${limits.schemaDepth}` }
  }
  // By now it is small enough to be written out; escapes and characters beyond ASCII may still make it too long.
  const text = JSON.stringify(schema)
  const bytes = Buffer.byteLength(text)
  return bytes > limits.schemaBytes ? tooLong : { text, bytes }
}

/** Whether depth and least length keep the limits: a character has a byte at least. */
const fits = (value: Json, room: { bytes: number }, depth: number): boolean => {
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

const take = (bytes: number, room: { bytes: number }): boolean => (room.bytes -= bytes) >= 0
