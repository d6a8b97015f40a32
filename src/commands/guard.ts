import type { Log } from '../audit/log.js'
import type { Audit } from '../audit/sink.js'
import type { AuditConfiguration, Configuration } from '../config/configuration.js'
import { loadChecker } from '../gateway/checker.js'
import type { Limits } from '../config/limits.js'
import type { RelayOptions } from '../core/options.js'
import type { Guard } from '../gateway/open.js'
import type { Recorder } from '../gateway/session.js'
import type { ServerSetup } from './setup.js'

/** Who is told of every session as it goes on: a capture, or who counts. */
export interface Witness {
  record(options: RelayOptions, limits: Limits): Recorder
  close(): void
}

export interface OpenGuard extends Guard {
  close(): Promise<void>
}

/** What may change for sessions that run: read by each guard of a server when it is needed. */
export type Ruling = Pick<Guard, 'policy' | 'tools'> & Pick<AuditConfiguration, 'payloads'>

/** One server's, now and whenever the configuration is read again. */
export interface CurrentRuling {
  now: Ruling
}

export const rulingOf = ({ server, policy }: ServerSetup, { audit: { payloads } }: Configuration): Ruling => ({ policy, tools: server.tools, payloads })

/** What stands in front of one server: its policy, its schemas' engine, and where decisions go. */
export const openGuard = (
  setup: ServerSetup,
  configuration: Configuration,
  audit: Audit,
  log: Log,
  { ruling = { now: rulingOf(setup, configuration) }, witness }: { readonly ruling?: CurrentRuling; readonly witness?: Witness | undefined } = {},
): OpenGuard => {
  const { server, trusted, accepted } = setup
  const { limits, audit: { intent } } = configuration
  const checker = loadChecker(limits)
  return {
    name: server.name,
    get policy() { return ruling.now.policy },
    get tools() { return ruling.now.tools },
    trusted,
    accepted,
    listMs: limits.listMs,
    requestMs: limits.requestMs,
    mostTools: limits.tools,
    intent,
    checker,
    audit: entry => {
      audit.write(entry, ruling.now.payloads)
      log.entry(entry)
    },
    record: witness && (options => witness.record(options, limits)),
    close: () => checker.close(),
  }
}
