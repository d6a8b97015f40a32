import type { Frame } from '../protocol/frame.js'
import { slice } from '../protocol/edit.js'
import type { Request } from '../protocol/json-rpc.js'
import { askFor, type Ask } from './ask.js'
import type { Checked, Subject } from './check.js'
import type { Effect, Entry } from './effect.js'
import type { Exchange } from './event.js'
import type { Pending } from './exchanges.js'
import type { Tool } from './catalog.js'
import type { RelayOptions } from './options.js'
import { decide, type Decided, type Verdict } from './policy.js'
import type { Finding } from './rule.js'
import { Session, type Terms } from './session.js'

/** A request of the client's that has no answer yet. */
export interface Asked extends Pending {
  readonly request: Frame
  readonly message: Request
  readonly terms: Terms
  /** When it arrived. */
  readonly at: number
  /** What was found so far; its record is written with the answer. */
  readonly findings: Finding[]
  /** When it went to the server, and when the server's answer came. */
  sentAt?: number
  answeredAt?: number
  /** Held: not yet at the server. Cancelled: the client no longer waits, an answer may still come. */
  state: 'held' | 'sent' | 'cancelled'
  /** For `tools/call`: the declaration by which the result is judged. */
  call?: Called | undefined
}

/** Which tool is called, and what is known of it. */
export interface Called {
  readonly name: string
  tool: Tool | undefined
  /** False when no list could be had, so that `tool` being undefined says nothing. */
  listed: boolean
}

type Went = (results: readonly Checked[]) => void

/**
 * What the parts of the relay share while one event is handled: the clock's reading, the effects so far, and the
 * checks under way.
 */
export class Context {
  readonly session = new Session()
  readonly ask: Ask
  now = 0
  #effects: Effect[] = []
  readonly #checks = new Map<number, Went>()
  #lastCheck = 0
  #started = false

  constructor(readonly options: RelayOptions) {
    this.ask = askFor(options.rules, options.policy)
  }

  emit(effect: Effect): void {
    this.#effects.push(effect)
  }

  take(): readonly Effect[] {
    const effects = this.#effects
    this.#effects = []
    return effects
  }

  toServer(exchange: Exchange, frame: Frame): void {
    this.emit({ type: 'send', to: 'server', exchange, frame })
  }

  toClient(exchange: Exchange, frame: Frame): void {
    this.emit({ type: 'send', to: 'client', exchange, frame })
  }

  /** Asks for checks, and goes on when they are done: at once where the engine finds them cheap. */
  check(subjects: readonly Subject[], then: Went): void {
    if (subjects.length === 0) return then([])
    const check = ++this.#lastCheck
    this.#checks.set(check, then)
    this.emit({ type: 'check', check, subjects })
  }

  checked(check: number, results: readonly Checked[]): void {
    const then = this.#checks.get(check)
    this.#checks.delete(check)
    then?.(results)
  }

  judge(findings: readonly Finding[]): Decided {
    return decide(findings, this.options.policy)
  }

  /** Records a decision; the effect goes before the frame's own, so that nothing leaves unrecorded (promise 7). */
  record(entry: Pick<Entry, 'event' | 'verdict' | 'findings'> & Partial<Entry>, terms: Terms = this.session.terms): void {
    this.start(terms)
    const { server, session } = this.options
    this.emit({ type: 'audit', entry: { server, session, client: terms.client, revision: terms.revision, ...entry } })
  }

  /** The session's first record: written when it is known who the client says it is. */
  start(terms: Terms = this.session.terms): void {
    if (this.#started) return
    this.#started = true
    this.record({ event: 'session/start', verdict: 'pass', findings: [] }, terms)
  }

  /** The record of a request that is now answered by `answer`, or never will be. */
  recordAnswer(asked: Asked, verdict: Verdict, findings: readonly Finding[], response: Frame | undefined, sent = response): void {
    const { terms, message: { method } } = asked
    const isCall = method === 'tools/call'
    if (!isCall && method !== 'tools/list' && findings.length === 0) return
    this.start(terms)
    const { server, session } = this.options
    // Spelt out: V8 gives every object that another was spread into a shape of its own, and makes all that reads it slow.
    const entry: Entry = {
      event: method,
      server,
      session,
      client: terms.client,
      revision: terms.revision,
      tool: asked.call?.name,
      id: asked.id,
      verdict,
      findings,
      ms: this.now - asked.at,
      serverMs: asked.sentAt === undefined ? undefined : (asked.answeredAt ?? this.now) - asked.sentAt,
      bytes: { request: asked.request.bytes.length, response: response?.bytes.length },
      arguments: isCall ? slice(asked.request.bytes, ['params', 'arguments']) : undefined,
      result: isCall && response ? slice(response.bytes, ['result']) : undefined,
      error: sent?.message.kind === 'error' ? sent.message.error.code : undefined,
    }
    this.emit({ type: 'audit', entry })
  }
}
