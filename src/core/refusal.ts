import { isArray, isObject, member, type Json, type JsonObject } from '../protocol/json.js'
import { edit } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { errorCode, type Id, type IdKey } from '../protocol/json-rpc.js'
import { clip, quote } from '../protocol/quote.js'
import type { Finding } from './rule.js'

/** Whom an answer of ours answers. */
export interface Asker {
  readonly id: Id
  readonly key: IdKey
}

/** A JSON-RPC error of ours. */
export const errorAnswer = ({ id, key }: Asker, code: number, message: string, data?: JsonObject): Frame => {
  const error = { code, message, ...(data && { data }) }
  return {
    bytes: Buffer.from(`{"jsonrpc":"2.0","id":${key},"error":${JSON.stringify(error)}}`),
    message: { kind: 'error', id, key, error },
    faults: [],
  }
}

export const unknownTool = (asker: Asker, name: string): Frame =>
  errorAnswer(asker, errorCode.invalidParams, `Unknown tool: ${clip(name)}`)

/** For whatever is blocked and is no tool result. */
export const blocked = (asker: Asker, findings: readonly Finding[]): Frame =>
  errorAnswer(asker, errorCode.blocked, `Blocked by mcp-customs: ${summary(findings)}`, { findings: listed(findings) })

/** Headers are wrong only on a request's way; a server's wire/http never comes here. */
export const isMismatch = (findings: readonly Finding[]): boolean => findings.some(({ rule }) => rule === 'wire/http')

/** For an HTTP request whose headers say something else than its body (2026-07-28, server validation). */
export const headerMismatch = (asker: Asker, findings: readonly Finding[]): Frame =>
  errorAnswer(asker, errorCode.headerMismatch, `Header mismatch: ${summary(findings)}`)

/** A tool's call that is not let through: a result that a model can act on. */
export const refusedCall = (asker: Asker, name: string, findings: readonly Finding[], modern: boolean): Frame =>
  toolError(
    asker,
    findings.some(({ rule }) => rule === 'call/denied')
      ? `The tool ${quote(name)} may not be called here: ${summary(findings)}. Do not call it again; use another tool or ask the user.`
      : `The tool ${quote(name)} was not called: ${summary(findings)}. Correct the arguments and call it again.`,
    findings,
    modern,
  )

/** A tool's result that is not let through. */
export const refusedResult = (asker: Asker, name: string, findings: readonly Finding[], modern: boolean): Frame =>
  toolError(
    asker,
    `The result of the tool ${quote(name)} was withheld by mcp-customs: ${summary(findings)}. ` +
      'The tool may have run; the fault is the server\'s, not that of the arguments.',
    findings,
    modern,
  )

/**
 * A tool's result whose content may be read, but not relied on: the original blocks, `isError`, an explanation, and
 * no `structuredContent`. Everything else leaves as it came.
 * @param at where the result stands in the frame: `['result']`, or deeper for that of a task
 */
export const demoted = (
  frame: Frame,
  at: readonly string[],
  result: JsonObject,
  name: string,
  findings: readonly Finding[],
): Frame => {
  const content = member(result, 'content')
  const explanation = {
    type: 'text',
    text: `mcp-customs: the result of the tool ${quote(name)} breaks its declaration: ${summary(findings)}. Do not rely on it.`,
  }
  const meta = member(result, '_meta')
  const found = JSON.stringify(listed(findings))
  return {
    ...frame,
    bytes: edit(frame.bytes, [
      isArray(content)
        ? { path: [...at, 'content', content.length], replace: JSON.stringify(explanation) }
        : { path: [...at, 'content'], replace: JSON.stringify([explanation]) },
      { path: [...at, 'structuredContent'], remove: true },
      { path: [...at, 'isError'], replace: 'true' },
      isObject(meta)
        ? { path: [...at, '_meta', findingsKey], replace: found }
        : { path: [...at, '_meta'], replace: `{${JSON.stringify(findingsKey)}:${found}}` },
    ]),
  }
}

const findingsKey = 'mcp-customs/findings'

const toolError = ({ id, key }: Asker, text: string, findings: readonly Finding[], modern: boolean): Frame => {
  const result = {
    content: [{ type: 'text', text }],
    isError: true,
    ...(modern && { resultType: 'complete' }),
    _meta: { [findingsKey]: listed(findings) },
  }
  return {
    bytes: Buffer.from(`{"jsonrpc":"2.0","id":${key},"result":${JSON.stringify(result)}}`),
    message: { kind: 'result', id, key, result },
    faults: [],
  }
}

/** Findings told in a text: a model needs the first few, the audit has them all. */
const told = 3

const summary = (findings: readonly Finding[]): string => {
  const first = findings.slice(0, told).map(({ rule, path, message }) => `${rule} at ${path || '/'}: ${message}`)
  const more = findings.length - first.length
  return first.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

const listed = (findings: readonly Finding[]): Json[] =>
  findings.map(({ rule, path, message }) => ({ rule, path, message }))
