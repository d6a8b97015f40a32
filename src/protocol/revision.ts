import {
  each, isArray, isObject, isString, member, type Json, type JsonArray, type JsonObject, type Meter,
} from './json.js'
import { listMethods } from './methods.js'

/** The revisions of the protocol that are known, oldest first. */
export const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const

export type Revision = (typeof revisions)[number]

/** What differs between revisions, for those who judge by it. */
export interface Traits {
  /** Stateless: no handshake, `_meta` on each request, `resultType` on each result. */
  readonly modern: boolean
  /** JSON-RPC batches are allowed. */
  readonly batches: boolean
  /** Types of content blocks (schema.json, ContentBlock), and of those of sampling (SamplingMessageContentBlock). */
  readonly contentTypes: ReadonlySet<string>
  readonly samplingTypes: ReadonlySet<string>
}

/** What the revisions up to one have added. */
const upTo = (revision: Revision, added: Readonly<Partial<Record<Revision, string>>>): ReadonlySet<string> =>
  new Set(Object.entries(added).flatMap(([since, types]) => (since <= revision ? types.split(' ') : [])))

const eachRevision = <Made>(make: (revision: Revision) => Made): Readonly<Record<Revision, Made>> => ({
  '2024-11-05': make('2024-11-05'),
  '2025-03-26': make('2025-03-26'),
  '2025-06-18': make('2025-06-18'),
  '2025-11-25': make('2025-11-25'),
  '2026-07-28': make('2026-07-28'),
})

const traits = eachRevision((revision): Traits => ({
  modern: revision >= '2026-07-28',
  batches: revision === '2025-03-26',
  contentTypes: upTo(revision, { '2024-11-05': 'text image resource', '2025-03-26': 'audio', '2025-06-18': 'resource_link' }),
  samplingTypes: upTo(revision, { '2024-11-05': 'text image', '2025-03-26': 'audio', '2025-11-25': 'tool_use tool_result' }),
}))

export const traitsOf = (revision: Revision): Traits => traits[revision]

const known: ReadonlySet<string> = new Set(revisions)

export const isRevision = (text: string): text is Revision => known.has(text)

/** The revision by which to judge: an unknown one is read as the newest known one that is not later (dates sort as text). */
export const nearest = (text: string): Revision =>
  isRevision(text) ? text : revisions.reduce<Revision>((best, revision) => (revision <= text ? revision : best), revisions[0])

/** One place where a value is not of its shape. */
export interface Misfit {
  /** The way there, from the value. */
  readonly path: readonly (string | number)[]
  /** Ours: what is wrong there. */
  readonly message: string
}

/** What a value must be; answers with what is wrong, nothing for a value that fits. */
export type Shape = (value: Json, meter: Meter) => readonly Misfit[]

type Fields = Readonly<Record<string, Shape>>

const none: readonly Misfit[] = []

/** Enough to see what is wrong; a peer can make no more work of an endless array. */
const maxMisfits = 20

const misfit = (message: string, ...path: readonly (string | number)[]): readonly Misfit[] => [{ path, message }]

const below = (key: string | number, misfits: readonly Misfit[]): readonly Misfit[] =>
  misfits.map(({ path, message }) => ({ path: [key, ...path], message }))

const of = (fits: (value: Json) => boolean, kind: string): Shape => {
  const wrong = misfit(`must be ${kind}`)
  return value => (fits(value) ? none : wrong)
}

const anything: Shape = () => none
const text = of(isString, 'a string')
const number = of(value => typeof value === 'number', 'a number')
const integer = of(Number.isInteger, 'an integer')
const flag = of(value => typeof value === 'boolean', 'true or false')
const anyObject = of(isObject, 'an object')

const oneOf = (...values: readonly string[]): Shape =>
  of(value => isString(value) && values.includes(value), `one of ${values.map(value => `"${value}"`).join(', ')}`)

const arrayOf = (shape: Shape): Shape => (value, meter) =>
  isArray(value) ? misfitsIn(value, shape, meter) : misfit('must be an array')

/** An object whose members, whatever their names, all have one shape. */
const recordOf = (shape: Shape): Shape => (value, meter) =>
  isObject(value) ? misfitsIn(value, shape, meter) : misfit('must be an object')

const misfitsIn = (value: JsonArray | JsonObject, shape: Shape, meter: Meter): readonly Misfit[] => {
  let found = none
  for (const [step, child] of each(value, meter)) {
    const misfits = shape(child, meter)
    if (misfits.length > 0) found = [...found, ...below(step, misfits)]
    if (found.length >= maxMisfits) break
  }
  return found
}

/** An object with these members; others may be there. */
const objectOf = (required: Fields, optional: Fields = {}): Shape => {
  const fields = [
    ...Object.entries(required).map(([key, shape]) => ({ key, shape, needed: true })),
    ...Object.entries(optional).map(([key, shape]) => ({ key, shape, needed: false })),
  ]
  return (value, meter) => {
    if (!isObject(value)) return misfit('must be an object')
    let found = none
    meter.pay(fields.length)
    for (const { key, shape, needed } of fields) {
      const given = member(value, key)
      const misfits = given === undefined ? (needed ? misfit('is missing') : none) : shape(given, meter)
      if (misfits.length > 0) found = [...found, ...below(key, misfits)]
    }
    return found
  }
}

const meta = { _meta: anyObject }
const icon = objectOf({ src: text }, { mimeType: text, sizes: arrayOf(text), theme: oneOf('light', 'dark') })

const resourceContents = (more: Fields): Shape => {
  const rest = objectOf({ uri: text }, { mimeType: text, ...more })
  return (value, meter) => {
    const misfits = rest(value, meter)
    const has = (key: string) => isObject(value) && isString(member(value, key))
    return has('text') || has('blob') ? misfits : [...misfits, ...misfit('must have a text or a blob, as a string')]
  }
}

/** A block of a type that the revision does not know is not judged here. */
const blockOf = (revision: Revision): Shape => {
  const more = revision >= '2025-06-18' ? meta : {}
  // Which values an annotation may have is the affair of content/annotations.
  const annotations = objectOf({}, { audience: arrayOf(text), priority: number, ...(revision >= '2025-06-18' && { lastModified: text }) })
  const all: Fields = { ...more, annotations }
  const data = objectOf({ data: text, mimeType: text }, all)
  const icons = revision >= '2025-11-25' ? { icons: arrayOf(icon) } : {}
  const link = { title: text, description: text, mimeType: text, size: integer, ...icons }
  const shapes = new Map<string, Shape>([
    ['text', objectOf({ text }, all)],
    ['image', data],
    ['audio', data],
    ['resource_link', objectOf({ name: text, uri: text }, { ...all, ...link })],
    ['resource', objectOf({ resource: resourceContents(more) }, all)],
  ])
  const { contentTypes } = traitsOf(revision)
  return (value, meter) => {
    if (!isObject(value)) return misfit('must be an object')
    const type = member(value, 'type')
    if (!isString(type)) return misfit(type === undefined ? 'is missing' : 'must be a string', 'type')
    return contentTypes.has(type) ? (shapes.get(type)?.(value, meter) ?? none) : none
  }
}

const implementation = objectOf(
  { name: text, version: text },
  { title: text, description: text, websiteUrl: text, icons: arrayOf(icon) },
)

const results = eachRevision((revision): Shape => {
  const { modern } = traitsOf(revision)
  const rest: Fields = {
    isError: flag,
    structuredContent: modern ? anything : anyObject,
    _meta: modern ? objectOf({}, { 'io.modelcontextprotocol/serverInfo': implementation }) : anyObject,
    ...(modern && { resultType: text }),
  }
  const content = { content: arrayOf(blockOf(revision)) }
  const result = objectOf(content, rest)
  if (revision !== '2024-11-05') return result
  // Servers of the revision before the first sent this, and clients of the first still take it.
  const toolResult = objectOf({ toolResult: anything }, { ...content, ...rest })
  return (value, meter) => (isObject(value) && member(value, 'toolResult') !== undefined ? toolResult : result)(value, meter)
})

/** What a CallToolResult must be (schema.json, CallToolResult). */
export const resultShape = (revision: Revision): Shape => results[revision]

const toolAnnotations = objectOf({}, {
  title: text, readOnlyHint: flag, destructiveHint: flag, idempotentHint: flag, openWorldHint: flag,
})

/** The legacy revisions spell out a little of what an object's schema is; the modern one leaves it to JSON Schema. */
const schemaOf = (revision: Revision, required: Fields = {}): Shape =>
  traitsOf(revision).modern ? objectOf({}, { $schema: text }) : objectOf(required, {
    // A boolean is tool/input-type: it is mended, where anything else is not.
    properties: recordOf(of(value => isObject(value) || typeof value === 'boolean', 'an object')),
    required: arrayOf(text),
    ...(revision >= '2025-11-25' && { $schema: text }),
  })

const tools = eachRevision(revision => objectOf({ name: text, inputSchema: schemaOf(revision) }, {
  description: text,
  ...(revision >= '2025-03-26' && { annotations: toolAnnotations }),
  ...(revision >= '2025-06-18' && { title: text, outputSchema: schemaOf(revision, { type: oneOf('object') }), ...meta }),
  ...(revision >= '2025-11-25' && { icons: arrayOf(icon) }),
  ...(revision === '2025-11-25' && { execution: objectOf({}, { taskSupport: oneOf('forbidden', 'optional', 'required') }) }),
}))

/** What a Tool must be (schema.json, Tool). `inputSchema.type` is left to those who forgive its absence. */
export const toolShape = (revision: Revision): Shape => tools[revision]

/** What the result of a method that lists something must be; undefined for another method. Tools are judged one by one. */
export const listShape = (method: string): Shape | undefined => listShapes.get(method)

const listShapes: ReadonlyMap<string, Shape> = new Map([...listMethods].map(([method, { key, needs }]) => {
  const element = needs.length === 0 ? anything : objectOf(Object.fromEntries(needs.map(name => [name, text])))
  const page = { nextCursor: text, ttlMs: integer, cacheScope: oneOf('public', 'private') }
  return [method, objectOf({ [key]: arrayOf(element) }, page)]
}))
