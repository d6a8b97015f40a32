import { once } from 'node:events'
import { lstatSync, unlinkSync, type Stats } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { CustomsError } from '../../errors.js'

/** In PEM. */
export interface FrontTls {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** Authorities of client certificates: without one of theirs nobody is let in. */
  readonly ca?: string | Buffer
}

const settings = {
  // A TLS handshake is as much of a beginning as the headers are.
  handshakeTimeout: 10_000,
  maxHeaderSize: 32 * 1024,
  // A slow sender is given up on; how long an answer takes is nobody's business here.
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5000,
  requestTimeout: 120_000,
  // Longer than the usual proxies keep theirs, so that it is never us who closes a connection just as it is used again.
  keepAliveTimeout: 75_000,
  noDelay: true,
  // A repeated Content-Type, Host or Authorization must not be read as its first: joined, it matches nothing.
  joinDuplicateHeaders: true,
  // Refused at the door instead, with a body like every other refusal.
  requireHostHeader: false,
}

/** @param tls undefined: plain HTTP */
export const createListener = (tls: FrontTls | undefined): Server => {
  const server = tls ? createTlsServer({ ...settings, ...tls, requestCert: tls.ca !== undefined, rejectUnauthorized: tls.ca !== undefined }) : createServer(settings)
  // No header is left out of those that are judged: `maxHeaderSize` bounds them.
  server.maxHeadersCount = 0
  const sockets = new Set<Socket>()
  admitted.set(server, { ca: tls?.ca?.toString() ?? '', sockets })
  server.on('secureConnection', (socket: TLSSocket) => {
    // Its handshake may have begun when nobody was asked.
    if (admitted.get(server)?.ca !== '' && !socket.authorized) return void socket.destroy()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return server
}

/** What Node tells of a request by: each is answered by the front itself. */
export const requests = ['request', 'checkContinue', 'checkExpectation']

/** By listener with TLS, the authorities of its clients (empty where it asks for none), and who was let in by them. */
const admitted = new WeakMap<Server, { readonly ca: string; readonly sockets: Set<Socket> }>()

/**
 * New connections are met with this certificate; those that are open keep theirs, unless other authorities count from now on. A
 * listener without TLS stays without.
 */
export const renewTls = (server: Server, tls: FrontTls | undefined): void => {
  if (!tls || !(server instanceof TlsServer)) return
  server.setSecureContext(tls)
  const ca = tls.ca?.toString() ?? ''
  const { ca: before = '', sockets = new Set<Socket>() } = admitted.get(server) ?? {}
  if (ca === before) return
  // Node asks the listener for these at each connection.
  Object.assign(server, { requestCert: ca !== '', rejectUnauthorized: ca !== '' })
  admitted.set(server, { ca, sockets })
  for (const socket of sockets) socket.destroy()
}

/** Where to listen. */
export type ListenAddress = NetworkAddress | SocketAddress

export interface NetworkAddress {
  readonly host: string
  /** 0 picks one. */
  readonly port: number
}

/** A socket in the file system: for programs of this machine, and of them for those who may write to the file. */
export interface SocketAddress {
  readonly socket: string
  /** The permissions of the file. */
  readonly mode: number
}

/**
 * @returns where it listens: `http://HOST:PORT`, or `unix:PATH`
 * @throws CustomsError CANNOT_START
 */
export const listen = async (server: Server, address: ListenAddress): Promise<string> => {
  try {
    if ('socket' in address) await listenAtSocket(server, address)
    else await once(server.listen({ host: address.host, port: address.port }), 'listening')
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    throw new CustomsError('CANNOT_START', `cannot listen on ${nameOf(address)}${code}`, { cause })
  }
  if ('socket' in address) return nameOf(address)
  const bound = server.address()
  const { host, port } = typeof bound === 'object' && bound ? { host: address.host, port: bound.port } : address
  return `${server instanceof TlsServer ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

const nameOf = (address: ListenAddress): string => ('socket' in address ? `unix:${address.socket}` : `${address.host}:${address.port}`)

/** Longest path that the system takes, in bytes: Node would cut the rest off, and listen somewhere else. */
const longestPath = process.platform === 'darwin' ? 103 : 107

/** A socket that an ended listener has left behind is replaced; one in use is not, nor is another file. */
const listenAtSocket = async (server: Server, address: SocketAddress): Promise<void> => {
  try {
    await bind(server, address)
  } catch (error) {
    if (!hasCode(error, 'EADDRINUSE') || !(await isLeftBehind(address.socket))) throw error
    unlinkSync(address.socket)
    await bind(server, address)
  }
}

/** Node takes the file away when it closes the listener. */
const bind = async (server: Server, { socket, mode }: SocketAddress): Promise<void> => {
  if (Buffer.byteLength(socket) > longestPath) {
    const reason = `the path of a socket has at most ${longestPath} bytes`
    throw new CustomsError('CANNOT_START', `cannot listen on unix:${socket}: ${reason}`)
  }
  // The file is made here and now, and is never there with other permissions than these.
  const before = process.umask(0o777 & ~mode)
  try {
    // Where processes share an address: this one is nobody else's.
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
  const refused = await once(client, 'connect').then(() => false, (error: unknown) => hasCode(error, 'ECONNREFUSED'))
  client.destroy()
  // Somebody else may have replaced it meanwhile.
  return refused && socketAt(path)?.ino === before.ino
}

const socketAt = (path: string): Stats | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isSocket() === true ? found : undefined
}

const hasCode = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code
