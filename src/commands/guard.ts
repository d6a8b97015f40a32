import { openLog } from '../audit/log.js'
import { openAudit } from '../audit/sink.js'
import type { AuditConfiguration } from '../config/configuration.js'
import type { Limits } from '../config/limits.js'
import type { Guard } from '../gateway/open.js'
import { createSchemaChecker } from '../schema/index.js'
import type { LogLevel } from './flags.js'
import type { ServerSetup } from './setup.js'

export interface OpenGuard extends Guard {
  close(): Promise<void>
}

/**
 * What stands in front of one server: its policy, its audit log, its schemas' engine.
 * @param stream the descriptor of the standard stream that the command has to spare, for `--audit -`
 * @throws CustomsError CANNOT_AUDIT
 */
export const openGuard = (
  { server, policy, trusted }: ServerSetup,
  limits: Limits,
  { file, payloads }: AuditConfiguration,
  level: LogLevel,
  stream: number,
): OpenGuard => {
  const audit = openAudit({ file, stream, payloads, server: server.name })
  const checker = createSchemaChecker(limits)
  const log = openLog(level)
  return {
    name: server.name,
    policy,
    trusted,
    tools: server.tools,
    listMs: limits.listMs,
    requestMs: limits.requestMs,
    checker,
    audit: entry => {
      audit.write(entry)
      log.entry(entry)
    },
    close: async () => {
      await Promise.all([checker.close(), log.close()])
      audit.close()
    },
  }
}
