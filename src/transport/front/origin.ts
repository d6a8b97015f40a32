import type { IncomingMessage } from 'node:http'

/** Where a request came from, by the connection that it came by. */
export interface Origin {
  /** Of IPv4, as it is usually written, also where it comes by a socket of IPv6; empty for a socket of this machine. */
  readonly address: string
  readonly scheme: 'http' | 'https'
}

/** Of requests that a sibling took in: theirs, and not the sibling's. Nothing that a client sends gets in here (see `Handover`). */
const told = new WeakMap<IncomingMessage, Origin>()

export const tellOrigin = (request: IncomingMessage, origin: Origin): void => {
  told.set(request, origin)
}

export const wasHandedOver = (request: IncomingMessage): boolean => told.has(request)

export const originOf = (request: IncomingMessage): Origin => told.get(request) ?? ofConnection(request)

const ofConnection = ({ socket }: IncomingMessage): Origin => ({
  address: (socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
  scheme: 'encrypted' in socket ? 'https' : 'http',
})
