import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  each, isArray, isObject, isString, type Json, type JsonObject, member, Meter,
} from '#relay/protocol/json.js'
import { schemasIn } from '#relay/protocol/json-schema.js'
import { eachChild, type Path, slice, sliceOf } from '#relay/protocol/scan.js'

/**
 * Before 2026-07-28 an output schema describes an object. A legacy client gets any other schema as that of an
 * object with the member `result`, and the structured content of its tool in the same form.
 */
export const isWrappedSchema = (outputSchema: Json | undefined): boolean =>
  outputSchema !== undefined && !(isObject(outputSchema) && member(outputSchema, 'type') === 'object')

/** The edits of a list of tools whose schemas a legacy client could not use. */
export const wrappedSchemas = (frame: Frame, result: JsonObject): readonly Edit[] => {
  const tools = member(result, 'tools')
  const meter = new Meter()
  const schemas = new Map<number, Json>()
  if (isArray(tools)) {
    for (const [index, tool] of each(tools, meter)) {
      const schema = isObject(tool) ? member(tool, 'outputSchema') : undefined
      if (schema !== undefined && isWrappedSchema(schema)) schemas.set(index, schema)
    }
  }
  const list = schemas.size === 0 ? undefined : slice(frame, ['result', 'tools'])
  const edits: Edit[] = []
  if (list === undefined) return edits
  eachChild(list, 0, ({ index, value, to }) => {
    const schema = schemas.get(index)
    const text = schema === undefined ? undefined : sliceOf(list.subarray(value, to), ['outputSchema'])
    if (schema !== undefined && text !== undefined)
      edits.push({ path: ['result', 'tools', index, 'outputSchema'], replace: wrapped(text, schema, meter) })
    return false
  })
  return edits
}

/** @param text the schema, whose bytes stay as they are but for references */
const wrapped = (text: Buffer, schema: Json, meter: Meter): string => {
  const dialect = sliceOf(text, ['$schema'])
  const inner = isObject(schema) ? edit(text, [...references(schema, [], meter)]) : text
  const named = dialect === undefined ? '' : `"$schema":${dialect.toString()},`
  return `{${named}"type":"object","properties":{"result":${inner.toString()}},"required":["result"]}`
}

/** References from the root of a schema have to lead to its new place. */
function* references(schema: JsonObject, path: Path, meter: Meter): Generator<Edit, void> {
  const id = member(schema, '$id') ?? member(schema, 'id')
  // Inside a schema with a URI of its own, references begin there.
  if (isString(id) && !id.startsWith('#')) return
  for (const [key, value] of each(schema, meter)) {
    const at = [...path, key]
    const form = schemasIn(key)
    if ((key === '$ref' || key === '$dynamicRef') && isString(value) && /^#(?:\/|$)/.test(value)) {
      yield { path: at, replace: JSON.stringify(place + value.slice(1)) }
    } else if (key === '$recursiveRef' && member(schema, '$recursiveAnchor') !== true) {
      yield { path: at, remove: true }
      yield { path: [...path, '$ref'], replace: JSON.stringify(place) }
    } else if (isArray(value) && form !== undefined) {
      for (const [index, one] of each(value, meter))
        if (isObject(one)) yield* references(one, [...at, index], meter)
    } else if (isObject(value) && form === 'members') {
      for (const [name, one] of each(value, meter))
        if (isObject(one)) yield* references(one, [...at, name], meter)
    } else if (isObject(value) && form === 'value') yield* references(value, at, meter)
  }
}

const place = '#/properties/result'
