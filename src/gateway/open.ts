import { randomUUID } from 'node:crypto'
import type { Accepted } from '../core/accepted.js'
import type { SchemaChecker } from '../core/check.js'
import type { Entry } from '../core/event.js'
import type { RelayOptions, ToolSetting } from '../core/options.js'
import type { Policy } from '../core/findings.js'
import { Batches } from '../core/batches.js'
import { rules } from '../rules/index.js'
import type { Transport } from '../transport/transport.js'
import { Judging } from './judging.js'
import type { Observer } from './observer.js'
import { type Recorder, Session, type SessionParts } from './session.js'

/** What every session in front of one server has in common. `policy` and `tools` may be replaced while they run. */
export interface Guard {
  readonly name: string
  readonly policy: Policy
  readonly trusted: boolean
  readonly accepted?: Accepted | undefined
  readonly tools: ReadonlyMap<string, ToolSetting>
  readonly listMs: number
  readonly requestMs: number
  readonly mostTools: number
  readonly mostFindings?: number
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
  const { name, checker, audit, failed, observe, record, trusted, accepted, listMs, requestMs, mostTools, mostFindings, intent } = guard
  const session = randomUUID()
  const judging = new Judging(checker, session)
  const observer = observe?.({ id: session, peer, stateless })
  const options: RelayOptions = {
    server: name, session, nonce: randomUUID(), stateless, rules, trusted, accepted, listMs, requestMs, mostTools, mostFindings, intent,
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
