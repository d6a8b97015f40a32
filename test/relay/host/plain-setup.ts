import type { ServerConfiguration } from '#relay/config/configuration.js'
import type { ServerSetup } from '#relay/host/server/setup.js'

/** The setup of a server without policy, lock, profiles and trust. */
export const plainSetup = (server: ServerConfiguration): ServerSetup => ({
  server, policy: new Map(), profiles: [], shapes: undefined, trusted: false, translate: undefined,
  lock: undefined, accepted: undefined,
})
