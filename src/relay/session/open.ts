import { randomUUID } from 'node:crypto'
import { digestOf } from '#relay/base/canonical.js'
import type { CountAsk, Entry, SchemaChecker, SharedReply, SharedSession } from '#relay/core/vocabulary.js'
import type { Judgement, RelayOptions } from '#relay/core/options.js'
import { Relay } from '#relay/core/relay.js'
import type { JsonObject } from '#relay/protocol/json.js'
import type { Transport } from '#relay/transport/transport.js'
import { type Eras, translate } from '#relay/eras/index.js'
import { RunningChecks } from './checks.js'
import type { Hooks, Observer, Recorder } from './hooks.js'
import { Session } from './session.js'

/** The settings and services of a server's sessions. */
export interface Guard {
  readonly judgement: Judgement
  /** Which sessions are translated between eras of MCP; undefined: none. */
  readonly eras?: Eras | undefined
  readonly checker: SchemaChecker
  readonly audit: Hooks['audit']
  readonly prepare?: Hooks['prepare']
  /** Counts a call over all replicas; undefined: replicas count for themselves. */
  readonly count?: ((ask: CountAsk) => Promise<SharedReply>) | undefined
  readonly failed?: Hooks['failed']
  readonly health?: Hooks['health']
  /** Makes the hooks for metrics and traces. */
  readonly observe?: ((session: ObservedSession) => Observer) | undefined
  /** Starts a capture of a session. */
  readonly record?: ((options: RelayOptions) => Recorder) | undefined
}

export interface ObservedSession {
  /** The id in its records. */
  readonly id: string
  readonly peer: Entry['peer']
  /** True for a session that clients without a session id share. */
  readonly stateless: boolean
}

/** Opens the server's side. HTTP headers of a call are made from its tool's input schema. */
export type OpenServer = (inputSchemaOf: Relay['inputSchemaOf']) => Transport

interface OpenedSession extends Pick<RelayOptions, 'stateless' | 'joined' | 'peer'> {
  /** See `EraOptions`. */
  readonly newSessionId?: (() => string) | undefined
  readonly shared?: SharedSession | undefined
  /** What its handshake agreed, where this relay did not see it. */
  readonly agreed?: JsonObject | undefined
}

/** Creates a session with a relay between two transports. */
export const openSession = (
  guard: Guard,
  client: Transport,
  openServer: OpenServer,
  {
    stateless, joined = false, peer, shared, agreed, newSessionId,
  }: OpenedSession = { stateless: false },
): Session => {
  const { judgement, checker, audit, prepare, failed, health, observe, record, count, eras } = guard
  const session = randomUUID()
  const checks = new RunningChecks(checker, session)
  const observer = observe?.({ id: session, peer, stateless })
  const options: RelayOptions = {
    judgement, session, nonce: randomUUID(), stateless, sharedCounts: count !== undefined,
    observed: observer !== undefined,
    ...(joined && { joined }),
    ...(agreed && { agreed }),
    ...(shared && { shared: { digestOf } }),
    ...(peer && { peer }),
    checkNow: record === undefined ? checks.now : subject => {
      const checked = checks.now(subject)
      recorder?.asked(checked === undefined)
      return checked
    },
  }
  const recorder = record?.(options)
  const core = new Relay(options)
  const ofEra = {
    server: judgement.server, isShared: stateless, newSessionId,
    outputSchemaOf: (tool: string) => core.outputSchemaOf(tool),
  }
  return new Session({
    client: eras === undefined ? client : translate(client, eras, ofEra),
    server: openServer(tool => core.inputSchemaOf(tool)), core, checks, shared, count, audit, prepare,
    observer, recorder, failed, health,
  })
}
