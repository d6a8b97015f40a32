import { isArray, isObject, lengthOf, member, type Json, type JsonObject } from '../protocol/json.js'
import { edit } from '../protocol/edit.js'
import type { Path } from '../protocol/scan.js'
import type { Frame } from '../protocol/frame.js'
import { errorCode, type Id, type IdKey } from '../protocol/json-rpc.js'
import { responseBytes } from '../protocol/message.js'
import { clip, quote } from '../protocol/quote.js'
import type { Findings } from './findings.js'

/** Whom an answer of ours answers. */
export interface Asker {
  readonly id: Id
  readonly key: IdKey
}

/** A JSON-RPC error of ours. */
export const errorAnswer = ({ id, key }: Asker, code: number, message: string, data?: JsonObject): Frame => {
  const error = { code, message, ...(data && { data }) }
  return {
    bytes: responseBytes(key, 'error', error),
    message: { kind: 'error', id, key, error },
    faults: [],
    own: true,
  }
}

/**
 * @param meant a tool that is listed, and that was probably meant
 * @param wasAccepted it is in the lock, but not listed as it was accepted
 */
export const unknownTool = (asker: Asker, name: string, meant: string | undefined, wasAccepted: boolean): Frame => {
  const told = name === '' ? '(the call names none)' : clip(name)
  const message = `Unknown tool: ${told}${wasAccepted ? '; it is not what was accepted any more: the operator may look at it with "mcp-customs lock"' : ''}`
  return errorAnswer(asker, errorCode.invalidParams, message, meant === undefined ? undefined : { didYouMean: clip(meant) })
}

/** For whatever is blocked and is no tool result. */
export const blocked = (asker: Asker, findings: Findings): Frame =>
  errorAnswer(asker, errorCode.blocked, `Blocked by mcp-customs: ${summary(findings)}`, listed(findings))

/** Headers are wrong only on a request's way; a server's wire/http never comes here. */
export const isMismatch = (findings: Findings): boolean => findings.stopping.includes('wire/http')

/** For an HTTP request whose headers say something else than its body (2026-07-28, server validation). */
export const headerMismatch = (asker: Asker, findings: Findings): Frame =>
  errorAnswer(asker, errorCode.headerMismatch, `Header mismatch: ${summary(findings)}`)

/** A tool's call that is not let through: a result that a model can act on. */
export const refusedCall = (asker: Asker, name: string, findings: Findings, modern: boolean): Frame =>
  toolError(
    asker,
    findings.stopping.includes('call/denied')
      ? `The tool ${quote(name)} may not be called here: ${summary(findings)}. Do not call it again; use another tool or ask the user.`
      : `The tool ${quote(name)} was not called: ${summary(findings)}. Correct the arguments and call it again.`,
    findings,
    modern,
  )

/** A tool's result that is not let through. */
export const refusedResult = (asker: Asker, name: string, findings: Findings, modern: boolean): Frame =>
  toolError(
    asker,
    `The result of the tool ${quote(name)} was withheld by mcp-customs: ${summary(findings)}. ` +
      'The tool may have run; the fault is the server\'s, not that of the arguments.',
    findings,
    modern,
  )

/**
 * A tool's result whose content may be read, but not relied on: the original blocks, `isError`, an explanation, and
 * nothing structured. Everything else leaves as it came.
 * @param at where the result stands in the frame: `['result']`, or deeper for that of a task
 */
export const demoted = (
  frame: Frame,
  at: Path,
  result: JsonObject,
  name: string,
  findings: Findings,
): Frame => {
  const content = member(result, 'content')
  const explanation = {
    type: 'text',
    text: `mcp-customs: the result of the tool ${quote(name)} breaks its declaration: ${summary(findings)}. Do not rely on it.`,
  }
  const meta = member(result, '_meta')
  const found = JSON.stringify(listed(findings)['findings'])
  return {
    bytes: edit(frame.bytes, [
      isArray(content)
        ? { path: [...at, 'content', lengthOf(content)], replace: JSON.stringify(explanation) }
        : { path: [...at, 'content'], replace: JSON.stringify([explanation]) },
      { path: [...at, 'structuredContent'], remove: true },
      { path: [...at, 'toolResult'], remove: true },
      { path: [...at, 'isError'], replace: 'true' },
      isObject(meta)
        ? { path: [...at, '_meta', findingsKey], replace: found }
        : { path: [...at, '_meta'], replace: `{${JSON.stringify(findingsKey)}:${found}}` },
    ]),
    message: frame.message,
    faults: frame.faults,
    ...(frame.envelope && { envelope: frame.envelope }),
  }
}

/** An answer of ours travels in the wrapping of the one that it replaces: the SSE id that lets a stream be resumed. */
export const inItsPlace = ({ envelope }: Frame, refusal: Frame): Frame => (envelope ? { ...refusal, envelope } : refusal)

const findingsKey = 'mcp-customs/findings'

const toolError = ({ id, key }: Asker, text: string, findings: Findings, modern: boolean): Frame => {
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
    own: true,
  }
}

/** Findings told in a text: a model needs the first few, the audit has more of them. */
const told = 3

const summary = (findings: Findings): string => {
  const all = findings.told()
  const first = all.slice(0, told).map(({ rule, path, message }) => `${rule} at ${path || '/'}: ${message}`)
  const more = all.length - first.length + findings.more
  return first.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

const listed = (findings: Findings): { readonly findings: Json[]; readonly more?: number } => ({
  findings: findings.told().map(({ rule, path, message }) => ({ rule, path, message })),
  ...(findings.more > 0 && { more: findings.more }),
})
