import { fail, pathFrom, type Keys, type ConfigurationSource } from './source.js'

/** Where to listen. */
export interface Address {
  /** Without the brackets of IPv6. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

/** @param text `HOST:PORT` or `[IPv6]:PORT`, by the schema's pattern */
export const readAddress = (text: string, keys: Keys): Address => {
  const [, bracketed, plain, digits] = /^(?:\[(.*)\]|([^:]*)):(\d+)$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  if (host === undefined || !(port <= 65535)) return fail(keys, 'must be HOST:PORT, the port from 0 to 65535')
  return { host, port }
}

/** A Unix domain socket. */
export interface SocketAddress {
  readonly socket: string
  /** The permissions of the socket's file. */
  readonly mode: number
}

/**
 * The shortest `sun_path` of the supported systems, in bytes. A longer path would be cut off without an
 * error.
 */
const maxSocketBytes = 103

/** @param text `unix:PATH` or `unix:PATH?mode=660`, or as for `readAddress` */
export const readListen = (
  text: string, keys: Keys, source: Pick<ConfigurationSource, 'file'>,
): Address | SocketAddress => {
  const [, path, mode = '600'] = /^unix:([^?]+)(?:\?mode=([0-7]{3}))?$/.exec(text) ?? []
  if (path === undefined) return readAddress(text, keys)
  const socket = pathFrom(source, path)
  if (Buffer.byteLength(socket) <= maxSocketBytes) return { socket, mode: parseInt(mode, 8) }
  return fail(keys, `${socket} is too long for a socket: ${maxSocketBytes} bytes at most`)
}

/**
 * A host as clients send it in the `Host` header: in lower case, an internationalized name in its ASCII form.
 */
export const readHost = (text: string, keys: Keys): string =>
  URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : fail(keys, 'is no host')

/** An origin as browsers send it in the `Origin` header. */
export const readOrigin = (text: string, keys: Keys): string => {
  if (!URL.canParse(text)) return fail(keys, 'is no origin')
  // `URL` gives the origin "null" for schemes that it does not know, such as those of desktop applications.
  const { origin } = new URL(text)
  return origin === 'null' ? text : origin
}

/** A server's URL, in the file or on the command line. An error does not quote it: it may hold a password. */
export const readServerUrl = (text: string, keys: Keys): string => {
  if (!URL.canParse(text)) return fail(keys, 'must be a URL')
  const { protocol, username, password, hash } = new URL(text)
  if (protocol !== 'https:' && protocol !== 'http:') return fail(keys, 'must be an https or http URL')
  if (username !== '' || password !== '') return fail(keys, 'must not hold a user or password: send a header')
  return hash === '' ? text : fail(keys, 'must not have a fragment')
}
