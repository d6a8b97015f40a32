import { randomBytes } from 'node:crypto'
import type { Proofs } from './proofs.js'
import type { Store } from './store.js'

export interface ReplicasOptions {
  readonly store: Store
  readonly prefix: string
  readonly proofs: Proofs
  /** Where the others reach this replica. */
  readonly advertise: string
}

/** How often a replica says where it is, and how long that counts, in milliseconds. */
const sayMs = 5000
const countsMs = 20_000
/** Time after a connection to the store by which every replica has written its address again. */
const saidMs = sayMs + 2000
/** How long an address is remembered here, in milliseconds. */
const knownMs = 2000
const maxKnown = 1000

/** The replicas that run processes, by name. A session's id begins with the name of its replica. */
export class Replicas {
  /** Of this replica, from its start to its end. */
  readonly name = `r${randomBytes(8).toString('hex')}`
  readonly proofs: Proofs
  readonly #options: ReplicasOptions
  readonly #known = new Map<string, { readonly url: string | undefined; readonly until: number }>()
  readonly #timer: NodeJS.Timeout
  #connectedAt = performance.now()

  constructor(options: ReplicasOptions) {
    this.#options = options
    this.proofs = options.proofs
    this.#timer = setInterval(() => void this.say(), sayMs)
    this.#timer.unref()
  }

  /** The store is connected, perhaps to an engine that has lost its memory. */
  connected(): void {
    this.#connectedAt = performance.now()
    this.#known.clear()
    void this.say()
  }

  /**
   * @returns undefined for a replica that is gone
   * @throws when the store cannot be reached, or was connected so recently that addresses may be missing
   */
  async addressOf(name: string, now = performance.now()): Promise<string | undefined> {
    const known = this.#known.get(name)
    if (known !== undefined && known.until > now) return known.url
    const [signature = '', url = ''] = (await this.#options.store.get(this.#key(name)))?.split(' ') ?? []
    // Requests carry their clients' credentials: they go to nobody who does not have the key.
    const found = this.proofs.isSigned(signature, 'address', name, url) ? url : undefined
    if (found === undefined && now - this.#connectedAt < saidMs)
      throw new Error('the replicas have yet to say where they are')
    if (this.#known.size >= maxKnown) this.#known.clear()
    this.#known.set(name, { url: found, until: now + knownMs })
    return found
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#options.store.delete(this.#key(this.name)).catch(() => undefined)
  }

  /** Says where this replica is. */
  async say(): Promise<void> {
    const { store, advertise } = this.#options
    const value = `${this.proofs.sign('address', this.name, advertise)} ${advertise}`
    // A failure is told by the store, and the next time is soon.
    await store.set(this.#key(this.name), value, countsMs).catch(() => undefined)
  }

  #key(name: string): string {
    return `${this.#options.prefix}:replica:${name}`
  }
}
