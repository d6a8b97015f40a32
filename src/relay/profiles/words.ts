import {
  each, isArray, isObject, isString, member, withMembers, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { elements, requiredOf, propertiesOf } from './merge.js'

/** What one note says, and all notes of a description, in characters. */
const maxNote = 160
const maxNotes = 800

/** Alternatives that are told. */
const maxTold = 8

/** The JSON text of a value of one line, for a note. */
export const wordText = (value: Json): string => {
  const json = isObject(value) || isArray(value) ? '…' : JSON.stringify(value)
  return json.length > maxNote ? `${json.slice(0, maxNote - 1)}…` : json
}

/** Says of alternatives what tells them apart. */
export const describe = (schemas: readonly Json[], meter: Meter): string => {
  const told = schemas.slice(0, maxTold).map(schema => one(schema, meter))
  return [...told, ...(schemas.length > maxTold ? [`${schemas.length - maxTold} others`] : [])].join(', or ')
}

const one = (schema: Json, meter: Meter): string => {
  if (!isObject(schema)) return 'anything'
  const properties = propertiesOf(schema)
  const names = requiredOf(schema, meter).map(name => `${name}${valueIn(member(properties, name), meter)}`)
  if (names.length > 0) return names.join(' and ').slice(0, maxNote)
  const value = valueIn(schema, meter)
  if (value !== '') return value.slice(3)
  const type = member(schema, 'type')
  const types = isArray(type) ? elements(type, meter).filter(isString).join(' or ') : type
  if (isString(types) && types !== 'object') return types
  const own = [...each(properties, meter)].map(([name, schema]) => `${name}${valueIn(schema, meter)}`)
  if (own.length > 0) return `${own.slice(0, maxTold).join(', ')} if any`
  return isString(types) ? types : 'anything'
}

/** The only value that a schema allows, or the few ones. */
const valueIn = (schema: Json | undefined, meter: Meter): string => {
  if (!isObject(schema)) return ''
  const [only, list] = [member(schema, 'const'), member(schema, 'enum')]
  if (only !== undefined) return ` = ${wordText(only)}`
  return isArray(list) ? ` = ${elements(list, meter).slice(0, maxTold).map(wordText).join(' | ')}` : ''
}

/** A description with what it should say besides. */
export const described = (description: Json | undefined, notes: readonly string[]): string => {
  const said = [...new Set(notes.map(note => (note.length > maxNote ? `${note.slice(0, maxNote - 1)}…` : note)))]
  const added = `(${said.join('; ').slice(0, maxNotes)})`
  return isString(description) && description !== '' ? `${description} ${added}` : added
}

/** The schema with notes in its description. */
export const withNotes = (schema: JsonObject, notes: readonly string[], meter: Meter): JsonObject =>
  (notes.length === 0
    ? schema
    : withMembers(schema, { description: described(member(schema, 'description'), notes) }, meter))
