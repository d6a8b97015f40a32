import { isArray, isObject, isString, member, type Json, type JsonArray, type JsonObject } from './json.js'
import { each, type Meter } from './meter.js'
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
  /** `content` block types (schema.json, ContentBlock). */
  readonly contentTypes: ReadonlySet<string>
  /** The same of sampling (schema.json, SamplingMessageContentBlock). */
  readonly samplingTypes: ReadonlySet<string>
  /** `structuredContent` may be any JSON value, not an object only. */
  readonly anyStructuredContent: boolean
}

const blocks = (...types: readonly string[]): ReadonlySet<string> => new Set(types)

const blocksWithLinks = blocks('text', 'image', 'audio', 'resource_link', 'resource')
const samplingWithTools = blocks('text', 'image', 'audio', 'tool_use', 'tool_result')

const traits: Readonly<Record<Revision, Traits>> = {
  '2024-11-05': {
    modern: false, batches: false, anyStructuredContent: false,
    contentTypes: blocks('text', 'image', 'resource'), samplingTypes: blocks('text', 'image'),
  },
  '2025-03-26': {
    modern: false, batches: true, anyStructuredContent: false,
    contentTypes: blocks('text', 'image', 'audio', 'resource'), samplingTypes: blocks('text', 'image', 'audio'),
  },
  '2025-06-18': {
    modern: false, batches: false, anyStructuredContent: false,
    contentTypes: blocksWithLinks, samplingTypes: blocks('text', 'image', 'audio'),
  },
  '2025-11-25': {
    modern: false, batches: false, anyStructuredContent: false,
    contentTypes: blocksWithLinks, samplingTypes: samplingWithTools,
  },
  '2026-07-28': {
    modern: true, batches: false, anyStructuredContent: true,
    contentTypes: blocksWithLinks, samplingTypes: samplingWithTools,
  },
}

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

export type Fields = Readonly<Record<string, Shape>>

const none: readonly Misfit[] = []

/** Enough to see what is wrong; a peer can make no more work of an endless array. */
const most = 20

export const misfit = (message: string, ...path: readonly (string | number)[]): readonly Misfit[] => [{ path, message }]

const below = (key: string | number, misfits: readonly Misfit[]): readonly Misfit[] =>
  misfits.map(({ path, message }) => ({ path: [key, ...path], message }))

const of = (fits: (value: Json) => boolean, kind: string): Shape => {
  const wrong = misfit(`must be ${kind}`)
  return value => (fits(value) ? none : wrong)
}

export const anything: Shape = () => none
export const text = of(isString, 'a string')
export const number = of(value => typeof value === 'number', 'a number')
export const integer = of(Number.isInteger, 'an integer')
export const flag = of(value => typeof value === 'boolean', 'true or false')
export const anyObject = of(isObject, 'an object')

export const oneOf = (...values: readonly string[]): Shape =>
  of(value => isString(value) && values.includes(value), `one of ${values.map(value => `"${value}"`).join(', ')}`)

export const arrayOf = (shape: Shape): Shape => (value, meter) =>
  isArray(value) ? misfitsIn(value, shape, meter) : misfit('must be an array')

/** An object whose members, whatever their names, all have one shape. */
export const recordOf = (shape: Shape): Shape => (value, meter) =>
  isObject(value) ? misfitsIn(value, shape, meter) : misfit('must be an object')

const misfitsIn = (value: JsonArray | JsonObject, shape: Shape, meter: Meter): readonly Misfit[] => {
  let found = none
  for (const [step, child] of each(value, meter)) {
    const misfits = shape(child, meter)
    if (misfits.length > 0) found = [...found, ...below(step, misfits)]
    if (found.length >= most) break
  }
  return found
}

/** An object with these members; others may be there. */
export const objectOf = (required: Fields, optional: Fields = {}): Shape => {
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

/** Of one shape or of another; what is wrong is told by the first. */
export const either = (first: Shape, second: Shape): Shape => (value, meter) => {
  const misfits = first(value, meter)
  return misfits.length > 0 && second(value, meter).length === 0 ? none : misfits
}

/** The shape that a string member names; an object with another one is not judged. */
export const byMember = (key: string, shapes: ReadonlyMap<string, Shape>): Shape => (value, meter) => {
  if (!isObject(value)) return misfit('must be an object')
  const name = member(value, key)
  if (!isString(name)) return misfit(name === undefined ? 'is missing' : 'must be a string', key)
  return shapes.get(name)?.(value, meter) ?? none
}

/** What a Tool must be (schema.json, Tool). `inputSchema.type` is left to those who forgive its absence. */
export const toolShape = (revision: Revision): Shape => shapes[revision].tool

/** What a CallToolResult must be (schema.json, CallToolResult); blocks of unknown types are not judged. */
export const resultShape = (revision: Revision): Shape => shapes[revision].result

/** Of annotations, what claims nothing of what the tool does. */
export const titleOf = (annotations: Json | undefined): Json | undefined =>
  isObject(annotations) ? member(annotations, 'title') : undefined

const meta = { _meta: anyObject }
const icon = objectOf({ src: text }, { mimeType: text, sizes: arrayOf(text), theme: oneOf('light', 'dark') })

// Which values an annotation may take is content/annotations' affair; here its members only have their types.
const annotations = (revision: Revision): Shape =>
  objectOf({}, { audience: arrayOf(text), priority: number, ...(revision >= '2025-06-18' && { lastModified: text }) })

const resourceContents = (more: Fields): Shape => {
  const rest = objectOf({ uri: text }, { mimeType: text, ...more })
  return (value, meter) => {
    const misfits = rest(value, meter)
    const has = (key: string) => isObject(value) && isString(member(value, key))
    return has('text') || has('blob') ? misfits : [...misfits, ...misfit('must have a text or a blob, as a string')]
  }
}

const blockShape = (revision: Revision): Shape => {
  const more = revision >= '2025-06-18' ? meta : {}
  const all: Fields = { ...more, annotations: annotations(revision) }
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
  return byMember('type', new Map([...shapes].filter(([type]) => contentTypes.has(type))))
}

const implementation = objectOf(
  { name: text, version: text },
  { title: text, description: text, websiteUrl: text, icons: arrayOf(icon) },
)

const callToolResult = (revision: Revision): Shape => {
  const { anyStructuredContent, modern } = traitsOf(revision)
  const rest: Fields = {
    isError: flag,
    structuredContent: anyStructuredContent ? anything : anyObject,
    _meta: modern ? objectOf({}, { 'io.modelcontextprotocol/serverInfo': implementation }) : anyObject,
    ...(modern && { resultType: text }),
  }
  const content = { content: arrayOf(blockShape(revision)) }
  const result = objectOf(content, rest)
  if (revision !== '2024-11-05') return result
  // What servers of the revision before the first sent, and clients of the first still take.
  const toolResult = objectOf({ toolResult: anything }, { ...content, ...rest })
  return (value, meter) => (isObject(value) && member(value, 'toolResult') !== undefined ? toolResult : result)(value, meter)
}

const toolAnnotations = objectOf({}, {
  title: text, readOnlyHint: flag, destructiveHint: flag, idempotentHint: flag, openWorldHint: flag,
})

const schema = either(anyObject, flag)

/** The legacy revisions spell out a little of what an object's schema is; the modern one leaves it to JSON Schema. */
const legacySchema = (revision: Revision, required: Fields = {}): Shape =>
  objectOf(required, {
    // A boolean is tool/input-type: it is mended, where anything else is not.
    properties: recordOf(schema),
    required: arrayOf(text),
    ...(revision >= '2025-11-25' && { $schema: text }),
  })

const modernSchema = objectOf({}, { $schema: text })

const toolFields = (revision: Revision): Shape => {
  const { modern } = traitsOf(revision)
  const inputSchema = modern ? modernSchema : legacySchema(revision)
  const outputSchema = modern ? modernSchema : legacySchema(revision, { type: oneOf('object') })
  return objectOf({ name: text, inputSchema }, {
    description: text,
    ...(revision >= '2025-03-26' && { annotations: toolAnnotations }),
    ...(revision >= '2025-06-18' && { title: text, outputSchema, ...meta }),
    ...(revision >= '2025-11-25' && { icons: arrayOf(icon) }),
    ...(revision === '2025-11-25' && {
      execution: objectOf({}, { taskSupport: oneOf('forbidden', 'optional', 'required') }),
    }),
  })
}

interface Shapes {
  readonly tool: Shape
  readonly result: Shape
}

const shapesOf = (revision: Revision): Shapes => ({ tool: toolFields(revision), result: callToolResult(revision) })

const shapes: Readonly<Record<Revision, Shapes>> = {
  '2024-11-05': shapesOf('2024-11-05'),
  '2025-03-26': shapesOf('2025-03-26'),
  '2025-06-18': shapesOf('2025-06-18'),
  '2025-11-25': shapesOf('2025-11-25'),
  '2026-07-28': shapesOf('2026-07-28'),
}

/** What the result of a method that lists something must be; undefined for another method. The elements of `tools` are judged one by one. */
export const listShape = (method: string): Shape | undefined => listShapes.get(method)

const listShapes: ReadonlyMap<string, Shape> = new Map(
  [...listMethods].map(([method, { key, needs }]) => {
    const element = objectOf(Object.fromEntries(needs.map(name => [name, text])))
    const elements = arrayOf(needs.length === 0 ? anything : element)
    return [method, objectOf({ [key]: elements }, { nextCursor: text, ttlMs: integer, cacheScope: oneOf('public', 'private') })]
  }),
)
