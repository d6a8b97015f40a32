import type { SchemaLimits } from '../../core/check.js'
import { isArray, isObject, type Json } from '../../protocol/unmetered.js'

/** A schema's JSON text and its memory, text and values together; or the limit that it exceeds, in words. */
export type Measured = { readonly text: string; readonly held: number } | { readonly over: string }

/** Memory for a value, with its part of an array or object. */
const bytesOfValue = 60

/** Stops reading a schema where it exceeds a limit. */
export const measure = (schema: Json, limits: SchemaLimits): Measured => {
  const tooLong = { over: `is longer than ${limits.schemaBytes} bytes` }
  const room: Room = { bytes: limits.schemaBytes, values: 0 }
  if (!fits(schema, room, limits.schemaDepth)) {
    return room.bytes < 0 ? tooLong : { over: `is nested deeper than ${limits.schemaDepth}` }
  }
  // Escapes and characters beyond ASCII may still make it too long.
  const text = JSON.stringify(schema)
  if (Buffer.byteLength(text) > limits.schemaBytes) return tooLong
  return { text, held: 2 * text.length + bytesOfValue * room.values }
}

interface Room {
  bytes: number
  values: number
}

/** Whether depth and minimal length are within the limits: a character has at least one byte. */
const fits = (value: Json, room: Room, depth: number): boolean => {
  room.values++
  if (typeof value === 'string') return take(value.length + 2, room)
  if (isArray(value)) {
    const hasRoom = depth > 0 && take(1 + Math.max(1, value.length), room)
    return hasRoom && value.every(item => fits(item, room, depth - 1))
  }
  if (!isObject(value)) return take(1, room)
  const keys = Object.keys(value)
  return (
    depth > 0 &&
    take(1 + Math.max(1, 2 * keys.length), room) &&
    // Keys, not entries: values are read only while there are bytes left.
    keys.every(key => take(key.length + 2, room) && fits(value[key] ?? null, room, depth - 1))
  )
}

const take = (bytes: number, room: Room): boolean => (room.bytes -= bytes) >= 0
