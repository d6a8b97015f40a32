import { redact } from '#audit/redact.js'
import { hidden, isSecretKey } from '#audit/secret-names.js'
import { withoutSecrets } from '#audit/secrets.js'
import type { Finding } from '#core/rule.js'
import { edit, type Edit } from '#protocol/edit.js'
import type { Envelope, Frame } from '#protocol/frame.js'
import {
  equal, isArray, isObject, isString, member, unmetered, weigh, type Json, type JsonObject,
} from '#protocol/unmetered.js'

/** How a capture keeps traffic: whole, or redacted. */
export interface Payload {
  bytes(frame: Frame): Buffer
  headers(envelope: Envelope | undefined): Readonly<Record<string, string>>
  finding(finding: Finding): Finding
}

/** Keeps everything but credentials, which are written to no file. */
export const whole: Payload = {
  bytes: ({ bytes }) => bytes,
  headers: envelope => headersOf(envelope, value => value),
  finding: finding => findingWith(finding, text => text),
}

/** The members that a capture keeps: of an element of a list, the path says which it is. */
const findingWith = ({ rule, path, message, mended }: Finding, shown: (text: string) => string): Finding => ({
  rule, path: shown(path), message: shown(message), ...(mended !== undefined && { mended: shown(mended) }),
})

/** Leaves out secrets, recognised as in the audit log. A frame without secrets is kept byte for byte. */
export const redacted: Payload = {
  bytes: frame => {
    const edits = frame.faults.length > 0 ? undefined : editsOf(frame)
    // A malformed or ambiguous frame has no single reading to search: its text is searched.
    if (edits === undefined) return Buffer.from(scrubbed(frame.bytes.toString('latin1')), 'latin1')
    return edits.length === 0 ? frame.bytes : edit(frame.bytes, edits)
  },
  headers: envelope => headersOf(envelope, withoutSecrets),
  finding: finding => findingWith(finding, withoutSecrets),
}

/** Longest value that is searched for secrets, as in the audit log: the search delays the next message. */
const longest = 256 * 1024

const scrubbed = (text: string): string =>
  (text.length > longest ? `[${text.length} bytes]` : withoutSecrets(text))

/** Members that a replay needs: they are kept, only their texts are searched for secrets. */
const ofProtocol: ReadonlySet<string> = new Set([
  'tools', 'prompts', 'resources', 'resourceTemplates', 'capabilities', 'clientInfo', 'serverInfo',
  'protocolVersion', 'supportedVersions', 'nextCursor', 'cursor', 'name', 'requestId', 'progressToken',
  'progress', 'total', 'taskId', 'task', 'status', 'ttlMs', 'isError', 'resultType', 'requestedSchema',
  'code',
  'level',
])

/** The edits that redact a frame; undefined for a frame that was not parsed. */
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
      return edits.every(isThere)
        ? edits.flatMap((each, index) => each.map(one => ({ ...one, path: [index, ...one.path] })))
        : undefined
    }
    case 'page':
    case 'unusable':
      return undefined
  }
}

const isThere = <Value>(value: Value | undefined): value is Value => value !== undefined

const editsIn = (top: string, held: JsonObject | undefined): readonly Edit[] =>
  Object.entries(held ?? {}).flatMap(([key, value = null]): Edit[] => {
    const kept = redactMember(key, value)
    return equal(kept, value) ? [] : [{ path: [top, key], replace: JSON.stringify(kept) }]
  })

const redactMember = (key: string, value: Json): Json => {
  if (key === '_meta') return withoutMeta(value)
  if (!ofProtocol.has(key)) return withoutPayload(key, value)
  return isString(value) ? value : withoutTextSecrets(value, { left: longest })
}

/** Searches texts for secrets until the budget is spent; longer texts behind it are left out. Names stay. */
const withoutTextSecrets = (value: Json, budget: { left: number }, isSecret = false): Json => {
  if (isString(value)) {
    budget.left -= value.length
    return budget.left < 0 && value.length > shortest ? `[${value.length} characters]` : withoutSecrets(value)
  }
  if (isArray(value)) return value.map(one => withoutTextSecrets(one, budget, isSecret))
  if (!isObject(value)) return value
  // A schema may suggest a password, in `default` for example.
  return Object.fromEntries(Object.entries(value).map(([key, held = null]) => {
    if (isSecret && suggestions.has(key)) return [key, hidden]
    return [key, identities.has(key) ? held : withoutTextSecrets(held, budget, isSecretKey(key))]
  }))
}

/** Members whose texts are kept: a replay needs them to tell tools and tasks apart. */
const identities: ReadonlySet<string> = new Set(['name', 'taskId'])
const suggestions: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', 'value'])

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
  const isKept = (key: string) => key === 'progressToken' || key.startsWith('io.modelcontextprotocol/')
  return Object.fromEntries(Object.entries(value)
    .map(([key, held = null]) => [key, isKept(key) ? held : withoutPayload(key, held)]))
}

/** The headers of MCP, which the core reads, without credentials. */
const headersOf = (
  envelope: Envelope | undefined, shown: (value: string) => string,
): Readonly<Record<string, string>> =>
  Object.fromEntries([...(envelope?.headers ?? [])]
    .filter(([name]) => name.startsWith('mcp-') && !isSecretKey(name))
    .map(([name, value]) => [name, shown(value)]))
