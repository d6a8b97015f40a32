import { createHash, randomUUID } from 'node:crypto'
import type { Log } from '#relay/audit/log.js'
import { version } from '#relay/base/version.js'
import type { Configuration } from '#relay/config/configuration.js'
import { mergedEntry, type MergeConfiguration } from '#relay/config/merge.js'
import type { Envelope } from '#relay/protocol/frame.js'
import { quote } from '#relay/protocol/quote.js'
import type { Asks } from '#relay/transport/channel/asks.js'
import { identifiesClient } from '#relay/transport/front/credentials.js'
import type { Endpoint, NewSession } from '#relay/transport/front/front.js'
import type { Transport } from '#relay/transport/transport.js'
import { httpSession } from '#relay/transport/upstream/session/session.js'
import type { HealthProblem } from '#relay/session/health.js'
import type { MergedFindings } from './findings.js'
import { LegTerms } from './leg-terms.js'
import type { MergerSettings } from './machine.js'
import { limitsFor } from '#relay/profiles/limits.js'
import { MergeSession, type MergeSessionOptions } from './session.js'

/** The settings of a session by the configuration. */
export const mergerSettings = (
  { separator, servers }: MergeConfiguration, { limits, profiles, translate }: Configuration,
): MergerSettings => ({
  servers, separator, limitsOf: limitsFor(profiles, mergedEntry),
  listMs: limits.listMs, maxItems: limits.tools, maxBytes: limits.messageBytes / 2,
  serverInfo: { name: mergedEntry, version: version() }, nonce: randomUUID(), translates: translate !== 'off',
})

/** Logs what is missing, and what is left out of lists, once for each. */
export class MergeNews implements Pick<MergeSessionOptions, 'missing' | 'found' | 'failed'> {
  readonly #log: Pick<Log, 'warn' | 'info'>
  readonly #missing = new Map<string, { readonly reason: string; readonly since: string }>()
  /** Digests of findings. */
  readonly #told = new Set<string>()
  #warnings = 0
  readonly #record: (found: MergedFindings) => void

  /** @param record writes down what is left out of lists */
  constructor(log: Pick<Log, 'warn' | 'info'>, record: (found: MergedFindings) => void) {
    this.#log = log
    this.#record = record
  }

  readonly missing = (leg: string, reason: string | undefined): void => {
    const before = this.#missing.get(leg)
    if (reason === undefined) {
      if (this.#missing.delete(leg)) this.#log.info(`${leg}: no longer missing from the merged endpoint`)
      return
    }
    this.#missing.set(leg, { reason, since: before?.since ?? new Date().toISOString() })
    if (before === undefined) this.#log.warn(`${leg}: missing from the merged endpoint: ${reason}`)
  }

  readonly found = ({ kind, found }: MergedFindings): void => {
    const news = found.filter(one => this.#isNew(JSON.stringify([kind, one])))
    if (news.length > 0) this.#record({ kind, found: news })
    for (const { server, rule, name, message } of news) {
      if ((this.#warnings += 1) > mostTold) return
      this.#log.warn(`${server}: ${rule}: ${name === undefined ? '' : `${quote(name)} `}${message}`)
    }
  }

  #isNew(text: string): boolean {
    const digest = createHash('sha256').update(text).digest('base64')
    if (this.#told.has(digest)) return false
    if (this.#told.size >= mostTold) this.#told.clear()
    this.#told.add(digest)
    return true
  }

  /** Findings are told again: policies may be others. */
  renew(): void {
    this.#told.clear()
  }

  readonly failed = (cause: unknown): void => {
    this.#log.warn(`the merger failed on a message: ${cause instanceof Error ? cause.message : String(cause)}`)
  }

  get problem(): HealthProblem | undefined {
    const [first] = this.#missing.values()
    const reasons = [...this.#missing].map(([name, { reason }]) => `${name}: ${reason}`)
    return first && { kind: 'refusal', reason: `missing: ${reasons.join('; ')}`, since: first.since }
  }
}

/** Findings that are remembered, so that each is told once, and most that are logged beside their records. */
const mostTold = 1000

export interface MergedEndpointOptions {
  readonly merge: MergeConfiguration
  readonly configuration: Configuration
  /** Requests to the endpoints of the servers. */
  readonly asks: Asks
  readonly log: Log
  /** Writes down what is left out of lists. */
  readonly record: (found: MergedFindings) => void
}

/** The endpoint of all servers. Each of its sessions is a client of the servers' own endpoints. */
export class MergedEndpoint {
  readonly #options: MergedEndpointOptions
  readonly #news: MergeNews
  readonly #sessions = new Set<MergeSession>()
  #merge: MergeConfiguration
  #configuration: Configuration

  constructor(options: MergedEndpointOptions) {
    this.#options = options
    this.#merge = options.merge
    this.#configuration = options.configuration
    this.#news = new MergeNews(options.log, options.record)
  }

  get endpoint(): Endpoint {
    return { server: 'stdio', isMerged: true, open: opening => this.#open(opening) }
  }

  get problem(): HealthProblem | undefined {
    return this.#news.problem
  }

  /** Replaces the configuration, for running sessions too. */
  replace(merge: MergeConfiguration, configuration: Configuration): void {
    this.#merge = merge
    this.#configuration = configuration
    this.#news.renew()
    for (const session of this.#sessions) session.offer(mergerSettings(merge, configuration))
  }

  async stop(urgency: number): Promise<void> {
    await Promise.all([...this.#sessions].map(session => {
      session.stop(urgency)
      return session.ended
    }))
  }

  #open(opening: NewSession): void {
    const { asks } = this.#options
    const session = new MergeSession({
      ...mergerSettings(this.#merge, this.#configuration),
      isStateless: opening.kind === 'stateless', hasExchanges: true, client: opening.transport,
      connect: (leg, inputSchemaOf) => legOver(asks, leg, opening, {
        limits: this.#configuration.limits, inputSchemaOf, headers: new Map(),
      }),
      missing: this.#news.missing, found: this.#news.found, failed: this.#news.failed,
    })
    this.#sessions.add(session)
    void session.ended.then(() => this.#sessions.delete(session))
    session.start()
  }
}

/**
 * A server's own endpoint as the server of a leg. Each request is sent for the client whose request it comes
 * from, with that client's rights and headers.
 */
const legOver = (
  asks: Asks, name: string, { peer, headers }: NewSession,
  settings: Pick<Parameters<typeof httpSession>[0], 'limits' | 'inputSchemaOf' | 'headers'>,
): Transport => {
  const envelopes = new WeakMap<Buffer, Envelope>()
  const terms = new LegTerms()
  const url = new URL(`http://gateway/${name}/mcp`)
  const upstream = asks.server(url, body => {
    const envelope = body && envelopes.get(body)
    const { subject } = peer
    return {
      address: peer.address, token: peer.token, agreed: terms.agreed,
      subject: subject && { ...subject, scopes: envelope?.scopes ?? subject.scopes },
      headers: [...(envelope?.headers ?? headers)].filter(([header]) =>
        identifiesClient(header) && header !== 'mcp-session-id'),
    }
  })
  const session = httpSession({ url, upstream, ...settings })
  return {
    start: onEvent => session.start(event => {
      if (event.type === 'frame') terms.received(event.frame)
      onEvent(event)
    }),
    send: (exchange, frame) => {
      terms.sent(frame)
      if (frame.envelope !== undefined) envelopes.set(frame.bytes, frame.envelope)
      return session.send(exchange, frame)
    },
    abandon: (exchange, key) => session.abandon?.(exchange, key),
    pause: exchange => session.pause(exchange),
    resume: exchange => session.resume(exchange),
    close: urgency => session.close(urgency),
  }
}
