import { isUtf8 } from 'node:buffer'
import { longest, redact } from '#audit/redact.js'
import { hidden, isSecretKey } from '#audit/secret-names.js'
import { withoutSecrets } from '#audit/secrets.js'
import type { Finding } from '#core/rule.js'
import { edit, type Edit } from '#protocol/edit.js'
import type { Envelope, Frame } from '#protocol/frame.js'
import type { IdKey } from '#protocol/json-rpc.js'
import { idOf } from '#protocol/message.js'
import type { Path } from '#protocol/scan.js'
import {
  equal, isArray, isObject, isString, member, parseJson, weigh, type Json, type JsonObject,
} from '#protocol/unmetered.js'

/** How a capture keeps traffic: whole, or redacted. */
export interface Redaction {
  bytes(frame: Frame): Buffer
  /** A name, a reason or the like, outside of frames. */
  readonly text: (text: string) => string
}

/** Keeps everything but credentials in headers, which are written to no file. */
export const whole: Redaction = { bytes: ({ bytes }) => bytes, text: text => text }

/** Leaves out secrets, recognised as in the audit log. A frame without secrets is kept byte for byte. */
export const redacted: Redaction = {
  bytes: ({ bytes, faults }) => {
    // Read anew from the bytes: the frame's message leaves out members that JSON-RPC does not know.
    const value = parseJson(bytes.toString())
    const edits = isObject(value) ? editsOf(value) : isArray(value) ? value.flatMap(editsOfMember) : []
    const kept = edits.length === 0 ? bytes : edit(bytes, edits)
    // A malformed or ambiguous frame has no single reading to search: its text is searched as well.
    return faults.length > 0 || value === undefined ? scrubbed(kept) : kept
  },
  text: withoutSecrets,
}

/** The members of a finding that a capture keeps. Its tool is not among them: the path leads to it. */
export const findingOf = ({ rule, path, message, mended }: Finding, { text }: Redaction): Finding =>
  ({ rule, path: text(path), message: text(message), ...(mended !== undefined && { mended: text(mended) }) })

/** A request's id as a key, redacted as in the frame. */
export const keyIn = (key: IdKey, { text }: Redaction): IdKey => {
  const id = idOf(key)
  const clean = isString(id) ? text(id) : id
  return clean === id ? key : JSON.stringify(clean)
}

/** The headers of MCP, which the core reads, without credentials. */
export const headersOf = (
  { headers = new Map<string, string>() }: Envelope, { text }: Redaction,
): Readonly<Record<string, string>> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('mcp-') && !isSecretKey(name))
    .map(([name, value]) => [name, text(value)]))

const scrubbed = (bytes: Buffer): Buffer => {
  if (bytes.length > longest) return Buffer.from(`[${bytes.length} bytes]`)
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1'
  return Buffer.from(withoutSecrets(bytes.toString(encoding)), encoding)
}

/** Members that hold definitions. A replay needs them, so only secrets inside them are left out. */
const definitions: ReadonlySet<string> =
  new Set(['tools', 'prompts', 'resources', 'resourceTemplates', 'requestedSchema', 'task'])

/** Members of a message that have members of their own. */
const bodies: ReadonlySet<string> = new Set(['params', 'result', 'error'])

/** The edits that redact a message. */
const editsOf = (message: JsonObject): readonly Edit[] =>
  Object.entries(message).flatMap(([key, held = null]): readonly Edit[] => {
    if (isString(held)) return editAt([key], held, withoutSecrets(held))
    if (!bodies.has(key) || !isObject(held)) return editAt([key], held, withoutPayload(key, held))
    return Object.entries(held)
      .flatMap(([name, value = null]) => editAt([key, name], value, redactMember(name, value)))
  })

const editsOfMember = (message: Json, index: number): readonly Edit[] =>
  (isObject(message) ? editsOf(message).map(one => ({ ...one, path: [index, ...one.path] })) : [])

const editAt = (path: Path, value: Json, kept: Json): readonly Edit[] =>
  (equal(kept, value) ? [] : [{ path, replace: JSON.stringify(kept) }])

const redactMember = (key: string, value: Json): Json => {
  if (key === '_meta') return withoutMeta(value)
  if (definitions.has(key)) return withoutTextSecrets(value, { left: longest })
  // The name of a progress token sounds like that of a secret.
  return withoutPayload(key === 'progressToken' ? 'progress' : key, value)
}

/** Replaces secrets in texts. Once the budget is spent, texts longer than `shortest` are left out. */
const withoutTextSecrets = (value: Json, budget: { left: number }, isSecret = false): Json => {
  if (isString(value)) {
    budget.left -= value.length
    return budget.left < 0 && value.length > shortest ? `[${value.length} characters]` : withoutSecrets(value)
  }
  if (isArray(value)) return value.map(one => withoutTextSecrets(one, budget, isSecret))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, held = null]) => {
    if (key === '_meta') return [key, withoutMeta(held)]
    // A schema may suggest a password, in `default` for example.
    const isNamed = isSecretKey(key)
    if (isSecret ? suggestions.has(key) : isNamed && isString(held)) return [withoutSecrets(key), hidden]
    const isValue = samples.has(key) || (texts.has(key) && !isString(held))
    if (key === 'enum' && isArray(held)) return [key, held.map(redactValue)]
    const kept = isValue ? redactValue(held) : withoutTextSecrets(held, budget, isNamed)
    return [withoutSecrets(key), kept]
  }))
}

const redactValue = (value: Json): Json => (isString(value) ? withoutSecrets(value) : redact(value))

const suggestions: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', 'value'])
/** Members of a schema that hold a value. */
const samples: ReadonlySet<string> = new Set(['default', 'examples', 'const'])
/** Members of a definition that should be texts. */
const texts: ReadonlySet<string> =
  new Set(['name', 'title', 'description', 'statusMessage', 'taskId', 'uri', 'uriTemplate', 'src'])

/** Longest text that is always kept, after a search, in characters: names and types are shorter. */
const shortest = 128

const withoutPayload = (key: string, value: Json): Json => {
  if (weigh(value, longest) > longest) return `[more than ${longest} bytes]`
  const clean = redact({ [key]: value })
  // A list of content blocks stays a list, even under a secret's name.
  return (isObject(clean) ? member(clean, key) : undefined) ?? (isArray(value) ? [] : '')
}

const withoutMeta = (value: Json): Json => {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, held = null]) => [
    withoutSecrets(key), redactMember(key, held),
  ]))
}
