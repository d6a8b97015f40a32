import { randomUUID } from 'node:crypto'
import type { SchemaChecker } from '../core/check.js'
import type { Entry } from '../core/effect.js'
import type { Side } from '../core/event.js'
import type { RelayOptions, ToolSetting } from '../core/options.js'
import type { Policy } from '../core/policy.js'
import { Relay } from '../core/relay.js'
import { rules } from '../rules/index.js'
import type { Transport } from '../transport/transport.js'
import { Judging } from './judging.js'
import { Session, type Recorder } from './session.js'

/** What every session in front of one server has in common. */
export interface Guard {
  readonly name: string
  readonly policy: Policy
  readonly trusted: boolean
  readonly tools: ReadonlyMap<string, ToolSetting>
  readonly listMs: number
  readonly requestMs: number
  readonly mostTools: number
  readonly intent: boolean
  readonly checker: SchemaChecker
  /** Records a decision; throws when that cannot be done. */
  readonly audit: (entry: Entry) => void
  /** Told of every message that crosses, in bytes; for metrics. */
  readonly moved?: (from: Side, bytes: number) => void
  /** Writes a session down as it goes on. */
  readonly record?: ((options: RelayOptions) => Recorder) | undefined
}

/** Makes the server's side; HTTP headers of a call are made from the tool's input schema, which the relay knows. */
export type OpenServer = (inputSchemaOf: Relay['inputSchemaOf']) => Transport

/** Puts a relay between two transports. @param stateless each exchange has ids of its own */
export const openSession = (guard: Guard, client: Transport, openServer: OpenServer, stateless = false): Session => {
  const { name, checker, audit, moved, record, policy, trusted, tools, listMs, requestMs, mostTools, intent } = guard
  const judging = new Judging(checker)
  const options: RelayOptions = {
    server: name, session: randomUUID(), nonce: randomUUID(), stateless, policy, rules, trusted, tools, listMs, requestMs, mostTools, intent,
    checkNow: judging.now,
  }
  const recorder = record?.(options)
  const relay = new Relay(recorder === undefined ? options : { ...options, checkNow: watched(judging.now, recorder) })
  return new Session({ client, server: openServer(tool => relay.inputSchemaOf(tool)), relay, judging, audit, moved, recorder })
}

const watched = (checkNow: RelayOptions['checkNow'], recorder: Recorder): RelayOptions['checkNow'] => subject => {
  const checked = checkNow(subject)
  recorder.asked(checked === undefined)
  return checked
}
