import { randomUUID } from 'node:crypto'
import type { Accepted } from '../core/accepted.js'
import type { Checked, SchemaChecker, SchemaLimits, Subject } from '../core/check.js'
import type { Entry, Exchange } from '../core/event.js'
import type { RelayOptions, ToolSetting } from '../core/options.js'
import type { Policy } from '../core/findings.js'
import { Batches } from '../core/batches.js'
import { rules } from '../rules/index.js'
import type { Transport } from '../transport/transport.js'
import type { Observer } from './observer.js'
import { type Recorder, Session, type SessionParts } from './session.js'
import { ChurnMap } from '../core/memory.js'

/** What every session in front of one server has in common. `policy` and `tools` may be replaced while they run. */
export interface Guard {
  readonly name: string
  readonly policy: Policy
  readonly trusted: boolean
  readonly accepted?: Accepted | undefined
  readonly tools: ReadonlyMap<string, ToolSetting>
  readonly listMs: number
  readonly requestMs: number
  readonly maxTools: number
  readonly maxFindings?: number
  readonly intent: boolean
  readonly checker: SchemaChecker
  /** Records a decision. @returns waits until it is written, where it is not yet; both throw when that cannot be done */
  readonly audit: SessionParts['audit']
  /** Hears of each exception that was contained. */
  readonly failed?: ((cause: unknown) => void) | undefined
  /** Who looks on; undefined: nobody. */
  readonly observe?: ((session: ObservedSession) => Observer) | undefined
  /** Writes a session down as it goes on. */
  readonly record?: ((options: RelayOptions) => Recorder) | undefined
}

export interface ObservedSession {
  /** As in its records. */
  readonly id: string
  readonly peer: Entry['peer']
  /** Of clients that have no session: it lasts as long as the server is offered. */
  readonly stateless: boolean
}

/** Makes the server's side; HTTP headers of a call are made from the tool's input schema, which the relay knows. */
export type OpenServer = (inputSchemaOf: Batches['inputSchemaOf']) => Transport

/** Puts a relay between two transports. */
export const openSession = (
  guard: Guard,
  client: Transport,
  openServer: OpenServer,
  { stateless, joined = false, peer }: Pick<RelayOptions, 'stateless' | 'joined' | 'peer'> = { stateless: false },
): Session => {
  const { name, checker, audit, failed, observe, record, trusted, accepted, listMs, requestMs, maxTools, maxFindings, intent } = guard
  const session = randomUUID()
  const judging = new Judging(checker, session)
  const observer = observe?.({ id: session, peer, stateless })
  const options: RelayOptions = {
    server: name, session, nonce: randomUUID(), stateless, rules, trusted, accepted, listMs, requestMs, maxTools, maxFindings, intent,
    observed: observer !== undefined,
    ...(joined && { joined }),
    ...(peer && { peer }),
    get policy() { return guard.policy },
    get tools() { return guard.tools },
    checkNow: record === undefined ? judging.now : subject => {
      const checked = judging.now(subject)
      recorder?.asked(checked === undefined)
      return checked
    },
  }
  const recorder = record?.(options)
  const relay = new Batches(options)
  return new Session({ client, server: openServer(tool => relay.inputSchemaOf(tool)), relay, judging, audit, observer, recorder, failed })
}

/** The checks that are under way, and what has to wait for them, so that order is kept. */
export class Judging {
  readonly #checker: SchemaChecker
  readonly #session: string
  /** What the engine has promised, until the relay asks for it. */
  readonly #promised = new ChurnMap<Subject, Promise<Checked>>()
  readonly #exchanges = new ChurnMap<number, Exchange>()
  readonly #underWay = new ChurnMap<Exchange, { checks: number; readonly waiting: (() => void)[] }>()
  #whenDone: (() => void) | undefined

  /** @param session by which the checker tells sessions apart */
  constructor(checker: SchemaChecker, session: string) {
    this.#checker = checker
    this.#session = session
  }

  /** The engine's verdict, where it has it at once. */
  readonly now = (subject: Subject): Checked | undefined => {
    let checked: Checked | Promise<Checked>
    try {
      checked = this.#checker.check(subject, this.#session)
    } catch {
      return failed(subject)
    }
    if (!(checked instanceof Promise)) return checked
    this.#promised.set(subject, checked.catch(() => failed(subject)))
    return undefined
  }

  /** What the engine says later; of no subject at all, when others have had their turn. */
  begin(check: number, subjects: readonly Subject[], exchange: Exchange): Promise<readonly Checked[]> {
    this.#exchanges.set(check, exchange)
    const underWay = this.#underWay.get(exchange)
    if (underWay === undefined) this.#underWay.set(exchange, { checks: 1, waiting: [] })
    else underWay.checks++
    if (subjects.length === 0) return new Promise(resolve => setImmediate(() => resolve([])))
    const promised = subjects.map(subject => this.#promised.get(subject) ?? Promise.resolve(failed(subject)))
    for (const subject of subjects) this.#promised.delete(subject)
    return Promise.all(promised)
  }

  /** To be told when everything that came of the check is done. */
  ended(check: number): void {
    const exchange = this.#exchanges.get(check)
    if (exchange === undefined) return
    this.#exchanges.delete(check)
    const underWay = this.#underWay.get(exchange)
    if (underWay !== undefined && --underWay.checks === 0) {
      this.#underWay.delete(exchange)
      for (const act of underWay.waiting) act()
    }
    if (this.#exchanges.size === 0) this.#whenDone?.()
  }

  /** Does something at once, or after what is being judged of the exchange. */
  after(exchange: Exchange, act: () => void): void {
    const underWay = this.#underWay.get(exchange)
    if (underWay === undefined) act()
    else underWay.waiting.push(act)
  }

  /** Does something when nothing is being judged any more. */
  afterAll(act: () => void): void {
    if (this.#exchanges.size === 0) act()
    else this.#whenDone = act
  }
}

/** A check that crashed, or that nobody has promised, is no verdict: fail closed. */
const failed = ({ path }: Subject): Checked => [{ kind: 'unchecked', path, message: 'the engine failed' }]

/**
 * The engine for schemas, loaded while the server starts: it is a quarter of the relay's code, and nothing needs it before
 * the first list or call. What is asked sooner waits for it.
 */
export const loadChecker = (limits: SchemaLimits): SchemaChecker => {
  let engine: SchemaChecker | undefined
  const loaded = new Promise<void>(resolve => void setImmediate(resolve)).then(async () => {
    const { createSchemaChecker } = await import('../schema/index.js')
    engine = createSchemaChecker(limits)
    return engine
  })
  return {
    check: (subject, session) => (engine ? engine.check(subject, session) : loaded.then(ready => ready.check(subject, session))),
    close: async () => (await loaded).close(),
  }
}
