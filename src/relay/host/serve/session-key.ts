import { join } from 'node:path'
import type { Log } from '#relay/audit/log.js'
import { stateFolder, thisMachine } from '#relay/base/platform/machine.js'
import { asksForTokens } from '#relay/config/configuration.js'
import { messageOf } from '#relay/base/errors.js'
import type { Setup } from '../server/setup.js'

/** Where the key is kept. A simulation replaces the function. */
export const keys = {
  inFolder: async (folder: string): Promise<string | Uint8Array> =>
    (await import('#relay/auth/facade/seals.js')).sealKeyIn(folder, 'session.key'),
}

/**
 * The key that binds the ids of sessions in front of HTTP servers to their clients: `state.key`, which all
 * replicas have, or else that of a file in the state folder.
 * @returns undefined where ids are bound to nobody, or by a key that ends with the process
 */
export const sessionKeyFor = async (
  { configuration, servers }: Setup, log: Pick<Log, 'warn'>,
): Promise<string | Uint8Array | undefined> => {
  if (!asksForTokens(configuration) || !servers.some(({ server }) => 'url' in server)) return undefined
  if (configuration.state !== undefined) return configuration.state.key
  const folder = stateFolder(thisMachine())
  try {
    return await keys.inFolder(folder)
  } catch (error) {
    log.warn(`cannot use ${join(folder, 'session.key')} (${messageOf(error)}): ` +
      'after a restart, the sessions of clients are over')
    return undefined
  }
}
