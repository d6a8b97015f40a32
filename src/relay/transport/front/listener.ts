import { once } from 'node:events'
import { lstatSync, unlinkSync, type Stats } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { machine } from '../machine.js'
import { cannotListen, codeOf, CustomsError } from '#relay/base/errors.js'
import { isMac, isWindows } from '#relay/base/platform/machine.js'

/** In PEM. */
export interface FrontTls {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** Authorities of client certificates: clients without such a certificate are refused. */
  readonly ca?: string | Buffer
}

const settings = {
  handshakeTimeout: 10_000,
  maxHeaderSize: 32 * 1024,
  // These limit the time in which a client sends its request; responses may take longer.
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5000,
  requestTimeout: 120_000,
  // Longer than common proxies keep idle connections: they must not send a request just when we close one.
  keepAliveTimeout: 75_000,
  noDelay: true,
  // Node would use the first of several Content-Type, Host or Authorization headers. Joined, they match no
  // value that the relay accepts.
  joinDuplicateHeaders: true,
  // The gate refuses a request without Host, with the body that every refusal has.
  requireHostHeader: false,
}

/** @param tls undefined: plain HTTP */
export const createListener = (tls: FrontTls | undefined): Server => {
  const asks = { requestCert: tls?.ca !== undefined, rejectUnauthorized: tls?.ca !== undefined }
  const server = tls ? createTlsServer({ ...settings, ...tls, ...asks }) : createServer(settings)
  // Node would drop the headers beyond this number unseen; `maxHeaderSize` limits them instead.
  server.maxHeadersCount = 0
  const sockets = new Set<Socket>()
  admitted.set(server, { ca: tls?.ca?.toString() ?? '', sockets })
  server.on('secureConnection', (socket: TLSSocket) => {
    // Its handshake may have begun before client certificates were required.
    if (admitted.get(server)?.ca !== '' && !socket.authorized) return void socket.destroy()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return server
}

/** The events with which Node reports a request. */
export const requests = ['request', 'checkContinue', 'checkExpectation']

/** By listener: the authorities of client certificates (empty: none required) and its TLS sockets. */
const admitted = new WeakMap<Server, { readonly ca: string; readonly sockets: Set<Socket> }>()

/**
 * Uses this certificate for new connections. Open connections stay, unless the authorities of client
 * certificates have changed. A listener without TLS stays without TLS.
 */
export const renewTls = (server: Server, tls: FrontTls | undefined): void => {
  if (!tls || !(server instanceof TlsServer)) return
  server.setSecureContext(tls)
  const ca = tls.ca?.toString() ?? ''
  const { ca: before = '', sockets = new Set<Socket>() } = admitted.get(server) ?? {}
  if (ca === before) return
  // Node reads these from the listener at each connection.
  Object.assign(server, { requestCert: ca !== '', rejectUnauthorized: ca !== '' })
  admitted.set(server, { ca, sockets })
  for (const socket of sockets) socket.destroy()
}

export type ListenAddress = NetworkAddress | SocketAddress

interface NetworkAddress {
  readonly host: string
  /** 0: the system chooses a free port. */
  readonly port: number
}

/** A Unix socket: for programs of this machine that may write to its file. */
interface SocketAddress {
  readonly socket: string
  /** The permissions of the file. */
  readonly mode: number
}

/**
 * @param listener its name, for messages
 * @returns where it listens: `http://HOST:PORT`, or `unix:PATH`
 * @throws CustomsError CANNOT_START
 */
export const listen = async (server: Server, address: ListenAddress, listener?: string): Promise<string> => {
  if (machine.listen !== undefined) return machine.listen(server)
  try {
    if ('socket' in address) await listenAtSocket(server, address)
    else await once(server.listen({ host: address.host, port: address.port }), 'listening')
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    throw cannotListen(
      `${listener === undefined ? '' : `${listener} `}cannot listen on ${nameOf(address)}`, 'port' in address ? address.port : undefined, cause,
    )
  }
  if ('socket' in address) return nameOf(address)
  const bound = server.address()
  const port = typeof bound === 'object' && bound ? bound.port : address.port
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return `${server instanceof TlsServer ? 'https' : 'http'}://${host}:${port}`
}

const nameOf = (address: ListenAddress): string =>
  'socket' in address ? `unix:${address.socket}` : `${address.host}:${address.port}`

/** The longest path of a Unix socket, in bytes. Node would cut off the rest and listen at another path. */
const longestPath = isMac() ? 103 : 107

/** Replaces the socket file of a listener that has ended, but no other file and no socket in use. */
const listenAtSocket = async (server: Server, address: SocketAddress): Promise<void> => {
  try {
    await bind(server, address)
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE' || !(await isLeftBehind(address.socket))) throw error
    unlinkSync(address.socket)
    await bind(server, address)
  }
}

/** Node removes the file when it closes the listener. */
const bind = async (server: Server, { socket, mode }: SocketAddress): Promise<void> => {
  if (isWindows()) {
    const reason = 'on Windows the relay listens on an address only, such as 127.0.0.1:8080'
    throw new CustomsError('CANNOT_START', `cannot listen on unix:${socket}: ${reason}`)
  }
  if (Buffer.byteLength(socket) > longestPath) {
    const reason = `the path of a socket has at most ${longestPath} bytes`
    throw new CustomsError('CANNOT_START', `cannot listen on unix:${socket}: ${reason}`)
  }
  // `listen` creates the file at once, so that it never has other permissions.
  const before = process.umask(0o777 & ~mode)
  try {
    // Exclusive: not shared with other processes of a cluster.
    server.listen({ path: socket, exclusive: true })
  } finally {
    process.umask(before)
  }
  await once(server, 'listening')
}

const isLeftBehind = async (path: string): Promise<boolean> => {
  const before = socketAt(path)
  if (before === undefined) return false
  const client = connect({ path })
  const refused = await once(client, 'connect')
    .then(() => false, (error: unknown) => codeOf(error) === 'ECONNREFUSED')
  client.destroy()
  // Another process may have replaced it meanwhile.
  return refused && socketAt(path)?.ino === before.ino
}

const socketAt = (path: string): Stats | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isSocket() === true ? found : undefined
}
