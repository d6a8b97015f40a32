import { isObject, isString, member, type Json } from './json.js'
import { listMethods } from './methods.js'
import { traitsOf, type Revision } from './revision.js'
import {
  anyObject, anything, arrayOf, byMember, either, flag, integer, misfit, number, objectOf, oneOf, recordOf, text,
  type Fields, type Shape,
} from './shape.js'

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
