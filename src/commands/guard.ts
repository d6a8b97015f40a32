import type { Log } from '../audit/log.js'
import type { Audit } from '../audit/sink.js'
import type { Configuration } from '../config/configuration.js'
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

/** What stands in front of one server: its policy, its schemas' engine, and where decisions go. */
export const openGuard = (
  { server, policy, trusted }: ServerSetup,
  { limits, audit: { intent } }: Configuration,
  audit: Audit,
  log: Log,
  witness?: Witness,
): OpenGuard => {
  const checker = loadChecker(limits)
  return {
    name: server.name,
    policy,
    trusted,
    tools: server.tools,
    listMs: limits.listMs,
    requestMs: limits.requestMs,
    mostTools: limits.tools,
    intent,
    checker,
    audit: entry => {
      audit.write(entry)
      log.entry(entry)
    },
    record: witness && (options => witness.record(options, limits)),
    close: () => checker.close(),
  }
}
