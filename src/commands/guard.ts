import type { Log } from '../audit/log.js'
import type { Audit } from '../audit/sink.js'
import type { Capture } from '../capture/capture.js'
import type { Configuration } from '../config/configuration.js'
import { loadChecker } from '../gateway/checker.js'
import type { Guard } from '../gateway/open.js'
import type { ServerSetup } from './setup.js'

export interface OpenGuard extends Guard {
  close(): Promise<void>
}

/** What stands in front of one server: its policy, its schemas' engine, and where decisions go. */
export const openGuard = (
  { server, policy, trusted }: ServerSetup,
  { limits, audit: { intent } }: Configuration,
  audit: Audit,
  log: Log,
  capture?: Capture,
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
    record: capture && (options => capture.record(options, limits)),
    close: () => checker.close(),
  }
}
