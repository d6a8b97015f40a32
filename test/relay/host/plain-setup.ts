import type { ServerConfiguration } from '#relay/config/configuration.js'
import type { ServerSetup } from '#relay/host/server/judgement.js'
import { judgementOf } from '../../judgement.js'

/** The setup of a server without policy, lock, profiles and trust. */
export const plainSetup = (server: ServerConfiguration): ServerSetup => ({
  server, profiles: [], translate: undefined, lock: undefined,
  judgement: judgementOf({ server: server.name, policy: new Map(), trusted: false }),
})
