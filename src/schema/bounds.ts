import type { SchemaLimits } from '../core/check.js'
import { isArray, isObject, type Json } from '../protocol/json.js'

/** The length of a schema's JSON text in bytes; or which limit it breaks, in words, as soon as one is broken. */
export const sizeOf = (schema: Json, limits: SchemaLimits): number | string => {
  const room = { bytes: limits.schemaBytes }
  const fits = measure(schema, room, limits.schemaDepth)
  if (fits) return limits.schemaBytes - room.bytes
  return room.bytes < 0 ? `is longer than ${limits.schemaBytes} bytes` : `is nested deeper than ${limits.schemaDepth}`
}

const measure = (value: Json, room: { bytes: number }, depth: number): boolean => {
  if (typeof value === 'string') return takeText(value, room)
  if (isArray(value)) {
    return depth > 0 && take(1 + Math.max(1, value.length), room) && value.every(item => measure(item, room, depth - 1))
  }
  if (!isObject(value)) return take(String(value).length, room)
  // Object.keys, not entries: of an object with 100,000 keys no more is read than there are bytes to spend.
  const keys = Object.keys(value)
  return (
    depth > 0 &&
    take(1 + Math.max(1, 2 * keys.length), room) &&
    keys.every(key => takeText(key, room) && measure(value[key] ?? null, room, depth - 1))
  )
}

const takeText = (text: string, room: { bytes: number }): boolean =>
  // Escaping a long text only to find it too long would cost what the limit is there to save.
  take(text.length > room.bytes ? text.length : Buffer.byteLength(JSON.stringify(text)), room)

const take = (bytes: number, room: { bytes: number }): boolean => (room.bytes -= bytes) >= 0
