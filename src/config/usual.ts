import { readAddress } from './address.js'
import type { Configuration } from './configuration.js'
import { defaults } from './generated/defaults.js'
import { defaultLimits, defaultSessionLimits } from './limits.js'

/** What holds where nobody says anything. */
export const usual: Configuration = {
  file: undefined,
  listen: readAddress(defaults.listen, ['listen']),
  workers: defaults.workers,
  policy: undefined,
  rules: new Map(),
  limits: defaultLimits,
  trust: [],
  lock: undefined,
  servers: new Map(),
  tokens: [],
  audit: { ...defaults.audit, file: undefined, targets: [] },
  telemetry: { ...defaults.telemetry, endpoint: undefined, headers: new Map() },
  tls: undefined,
  allowHosts: [],
  allowOrigins: [],
  admin: undefined,
  sessions: defaultSessionLimits,
}
