import { isArray, isObject, isString, member } from '#relay/protocol/json.js'
import { slice } from '#relay/protocol/scan.js'
import type { Frame } from '#relay/protocol/frame.js'
import { inMeta, methodOf } from '#relay/protocol/revisions/index.js'
import type { About, Entry, Finding, Operation, Side } from './vocabulary.js'
import type { Findings } from './findings.js'
import type { RelayOptions } from './options.js'
import type { Output } from './output.js'
import type { PendingRequest } from './request.js'
import { type Handshake, implementation, type Implementation, type Terms } from './terms.js'

/** Emits audit records. Each record is emitted before the frame that it is about (promise 7). */
export class Records {
  readonly #options: RelayOptions
  readonly #output: Output
  readonly #handshake: Handshake
  /** Name and version that the server gives itself. */
  #serverInfo: Implementation | undefined
  #started = false

  constructor(options: RelayOptions, output: Output, handshake: Handshake) {
    this.#options = options
    this.#output = output
    this.#handshake = handshake
  }

  /** Writes the session's first record, once the client's name is known. */
  start(terms: Terms = this.#handshake.terms): void {
    if (this.#started) return
    this.#started = true
    this.write({ event: 'session/start', from: 'relay', peer: this.#options.peer }, undefined, terms)
  }

  /** @param findings undefined: none @param response the message that they are about, if it is a response */
  write(
    entry: Pick<Entry, 'event' | 'from'> & Partial<Entry>, findings?: Findings,
    terms: Terms = this.#handshake.terms, response?: Frame,
  ): void {
    this.start(terms)
    const { judgement: { server }, session, peer } = this.#options
    const { client, revision, clientRevision } = terms
    const { verdict = 'pass', kept = [], more = 0 } = findings ?? {}
    this.#output.emit({
      type: 'audit',
      entry: {
        server, session, client, revision, clientRevision, verdict, findings: named(kept, response),
        more: more || undefined, subject: peer?.subject, ...entry,
      },
    })
  }

  /** Writes a record only if there are findings. */
  note(event: string, from: Side, findings: Findings): void {
    if (findings.kept.length > 0) this.write({ event, from }, findings)
  }

  /** Records a call before it is sent. */
  sent(request: PendingRequest): void {
    if (!this.#options.judgement.intent || request.method !== 'tools/call') return
    const { called, clientId, bytes, findings, terms, trace } = request
    this.write(
      {
        event: request.method, from: 'client', phase: 'sent', tool: called?.name, id: clientId,
        shown: called && this.#options.judgement.mergedName?.(called.shown, terms.client),
        bytes: { request: bytes }, arguments: request.arguments, called: called?.tool, trace,
      },
      findings,
      terms,
    )
  }

  /**
   * Records a finished request.
   * @param response the server's response, if there was one
   * @param sent the client's response, if it gets one
   */
  answered(request: PendingRequest, response: Frame | undefined, sent: Frame | undefined): void {
    const { method, terms, findings, called } = request
    const isCall = method === 'tools/call'
    const isRecorded =
      isCall || method === 'tools/list' || findings.kept.length > 0 || request.failure !== undefined
    const { judgement: { server }, session, observed, peer } = this.#options
    if (response?.message.kind === 'result' && (method === 'initialize' || method === 'tools/list')) {
      const { result } = response.message
      this.#serverInfo =
        implementation(member(result, 'serverInfo') ?? inMeta(result, 'serverInfo')) ?? this.#serverInfo
    }
    if (!isRecorded && observed !== true) return
    if (isRecorded) this.start(terms)
    const { now } = this.#output
    // No spread: V8 gives each object made by one a shape of its own, which makes its readers slow.
    const entry = {
      event: eventOf(method, 'client'),
      from: 'client' as const,
      server,
      session,
      client: terms.client,
      revision: terms.revision,
      clientRevision: terms.clientRevision,
      tool: called?.name,
      shown: called && this.#options.judgement.mergedName?.(called.shown, terms.client),
      tools: sent?.message.kind === 'result' ? request.tools : undefined,
      shownTools: sent?.message.kind === 'result' ? this.#merged(request) : undefined,
      serverInfo: method === 'tools/list' ? this.#serverInfo : undefined,
      id: request.clientId,
      verdict: findings.verdict,
      findings: named(findings.kept, response),
      more: findings.more || undefined,
      ms: now - request.arrivedAt,
      serverMs: request.sentAt === undefined ? undefined : (request.answeredAt ?? now) - request.sentAt,
      bytes: { request: request.bytes, response: response?.bytes.length },
      arguments: request.arguments,
      result: isCall && response ? slice(response, ['result']) : undefined,
      called: called?.tool,
      reason: request.failure,
      error: sent?.message.kind === 'error' ? sent.message.error.code : undefined,
      subject: peer?.subject,
      trace: request.trace,
    }
    if (isRecorded) this.#output.emit({ type: 'audit', entry })
    if (observed === true) this.#observe(request, { entry, response, sent })
  }

  /** The names of a list's tools at the merged endpoint. */
  #merged({ shownTools, terms }: PendingRequest): readonly string[] | undefined {
    const { mergedName } = this.#options.judgement
    return mergedName && shownTools?.map(name => mergedName(name, terms.client))
  }

  #observe(
    { arrivedAt, sentAt, answeredAt, called }: PendingRequest,
    known: Pick<Operation, 'entry' | 'response' | 'sent'>,
  ): void {
    const { now } = this.#output
    const atServer =
      sentAt === undefined ? undefined : { afterMs: sentAt - arrivedAt, ms: (answeredAt ?? now) - sentAt }
    this.#output.emit({
      type: 'observe', operation: { ...known, isListed: called?.tool !== undefined, atServer },
    })
  }
}

/** The lists of results, with the member that names an element and the kind of element in findings. */
const lists = new Map<string, readonly [key: string, kind: keyof About]>([
  ['tools', ['name', 'tool']], ['prompts', ['name', 'prompt']], ['resources', ['uri', 'resource']],
  ['resourceTemplates', ['uriTemplate', 'resource']],
])

/** The findings, with the names of the list elements that they are about. */
const named = (findings: readonly Finding[], response: Frame | undefined): readonly Finding[] => {
  if (findings.length === 0 || response?.message.kind !== 'result') return findings
  const { result } = response.message
  return findings.map(finding => {
    const [, list = '', index] = /^\/result\/([a-zA-Z]+)\/(\d+)(?![^/])/.exec(finding.path) ?? []
    const [key, kind] = lists.get(list) ?? []
    const elements = kind === undefined ? undefined : member(result, list)
    const element = isArray(elements) ? elements[Number(index)] : undefined
    const name = key !== undefined && isObject(element) ? member(element, key) : undefined
    return kind === undefined || !isString(name) ? finding : { ...finding, [kind]: name }
  })
}

/**
 * The name of an event for a method. Methods that MCP does not define for this side get a prefix, so that a
 * peer cannot forge the name of another event, nor a server a `tools/call`.
 */
export const eventOf = (method: string, from: Side): string => {
  const known = methodOf(method)?.from
  return known === from || known === 'either' ? method : `method:${method}`
}
