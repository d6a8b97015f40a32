import { wantedBy, type Wanted } from '#transport/http/challenge.js'
import type { RemoteServer } from '#config/configuration.js'
import { CustomsError } from '#errors.js'
import { discard, HttpUpstream } from '#transport/upstream/pool.js'
import { mayLogIn, wantsLogin } from './login.js'
import type { Setup } from './setup.js'
import { tlsOf } from './upstream.js'

/** In milliseconds. */
const challengeMs = 10_000

/** What a server says to somebody who comes without a token. @throws as `HttpUpstream` */
export const challengeOf = async (
  server: RemoteServer,
): Promise<{ readonly status: number; readonly wanted: Wanted }> => {
  const upstream = new HttpUpstream(new URL(server.url), tlsOf(server))
  const headers = new Map([
    ['accept', 'application/json, text/event-stream'], ['content-type', 'application/json'], ...server.headers,
  ])
  try {
    const reply = await upstream.request({
      method: 'POST', headers, body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'),
      signal: AbortSignal.timeout(challengeMs),
    })
    discard(reply)
    return { status: reply.status, wanted: wantedBy(reply.headers) }
  } finally {
    await upstream.close()
  }
}

/**
 * Where others than this machine's user can connect, they would all act as the one user who has logged in.
 * @throws CustomsError CANNOT_START where a server asks for a login, and the operator has not said so
 */
export const refuseSharedLogins = async (
  { servers, configuration: { listen, facade } }: Setup,
): Promise<void> => {
  if (facade !== undefined) return
  await Promise.all(servers.map(async ({ server }) => {
    if (!('url' in server) || !wantsLogin(server) || mayLogIn(server, listen)) return
    // A server that cannot be reached now is not asked for later: its 401 passes to the client.
    const { status, wanted } = await challengeOf(server).catch(() => ({ status: 0, wanted: undefined }))
    if (status !== 401 || wanted?.schemes.length === 0) return
    throw new CustomsError('CANNOT_START', `${server.name} asks for a login, and others can reach this relay: ` +
      `listen on 127.0.0.1, or write servers.${server.name}.auth: { shared: true } if all clients may use one login, ` +
      'or auth: facade if users log in as themselves')
  }))
}
