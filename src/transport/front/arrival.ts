import type { FrontRequest, ProcessPlace } from './request.js'
import { isModernVersion } from '../http/metadata.js'
import { originOf } from './origin.js'
import { contextDigest, type Credentials } from './credentials.js'

/** Who sends requests, as far as it is known. */
export interface Peer {
  /** The address that it has here; empty for a socket of this machine. */
  readonly address: string
  /** Which of our tokens it showed, counted from 0; undefined where none is asked for. */
  readonly token: number | undefined
}

/** What the head of a request says, read once. */
export class Arrival {
  readonly peer: Peer
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>
  /** The `MCP-Protocol-Version`. */
  readonly version: string | undefined
  /** The version is of a revision that knows no sessions. */
  readonly modern: boolean
  readonly sessionId: string | undefined
  readonly scheme: 'http' | 'https'
  /** See `FrontRequest`. */
  readonly place: ProcessPlace | undefined
  #context: { readonly credentials: Credentials; readonly digest: string } | undefined

  constructor(request: FrontRequest, peer: Peer) {
    const read = new Map<string, string>()
    for (const [name, value] of Object.entries(request.headers)) {
      if (value !== undefined) read.set(name, typeof value === 'string' ? value : value.join(', '))
    }
    this.peer = peer
    this.scheme = originOf(request).scheme
    this.place = request.place
    this.headers = read
    this.version = read.get('mcp-protocol-version')
    this.modern = isModernVersion(this.version)
    this.sessionId = read.get('mcp-session-id')
  }

  /** Whose it may be: equal for requests that nothing tells from each other. */
  context(credentials: Credentials): string {
    if (this.#context?.credentials !== credentials) this.#context = { credentials, digest: contextDigest(credentials, this.headers) }
    return this.#context.digest
  }
}

/** Who shares the places with others: whoever shows the same token, or comes from the same network where none is asked for. */
export const clientOf = ({ address, token }: Peer): string => (token === undefined ? `address ${networkOf(address)}` : `token ${token}`)

/** One who has an address of IPv6 usually has all 2^64 that begin like it (RFC 6177), but for those of a link, whose beginning is everybody's. */
const networkOf = (address: string): string => {
  if (!address.includes(':') || /^fe[89ab]/i.test(address)) return address
  const [before = [], after = []] = address.split('::').map(groups => groups.split(':').filter(group => group !== ''))
  return [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after].slice(0, 4).join(':')
}
