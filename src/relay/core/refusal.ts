import {
  isArray, isObject, isString, lengthOf, member, type Json, type JsonObject,
} from '#relay/protocol/json.js'
import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Path } from '#relay/protocol/scan.js'
import type { Frame } from '#relay/protocol/frame.js'
import { errorCode, type Id, type IdKey, type Request } from '#relay/protocol/json-rpc.js'
import { responseBytes } from '#relay/protocol/message.js'
import { clip, quote } from '#relay/protocol/quote.js'
import { inMeta, type Revision, revisions } from '#relay/protocol/revisions/index.js'
import type { Findings } from './findings.js'

/** The id of the request that a response of ours answers. */
export interface RequestId {
  readonly id: Id
  readonly key: IdKey
}

/** A JSON-RPC error made by the relay. */
export const errorFrame = (
  { id, key }: RequestId, code: number, message: string, data?: JsonObject,
): Frame => {
  const error = { code, message, ...(data && { data }) }
  return {
    bytes: responseBytes(key, 'error', error),
    message: { kind: 'error', id, key, error },
    faults: [],
    relayMade: true,
  }
}

/** What the user can run to see which tools a server's clients get, and why not others. */
const toolsCommand = (server: string): string => `"mcp-customs tools ${inCommand(server, 'SERVER')}"`

/**
 * @param why the tool is not in the client's list, in words; undefined where the server never listed it
 * @param meant a listed tool with a similar name
 */
export const unknownTool = (
  asker: RequestId, name: string, server: string, why: string | undefined, meant: string | undefined,
): Frame => {
  const told = name === '' ? '(the call names none)' : clip(name)
  const reason = why === undefined ? '' : `; ${why}. ${toolsCommand(server)} tells the user what can be done`
  const message = `Unknown tool: ${told}${reason}`
  return errorFrame(
    asker, errorCode.invalidParams, message, meant === undefined ? undefined : { didYouMean: clip(meant) },
  )
}

/** The error for any blocked message but a tool result. */
export const blocked = (asker: RequestId, findings: Findings): Frame =>
  errorFrame(asker, errorCode.blocked, `Blocked by mcp-customs: ${summary(findings)}`, listed(findings))

/** True when a request was stopped for its HTTP headers. */
export const isMismatch = (findings: Findings): boolean => findings.stopping.includes('wire/http')

/** The error for an HTTP request whose headers contradict its body (2026-07-28, server validation). */
export const headerMismatch = (asker: RequestId, findings: Findings): Frame =>
  errorFrame(asker, errorCode.headerMismatch, `Header mismatch: ${summary(findings)}`)

/** True when a request was stopped for its revision. */
export const isOldRevision = (findings: Findings): boolean => findings.stopping.includes('wire/revision')

/**
 * The error for a request of a revision that the operator does not allow (2025-11-25, Lifecycle, Error
 * Handling; 2026-07-28, error codes).
 * @param least the oldest that is allowed
 */
export const oldRevision = (
  asker: RequestId, { params }: Request, findings: Findings, least: Revision | undefined,
): Frame => {
  const modern = inMeta(params, 'protocolVersion')
  const requested = modern ?? member(params, 'protocolVersion')
  return errorFrame(
    asker, modern === undefined ? errorCode.invalidParams : errorCode.unsupportedVersion,
    `Unsupported protocol version: ${summary(findings)}`, {
      supported: revisions.filter(one => least === undefined || one >= least),
      ...(isString(requested) && { requested: clip(requested) }),
    },
  )
}

/** The error for a call whose client lacks a scope; over HTTP a challenge (2025-11-25, authorization). */
export const lacksScope = (asker: RequestId, neededScopes: readonly string[]): Frame => ({
  ...errorFrame(
    asker, errorCode.blocked,
    `mcp-customs: the client lacks a scope that the tool needs: ${neededScopes.join(', ')}`,
  ),
  envelope: { neededScopes },
})

/** The result in place of a stopped tool call, with text that a model can act on. */
export const refusedCall = (
  asker: RequestId, name: string, findings: Findings, modern: boolean, server: string,
): Frame => {
  const told = (did: string, toDo: string) => `The tool ${quote(name)} ${did}: ${summary(findings)}. ${toDo}`
  const text = findings.stopping.includes('call/denied')
    ? told('may not be called here', 'Do not call it again; use another tool or ask the user, who decides by ' +
      `the configuration of mcp-customs: ${toolsCommand(server)} shows which tools remain.`)
    : findings.stopping.includes('call/rate')
      ? told('was not called', 'Wait until then, and call it again.')
      : told('was not called', 'Correct the arguments and call it again.')
  return toolError(asker, text, findings, modern)
}

/** A name in a command; a word in capitals where a shell could misread it. */
export const inCommand = (name: string, otherwise: string): string =>
  (/^\w[\w.@-]{0,127}$/.test(name) ? name : otherwise)

/** The command that lets a tool of a careless server work. */
export const relaxCommand = (server: string, tool: string): string =>
  `mcp-customs relax ${inCommand(server, 'SERVER')} ${inCommand(tool, 'TOOL')}`

/**
 * The result in place of a stopped tool result.
 * @param remedy what the user can do, if there is something
 */
export const refusedResult = (
  asker: RequestId, name: string, findings: Findings, modern: boolean, remedy: string,
): Frame =>
  toolError(
    asker,
    `The result of the tool ${quote(name)} was withheld by mcp-customs: ${summary(findings)}. ` +
      `The tool may have run; the fault is the server's, not that of the arguments.${remedy}`,
    findings,
    modern,
  )

/** A tool result marked as unreliable: original blocks, an explanation, `isError`, no structured content. */
export const demoted = (
  frame: Frame,
  at: Path,
  result: JsonObject,
  name: string,
  findings: Findings,
  remedy: string,
): Frame => {
  const content = member(result, 'content')
  const explanation = {
    type: 'text',
    text:
      `mcp-customs: the result of the tool ${quote(name)} breaks its declaration: ${summary(findings)}. ` +
      `Do not rely on it.${remedy}`,
  }
  const meta = member(result, '_meta')
  return changedResult(frame, [
    isArray(content)
      ? { path: [...at, 'content', lengthOf(content)], replace: JSON.stringify(explanation) }
      : { path: [...at, 'content'], replace: JSON.stringify([explanation]) },
    { path: [...at, 'structuredContent'], remove: true },
    { path: [...at, 'toolResult'], remove: true },
    { path: [...at, 'isError'], replace: 'true' },
    isObject(meta)
      ? { path: [...at, '_meta', findingsKey], replace: JSON.stringify(listed(findings)['findings']) }
      : { path: [...at, '_meta'], replace: findingsMeta(findings) },
  ])
}

/** The JSON text of a `_meta` with the findings. */
export const findingsMeta = (findings: Findings): string =>
  JSON.stringify({ [findingsKey]: listed(findings)['findings'] })

/** The server's frame with the edits that demote its result. */
export const changedResult = ({ bytes, message, faults, envelope }: Frame, edits: readonly Edit[]): Frame =>
  ({ bytes: edit(bytes, edits), message, faults, ...(envelope && { envelope }) })

/** Gives our response the envelope of the one it replaces: its SSE id lets a stream be resumed. */
export const inItsPlace = ({ envelope }: Frame, refusal: Frame): Frame =>
  envelope ? { ...refusal, envelope } : refusal

const findingsKey = 'mcp-customs/findings'

const toolError = ({ id, key }: RequestId, text: string, findings: Findings, modern: boolean): Frame => {
  const { findings: found, more } = listed(findings)
  const result = {
    content: [{ type: 'text', text }],
    isError: true,
    ...(modern && { resultType: 'complete' }),
    _meta: { [findingsKey]: found, ...(more !== undefined && { [`${findingsKey}-more`]: more }) },
  }
  return {
    bytes: responseBytes(key, 'result', result),
    message: { kind: 'result', id, key, result },
    faults: [],
    relayMade: true,
  }
}

/** Findings named in the text; the audit log has more. */
const maxSummarized = 3

export const summary = (findings: Findings): string => {
  const all = findings.decisive()
  const first = all
    .slice(0, maxSummarized)
    .map(({ rule, path, message }) => `${rule} at ${path || '/'}: ${message}`)
  const more = all.length - first.length + findings.more
  return first.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

const listed = (findings: Findings): { readonly findings: Json[]; readonly more?: number } => ({
  findings: findings.decisive().map(({ rule, path, message }) => ({ rule, path, message })),
  ...(findings.more > 0 && { more: findings.more }),
})
