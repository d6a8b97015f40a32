import type { Configuration, ProcessServer, RemoteServer } from '#relay/config/configuration.js'
import { usual } from '#relay/config/configuration.js'
import type { Setup } from '#relay/host/server/setup.js'
import { presetPolicy } from '#relay/rules/index.js'
import { judgementOf } from '../../judgement.js'
import { plainSetup } from '../../relay/host/plain-setup.js'
import { listMs } from '../book.js'

export interface Settings {
  readonly servers: ReadonlyMap<string, 'stdio' | 'http'>
  readonly tokens: readonly string[]
  readonly denied: readonly string[]
  readonly policy: 'standard' | 'observe'
  readonly hasState: boolean
  readonly idleMs: number
  readonly maxProcesses: number
  readonly bufferedBytes: number
  readonly judgedBytes: number
}

/** A setup as the operator's file would give it. */
export const setupOf = (settings: Settings): Setup => {
  const { servers, tokens, denied, policy, hasState, idleMs, maxProcesses } = settings
  const { bufferedBytes, judgedBytes } = settings
  const setting = { denied: true, outputSchema: undefined, annotations: undefined }
  const tools = new Map(denied.map(name => [name, setting]))
  const common = { policy: undefined, rules: new Map(), tools, lock: undefined }
  const configured = [...servers].map(([name, kind]): ProcessServer | RemoteServer => (kind === 'stdio'
    ? { name, ...common, command: ['/bin/true', name], env: new Map(), inheritEnv: [], cwd: undefined }
    : { name, ...common, url: `http://${name}.localhost/mcp`, headers: new Map(), tls: undefined, upstream: 'passthrough' }))
  const configuration: Configuration = {
    ...usual, file: 'simulation', listen: { host: '127.0.0.1', port: 1 },
    servers: new Map(configured.map(server => [server.name, server])),
    tokens: tokens.map(token => ({ token, name: token })),
    limits: { ...usual.limits, bufferedBytes, listMs, judgedBytes },
    sessions: { ...usual.sessions, max: 20, maxProcesses, idleMs, graceMs: 2000 },
    audit: { ...usual.audit, file: 'none', payloads: 'none', keepDays: 0, keepBytes: 0 },
    state: hasState
      ? { url: 'redis://state', prefix: 'p', ttlMs: 3_600_000, key: 'secret' }
      : undefined,
  }
  const judging = { policy: presetPolicy(policy, { purpose: 'relay', locked: false }), tools, listMs }
  return {
    configuration,
    servers: configured.map(server =>
      ({ ...plainSetup(server), judgement: judgementOf({ server: server.name, ...judging }) })),
  }
}
