import { CustomsError } from '#relay/base/errors.js'
import { challengeOf } from '#relay/transport/upstream/authorized.js'
import { areNamed, mayLogIn, wantsLogin } from './login.js'
import type { Setup } from './setup.js'
import { tlsOf } from './upstream.js'

/**
 * Refuses to start if other users could connect to the relay, and would all act as the one user who has
 * logged in at a server.
 * @throws CustomsError CANNOT_START if a server asks for a login that the operator has not declared as
 * shared
 */
export const refuseSharedLogins = async ({ servers, configuration }: Setup): Promise<void> => {
  if (configuration.facade !== undefined) return
  await Promise.all(servers.map(async ({ server }) => {
    if (!('url' in server) || !wantsLogin(server) || mayLogIn(server, configuration)) return
    // Each client has a login of its own.
    if (areNamed(configuration)) return
    // A server that cannot be reached now is not asked for later: its 401 passes to the client.
    const { status, wanted } = await challengeOf(new URL(server.url), tlsOf(server), server.headers)
      .catch(() => ({ status: 0, wanted: undefined }))
    if (status !== 401 || wanted?.schemes.length === 0) return
    throw new CustomsError('CANNOT_START',
      `${server.name} asks for a login, and others can reach this relay: ` +
      'let clients show one token (auth.tokens), listen on a socket of mode 600, or write ' +
      `servers.${server.name}.auth: { shared: true } if all clients may use one login, ` +
      'auth: facade if users log in as themselves, or auth with an issuer or named tokens if each client ' +
      'has a login of its own (mcp-customs login --subject)')
  }))
}
