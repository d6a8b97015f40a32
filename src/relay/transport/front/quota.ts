import { subjectName } from './credentials.js'
import type { Peer } from './arrival.js'
import { onceOver, type FrontResponse, type ProcessSlot } from './request.js'

/** The client that a request counts for: its subject or token; without tokens, the network of its address. */
export const quotaClientOf = ({ address, token, subject }: Peer): string => {
  if (token !== undefined) return `token ${token}`
  return subject === undefined ? `address ${networkOf(address)}` : `subject ${subjectName(subject)}`
}

/**
 * One client usually has all 2^64 IPv6 addresses of a network (RFC 6177), so only the network counts. A
 * link-local address (`fe80::`) counts whole, because every link has the same network part.
 */
const networkOf = (address: string): string => {
  if (!address.includes(':') || /^fe[89ab]/i.test(address)) return address
  const [before = [], after = []] = address.split('::')
    .map(groups => groups.split(':').filter(group => group !== ''))
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}

/** A number of places. One client gets at most nine in ten of those that other clients leave free. */
export class Quota {
  readonly #taken = new Map<string, number>()
  #all = 0

  constructor(private readonly max: () => number) {}

  /** @returns false, and takes none, when the client cannot have that many */
  reserve(client: string, count = 1): boolean {
    const own = this.#taken.get(client) ?? 0
    const left = this.max() - (this.#all - own)
    if (own + count > Math.ceil((9 * left) / 10)) return false
    this.#taken.set(client, own + count)
    this.#all += count
    return true
  }

  /** A place for one server process of this client's. */
  processSlot(client: string): ProcessSlot {
    return { reserve: () => (this.reserve(client) ? () => this.release(client) : undefined) }
  }

  release(client: string, count = 1): void {
    const own = this.#taken.get(client) ?? 0
    const left = Math.min(count, own)
    if (own > left) this.#taken.set(client, own - left)
    else this.#taken.delete(client)
    this.#all -= left
  }
}

/** The bytes that one request's body takes of the memory for all bodies, until its response is over. */
export class Share {
  #taken = 0
  #isOver = false

  constructor(
    private readonly bodies: Quota,
    private readonly client: string,
    response: Pick<FrontResponse, 'closed' | 'once'>,
  ) {
    onceOver(response, () => {
      this.give(this.#taken)
      this.#isOver = true
    })
  }

  /** @returns false when there is no room for that many more bytes */
  take(bytes: number): boolean {
    if (this.#isOver || !this.bodies.reserve(this.client, bytes)) return false
    this.#taken += bytes
    return true
  }

  give(bytes: number): void {
    if (this.#isOver) return
    this.#taken -= bytes
    this.bodies.release(this.client, bytes)
  }
}
