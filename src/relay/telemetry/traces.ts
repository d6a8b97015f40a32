import {
  type Context, defaultTextMapGetter, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace, type Tracer,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { payloadsOf } from '#relay/audit/payloads.js'
import type { Entry, Operation } from '#relay/core/vocabulary.js'
import type { ObservedSession } from '#relay/session/open.js'
import type { Trace } from '#relay/protocol/frame.js'
import { isObject, isString, member } from '#relay/protocol/json.js'
import type { Request } from '#relay/protocol/json-rpc.js'
import { isRevision, traitsOf } from '#relay/protocol/revisions/index.js'
import {
  type Attributes, judged, ofServer, outcome, type CallOutcome, requestAttributes, spanName, toClient,
  placeAttributes,
} from './attributes.js'
import type { Tracing } from './observing.js'
import type { MeasuredPlace } from './place.js'

const propagator = new W3CTraceContextPropagator()

/** Longest payload of a span, in characters. */
const longestPayload = 8192

/** @param payloads how spans show arguments and results */
export const tracingWith = (tracer: Tracer, payloads: 'none' | 'redacted' | 'full'): Tracing => ({
  begun: (request, headers, place, session) =>
    new Followed(tracer, request, parentOf(request, headers), place, session),
  done: (operation, session) => {
    const { entry } = operation
    if (!(entry.trace instanceof Followed)) return
    const attributes = {
      // The session's id in the audit log. With the `Mcp-Session-Id`, anyone who reads the trace could use
      // the session (MCP, transports).
      ...(hasOwnSession(session, entry) && { 'mcp.session.id': session.id }),
    }
    entry.trace.end(operation, attributes, payloadsIn(entry, payloads))
  },
})

/** Stateless clients share a session, and so do all clients of a revision without sessions. */
const hasOwnSession = (
  { stateless }: ObservedSession, { revision, clientRevision: spoken = revision }: Entry,
): boolean => !stateless && spoken !== undefined && isRevision(spoken) && !traitsOf(spoken).modern

/** The trace context of a record's request; the root context for a record without a request. */
export const contextOf = ({ trace: followed }: Pick<Entry, 'trace'>): Context =>
  (followed instanceof Followed ? followed.context : ROOT_CONTEXT)

/** A request as two spans: that of the relay as a server, and below it that of the relay as a client. */
class Followed implements Trace {
  readonly context: Context
  readonly #asked: Attributes
  readonly #server: Span
  /** The arrival of the request: by the wall clock, and by the monotonic clock. */
  readonly #beganAt = Date.now()
  readonly #clock = performance.now()
  #client: Span | undefined

  constructor(
    private readonly tracer: Tracer,
    request: Request,
    parent: Context,
    private readonly place: MeasuredPlace,
    { peer, stateless }: ObservedSession,
  ) {
    this.#asked = requestAttributes(request)
    const attributes = {
      ...this.#asked, ...placeAttributes('server', place),
      ...(peer && !stateless && { 'client.address': peer.address }),
    }
    this.#server = tracer.startSpan(
      spanName(attributes), { kind: SpanKind.SERVER, startTime: this.#beganAt, attributes }, parent,
    )
    this.context = trace.setSpan(ROOT_CONTEXT, this.#server)
  }

  /** Begins the span towards the server early, because the server's own spans are its children. */
  headers(): ReadonlyMap<string, string> {
    this.#client ??= this.#toServer(performance.now() - this.#clock)
    const headers = new Map<string, string>()
    propagator.inject(
      trace.setSpan(ROOT_CONTEXT, this.#client), headers,
      { set: (carrier: typeof headers, name, value) => void carrier.set(name, value) },
    )
    return headers
  }

  /** @param payloads only of the span towards the server, where they were sent and received */
  end(operation: Operation, attributes: Attributes, payloads: Attributes): void {
    const { entry: { ms }, atServer } = operation
    if (atServer !== undefined) {
      const client = this.#client ?? this.#toServer(atServer.afterMs)
      client.setAttributes({ ...judged(operation.entry, 'client'), ...attributes, ...payloads })
      settle(client, ofServer(operation))
      client.end(this.#beganAt + atServer.afterMs + atServer.ms)
    }
    this.#server.setAttributes({ ...judged(operation.entry, 'server'), ...attributes })
    settle(this.#server, toClient(operation))
    this.#server.end(this.#beganAt + ms)
  }

  #toServer(afterMs: number): Span {
    const attributes = { ...this.#asked, ...placeAttributes('client', this.place) }
    return this.tracer.startSpan(
      spanName(attributes), { kind: SpanKind.CLIENT, startTime: this.#beganAt + afterMs, attributes },
      this.context,
    )
  }
}

const settle = (span: Span, result: CallOutcome): void => {
  span.setAttributes(outcome(result))
  if (result.failure !== undefined) {
    span.setStatus({
      code: SpanStatusCode.ERROR, ...(result.message !== undefined && { message: result.message }),
    })
  }
}

/** The client's trace context from the request's `_meta`, or else from the HTTP headers (SEP-414). */
const parentOf = ({ params }: Request, headers: ReadonlyMap<string, string> | undefined): Context => {
  const meta = member(params, '_meta')
  const inMeta = isObject(meta) ? extracted(name => text(member(meta, name))) : undefined
  return inMeta ?? extracted(name => headers?.get(name)) ?? ROOT_CONTEXT
}

const extracted = (get: (name: string) => string | undefined): Context | undefined => {
  const carrier = { traceparent: get('traceparent'), tracestate: get('tracestate') }
  const context = propagator.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter)
  return trace.getSpanContext(context) === undefined ? undefined : context
}

const text = (value: unknown): string | undefined => (isString(value) ? value : undefined)

const payloadsIn = (entry: Entry, kind: 'none' | 'redacted' | 'full'): Attributes => {
  const kept = kind === 'none' ? undefined : payloadsOf(entry, kind)
  const cut = (value: unknown) => JSON.stringify(value).slice(0, longestPayload)
  return {
    ...(kept?.arguments !== undefined && { 'gen_ai.tool.call.arguments': cut(kept.arguments) }),
    ...(kept?.result !== undefined && { 'gen_ai.tool.call.result': cut(kept.result) }),
  }
}
