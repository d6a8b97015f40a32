import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Store } from './store.js'

export interface ReplicasOptions {
  readonly store: Store
  readonly prefix: string
  /** A secret that all replicas have. */
  readonly secret: string
  /** Where the others reach this replica. */
  readonly advertise: string
}

/** How often a replica says where it is, and how long that counts, in milliseconds. */
const sayMs = 5000
const countsMs = 20_000
/** How long an address is remembered here, in milliseconds. */
const knownMs = 2000
/** How far the clocks of two replicas may differ, in milliseconds. */
const clocksMs = 60_000
const maxKnown = 1000

/** The replicas that run processes, by name. A session's id begins with the name of its replica. */
export class Replicas {
  /** Of this replica, from its start to its end. */
  readonly name = `r${randomBytes(8).toString('hex')}`
  readonly #options: ReplicasOptions
  readonly #known = new Map<string, { readonly url: string | undefined; readonly until: number }>()
  readonly #timer: NodeJS.Timeout

  constructor(options: ReplicasOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.say(), sayMs)
    this.#timer.unref()
  }

  /** @returns undefined for a replica that is gone @throws when the state cannot be reached */
  async addressOf(name: string): Promise<string | undefined> {
    const now = performance.now()
    const known = this.#known.get(name)
    if (known !== undefined && known.until > now) return known.url
    const [signature = '', url = ''] = (await this.#options.store.get(this.#key(name)))?.split(' ') ?? []
    // Requests carry their clients' credentials: they go to nobody who does not have the key.
    const found = isEqual(signature, this.#sign('address', name, url)) ? url : undefined
    if (this.#known.size >= maxKnown) this.#known.clear()
    this.#known.set(name, { url: found, until: now + knownMs })
    return found
  }

  /** A proof that a replica passes this request on. @param facts what the request is */
  proofOf(facts: readonly string[], now = Date.now()): string {
    return `${now}.${this.#sign('pass', String(now), ...facts)}`
  }

  isProof(proof: string, facts: readonly string[], now = Date.now()): boolean {
    const [at = '', signature = ''] = proof.split('.')
    return Math.abs(now - Number(at)) < clocksMs && isEqual(signature, this.#sign('pass', at, ...facts))
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#options.store.delete(this.#key(this.name)).catch(() => undefined)
  }

  /** Says where this replica is. */
  async say(): Promise<void> {
    const { store, advertise } = this.#options
    const value = `${this.#sign('address', this.name, advertise)} ${advertise}`
    // A failure is told by the store, and the next time is soon.
    await store.set(this.#key(this.name), value, countsMs).catch(() => undefined)
  }

  #key(name: string): string {
    return `${this.#options.prefix}:replica:${name}`
  }

  #sign(...parts: readonly string[]): string {
    return createHmac('sha256', this.#options.secret).update(JSON.stringify(parts)).digest('base64url')
  }
}

const isEqual = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
