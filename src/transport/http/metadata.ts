import { requestHeaders, versionOf } from '../../protocol/headers.js'
import type { Frame } from '../../protocol/frame.js'
import { isString, member, type JsonObject } from '../../protocol/json.js'
import { revisions, traitsOf } from '../../protocol/revision.js'

/** The input schema of a tool, from which headers of its calls are made; undefined while it is not known. */
export type InputSchemaOf = (tool: string) => JsonObject | boolean | undefined

const firstModern = revisions.find(revision => traitsOf(revision).modern) ?? ''

/** A revision without sessions, known or yet to come: revisions are dates, and dates sort as text. */
export const isModernVersion = (version: string | undefined): boolean =>
  version !== undefined && /^\d{4}-\d\d-\d\d$/.test(version) && version >= firstModern

/** A request that says itself by which revision it is made. */
export const isModernRequest = ({ message }: Frame): boolean =>
  message.kind === 'request' && isModernVersion(versionOf(message))

/** The headers that repeat what is in the body (2026-07-28, request metadata); none for a legacy message. */
export const metadataOf = (frame: Frame, inputSchemaOf: InputSchemaOf): ReadonlyMap<string, string> => {
  const { message } = frame
  if (message.kind !== 'request' || !isModernRequest(frame)) return none
  const name = message.method === 'tools/call' ? member(message.params, 'name') : undefined
  return requestHeaders(message, isString(name) ? inputSchemaOf(name) : undefined)
}

const none: ReadonlyMap<string, string> = new Map()

/** What describes one message, or the place in one stream, of headers that are borrowed for another. */
export const withoutMetadata = (headers: ReadonlyMap<string, string>): Map<string, string> =>
  new Map([...headers].filter(([name]) => !described.has(name) && !name.startsWith('mcp-param-')))
const described: ReadonlySet<string> = new Set(['mcp-method', 'mcp-name', 'last-event-id'])
