import {
  type Declared, declaredIn, mapMembers, redacted, redactedMessage, redactedPath, redactedText,
} from '#relay/audit/redaction.js'
import { isSecretName, safeName, withoutCredentials } from '#relay/protocol/text/secrets.js'
import type { Finding } from '#relay/core/vocabulary.js'
import type { Envelope, Frame } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { idOf } from '#relay/protocol/message.js'
import { isList, isRecord, isString, field, parseData, type Data } from '#relay/protocol/unmetered.js'

/** How a capture keeps the traffic of a session: whole, or redacted. */
export interface Redaction {
  /** Notes what the tools declare that a frame lists. */
  seen(frame: Frame): void
  bytes(frame: Frame): Buffer
  /** A name, a reason or the like, outside of frames. */
  readonly text: (text: string) => string
  /** The value of an argument that a header repeats; the path and the message of a finding. */
  readonly value: (text: string) => string
  readonly path: (text: string) => string
  readonly message: (text: string) => string
}

const same = (text: string): string => text

/** Keeps everything but credentials in headers, which are written to no file. */
export const wholeCapture: Redaction = {
  seen: () => undefined, bytes: ({ bytes }) => bytes, text: same, value: same, path: same, message: same,
}

/** Most texts that are remembered of a session's tools, and the longest of them, in characters. */
const maxDeclared = 10_000
const longestDeclared = 256

/** Keeps what the audit log keeps. Names and definitions stay as far as a replay needs them. */
export const redaction = (): Redaction => {
  const texts = new Set<string>()
  const declared = [texts]
  const note = (schema: Data | undefined): void => {
    if (!isRecord(schema)) return
    for (const text of declaredIn([schema]).flatMap(found => [...found])) {
      if (texts.size < maxDeclared && text.length <= longestDeclared) texts.add(text)
    }
  }
  const seen = (value: Data | undefined): void => {
    const result = isRecord(value) ? field(value, 'result') : undefined
    const tools = isRecord(result) ? field(result, 'tools') : undefined
    for (const tool of isList(tools) ? tools.filter(isRecord) : []) {
      note(field(tool, 'inputSchema'))
      note(field(tool, 'outputSchema'))
    }
  }
  return {
    seen: ({ bytes }) => seen(parseData(bytes.toString())),
    bytes: ({ bytes }) => {
      // Read anew from the bytes: the frame's message leaves out members that JSON-RPC does not know.
      const value = parseData(bytes.toString())
      seen(value)
      try {
        if (value !== undefined) return Buffer.from(JSON.stringify(walk(value, 'message', declared)))
      } catch {
        // A value may be nested deeper than the stack allows.
      }
      return Buffer.from(JSON.stringify(redactedText(bytes.toString('latin1'), declared)))
    },
    text: safeName,
    value: text => redactedText(text, declared),
    path: text => redactedPath(text, declared),
    message: text => redactedMessage(text, declared),
  }
}

/** A kind of object in a message. */
type Place = 'message' | 'params' | 'result' | 'meta' | 'definition' | 'schema'

/** Where names, addresses and cursors are, which a replay needs; of a schema: texts that are no prose. */
const names: Readonly<Record<Place, ReadonlySet<string>>> = {
  message: new Set(['jsonrpc', 'method', 'id']),
  params: new Set([
    'name', 'uri', 'cursor', 'protocolVersion', 'taskId', 'requestId', 'progressToken',
  ]),
  result: new Set(['nextCursor', 'protocolVersion']),
  meta: new Set(['progressToken', 'protocolVersion']),
  definition: new Set(['name', 'version', 'uri', 'uriTemplate', 'taskId']),
  schema: new Set([
    'type', 'format', 'pattern', '$ref', '$schema', '$id', '$anchor', '$dynamicRef', '$dynamicAnchor',
  ]),
}

/** Which members are such objects again, or lists of them. All others hold values. */
const inside: Readonly<Record<Place, ReadonlyMap<string, Place>>> = {
  message: new Map([['params', 'params'], ['result', 'result']]),
  params: new Map([
    ['clientInfo', 'definition'], ['ref', 'definition'], ['task', 'definition'], ['requestedSchema', 'schema'],
    ['_meta', 'meta'],
  ]),
  result: new Map([
    ['tools', 'definition'], ['prompts', 'definition'], ['resources', 'definition'],
    ['resourceTemplates', 'definition'], ['serverInfo', 'definition'], ['task', 'definition'], ['_meta', 'meta'],
  ]),
  meta: new Map([['clientInfo', 'definition'], ['serverInfo', 'definition']]),
  definition: new Map([['arguments', 'definition'], ['inputSchema', 'schema'], ['outputSchema', 'schema']]),
  schema: new Map(),
}
/** Members of a schema that hold a value. */
const samples: ReadonlySet<string> = new Set(['default', 'examples', 'example'])

const walk = (value: Data, place: Place, declared: Declared): Data => {
  if (isList(value)) return value.map(one => walk(one, place, declared))
  if (!isRecord(value)) return redacted(value, declared)
  return mapMembers(value, declared, (held, key) => {
    // Members of `_meta` have a prefix: `io.modelcontextprotocol/clientInfo`.
    const name = key.slice(key.lastIndexOf('/') + 1)
    if (isString(held) && names[place].has(name)) return withoutCredentials(held)
    const next = place === 'schema' && !samples.has(key) ? place : inside[place].get(name)
    return next === undefined ? redacted(held, declared) : walk(held, next, declared)
  })
}

/** The members of a finding that a capture keeps. Its tool is not among them: the path leads to it. */
export const findingOf = ({ rule, path, message, mended }: Finding, kept: Redaction): Finding => ({
  rule, path: kept.path(path), message: kept.message(message),
  ...(mended !== undefined && { mended: kept.path(mended) }),
})

/** A request's id as a key, redacted as in the frame. */
export const keyInCapture = (key: IdKey, { text }: Redaction): IdKey => {
  const id = idOf(key)
  const clean = isString(id) ? text(id) : id
  return clean === id ? key : JSON.stringify(clean)
}

/** The headers of MCP, which the core reads, without credentials. */
export const capturedHeaders = (
  { headers = new Map<string, string>() }: Envelope, { text, value }: Redaction,
): Readonly<Record<string, string>> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('mcp-') && !isSecretName(name))
    .map(([name, held]) => [name, name.startsWith('mcp-param-') ? value(held) : text(held)]))
