import type { FrontRequest } from './request.js'

/** Where a request came from, by the connection that it came by. */
export interface Origin {
  /** Of IPv4, as it is usually written, also where it comes by a socket of IPv6; empty for a socket of this machine. */
  readonly address: string
  readonly scheme: 'http' | 'https'
}

export const originOf = ({ socket }: Pick<FrontRequest, 'socket'>): Origin => ({
  address: (socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
  scheme: 'encrypted' in socket ? 'https' : 'http',
})
