import { redact } from '../audit/redact.js'
import { hidden, isSecretKey, withoutSecrets } from '../audit/secrets.js'
import type { Finding } from '../core/rule.js'
import { edit, type Edit } from '../protocol/edit.js'
import type { Envelope, Frame } from '../protocol/frame.js'
import { equal, isArray, isObject, isString, member, unmetered, weigh, type Json, type JsonObject } from '../protocol/unmetered.js'

/** What of the traffic a capture keeps. */
export interface Payload {
  bytes(frame: Frame): Buffer
  headers(envelope: Envelope | undefined): Readonly<Record<string, string>>
  finding(finding: Finding): Finding
}

/** Everything but credentials: those go to no file. */
export const whole: Payload = {
  bytes: ({ bytes }) => bytes,
  headers: envelope => headersOf(envelope, value => value),
  finding: finding => finding,
}

/** The same without what the audit log would take for a secret; a frame without one is kept byte for byte. */
export const redacted: Payload = {
  bytes: frame => {
    const edits = frame.faults.length > 0 ? undefined : editsOf(frame)
    // Of what is malformed or ambiguous there is no one reading to look through.
    if (edits === undefined) return Buffer.from(scrubbed(frame.bytes.toString('latin1')), 'latin1')
    return edits.length === 0 ? frame.bytes : edit(frame.bytes, edits)
  },
  headers: envelope => headersOf(envelope, withoutSecrets),
  finding: ({ rule, path, message, mended }) => ({
    rule, path: withoutSecrets(path), message: withoutSecrets(message), ...(mended !== undefined && { mended: withoutSecrets(mended) }),
  }),
}

/** Longest value in which secrets are looked for, as in the audit log: the search runs between two messages, and takes time. */
const longest = 256 * 1024

const scrubbed = (text: string): string => (text.length > longest ? `[${text.length} bytes]` : withoutSecrets(text))

/** Members of params and results that say how, not what: without them the capture could not be replayed. Their texts are searched. */
const ofProtocol: ReadonlySet<string> = new Set([
  'tools', 'prompts', 'resources', 'resourceTemplates', 'capabilities', 'clientInfo', 'serverInfo', 'protocolVersion', 'supportedVersions', 'nextCursor', 'cursor',
  'name', 'requestId', 'progressToken', 'progress', 'total', 'taskId', 'task', 'status', 'ttlMs', 'isError', 'resultType', 'requestedSchema', 'code', 'level',
])

/** Undefined of a frame that was not read. */
const editsOf = ({ message }: Frame): readonly Edit[] | undefined => {
  switch (message.kind) {
    case 'request':
    case 'notification':
      return editsIn('params', message.params && unmetered(message.params))
    case 'result':
      return editsIn('result', unmetered(message.result))
    case 'error':
      return editsIn('error', unmetered(message.error))
    case 'batch': {
      const edits = message.members.map(editsOf)
      return edits.every(isThere) ? edits.flatMap((each, index) => each.map(one => ({ ...one, path: [index, ...one.path] }))) : undefined
    }
    case 'page':
    case 'unusable':
      return undefined
  }
}

const isThere = <Value>(value: Value | undefined): value is Value => value !== undefined

const editsIn = (top: string, held: JsonObject | undefined): readonly Edit[] =>
  Object.entries(held ?? {}).flatMap(([key, value = null]): Edit[] => {
    const kept = ofProtocol.has(key) ? (isString(value) ? value : withoutTextSecrets(value, { left: longest })) : key === '_meta' ? withoutMeta(value) : withoutPayload(key, value)
    return equal(kept, value) ? [] : [{ path: [top, key], replace: JSON.stringify(kept) }]
  })

/** As much text is kept, unsearched never: what a model reads may hold a secret, but the names of arguments stay. */
const withoutTextSecrets = (value: Json, budget: { left: number }, isSecret = false): Json => {
  if (isString(value)) {
    budget.left -= value.length
    return budget.left < 0 && value.length > shortest ? `[${value.length} characters]` : withoutSecrets(value)
  }
  if (isArray(value)) return value.map(one => withoutTextSecrets(one, budget, isSecret))
  if (!isObject(value)) return value
  // A schema's own suggestion of a password.
  return Object.fromEntries(Object.entries(value).map(([key, held = null]) =>
    [key, isSecret && suggestions.has(key) ? hidden : identities.has(key) ? held : withoutTextSecrets(held, budget, isSecretKey(key))]))
}

/** By these a capture tells one thing from another. */
const identities: ReadonlySet<string> = new Set(['name', 'taskId'])
const suggestions: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', 'value'])

/** Names and types are no longer, in characters. */
const shortest = 128

const withoutPayload = (key: string, value: Json): Json => {
  if (weigh(value, longest) > longest) return `[more than ${longest} bytes]`
  const clean = redact({ [key]: value })
  // A list of blocks stays one, whatever it is called.
  return (isObject(clean) ? member(clean, key) : undefined) ?? (isArray(value) ? [] : '')
}

const withoutMeta = (value: Json): Json =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, held = null]) =>
        [key, key === 'progressToken' || key.startsWith('io.modelcontextprotocol/') ? held : withoutPayload(key, held)]))
    : value

/** Those that the core reads: of the protocol, and none by which anybody could come in. */
const headersOf = (envelope: Envelope | undefined, shown: (value: string) => string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...(envelope?.headers ?? [])]
      .filter(([name]) => name.startsWith('mcp-') && !isSecretKey(name))
      .map(([name, value]) => [name, shown(value)]),
  )
