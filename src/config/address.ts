import { fail, type Keys } from './problem.js'
import { pathFrom, type Source } from './source.js'

/** Where to listen. */
export interface Address {
  /** Without the brackets of IPv6. */
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
}

/** @param text `HOST:PORT` or `[IPv6]:PORT`, by the schema's pattern */
export const readAddress = (text: string, keys: Keys): Address => {
  const [, bracketed, plain, digits] = /^(?:\[(.*)\]|([^:]*)):(\d+)$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host !== undefined && port <= 65535 ? { host, port } : fail(keys, 'must be HOST:PORT, the port from 0 to 65535')
}

/** A socket in the file system. */
export interface SocketAddress {
  readonly socket: string
  /** The permissions of its file. */
  readonly mode: number
}

/** @param text `unix:PATH` or `unix:PATH?mode=660`, or as for `readAddress` */
export const readListen = (text: string, keys: Keys, source: Pick<Source, 'file'>): Address | SocketAddress => {
  const [, path, mode = '600'] = /^unix:([^?]+)(?:\?mode=([0-7]{3}))?$/.exec(text) ?? []
  if (path === undefined) return readAddress(text, keys)
  const socket = pathFrom(source, path)
  // What is longer is cut off in silence.
  return Buffer.byteLength(socket) > longestSocket ? fail(keys, `${socket} is too long for a socket: ${longestSocket} bytes at most`) : { socket, mode: parseInt(mode, 8) }
}

/** Of the systems that have them, the shortest `sun_path`, in bytes. */
const longestSocket = 103
