import type { Log } from '../audit/log.js'
import type { ProcessServer, RemoteServer, ServerConfiguration } from '../config/configuration.js'
import type { Connector } from '../gateway/upstreams.js'
import type { FrameLimits } from '../protocol/frame.js'
import { canStart } from '../transport/process/spawn.js'
import { sharedServer } from '../transport/shared/server.js'
import { commandLineOf, processOf, tlsOf } from './upstream.js'

/** How the sessions of `serve` reach a server. @param isAlone no other is offered beside it */
export const connectorFor = (server: ServerConfiguration, limits: FrameLimits, log: Log, isAlone: boolean): Promise<Connector> | Connector =>
  'url' in server ? remote(server, limits, isAlone) : local(server, limits, log)

/**
 * A handshake makes a process one client's for good, and one that was asked without a handshake may refuse it afterwards: each
 * session has a process of its own, and all clients without a session have one together.
 */
const local = (server: ProcessServer, limits: FrameLimits, log: Log): Connector => {
  const make = () => processOf(server, limits, reason => log.warn(`${server.name}: ${reason}`))
  const shared = sharedServer({ make })
  return {
    kind: 'stdio',
    connect: ({ kind }) => (kind === 'stateless' ? () => shared.connect() : make),
    ready: () => Promise.resolve(canStart(commandLineOf(server)) && shared.isReady),
    close: () => shared.close(),
  }
}

/** The HTTP client is loaded only where there is a remote server. */
const remote = async (server: RemoteServer, limits: FrameLimits, isAlone: boolean): Promise<Connector> => {
  const [{ HttpUpstream }, { httpServer }] = await Promise.all([
    import('../transport/upstream/pool.js'),
    import('../transport/upstream/forward.js'),
  ])
  const upstream = new HttpUpstream(new URL(server.url), tlsOf(server))
  const { headers, name } = server
  const passHeaders = new Set(server.passHeaders?.map(header => header.toLowerCase()))
  const cookiePath = isAlone ? undefined : `/${name}/`
  return {
    kind: 'http',
    connect: () => inputSchemaOf => httpServer({ upstream, headers, limits, inputSchemaOf, cookiePath, passHeaders }),
    ready: () => upstream.reachable(),
    close: () => upstream.close(),
  }
}
