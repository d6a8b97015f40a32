import { createHmac } from 'node:crypto'
import type { SharedAsk, SharedPart, SharedReply, SharedSession } from '#core/shared.js'
import { isObject, isString, type JsonObject, member, parseJson } from '#protocol/json.js'
import { type Store, usedUp } from './store.js'

export interface SharedSessionsOptions {
  readonly store: Store
  /** Begins every key. */
  readonly prefix: string
  /** How long a session is kept after its last use, in milliseconds. */
  readonly ttlMs: number
  /** A secret that all replicas have: session ids are kept as keyed hashes. */
  readonly secret: string
  readonly now?: () => number
  /** Told of each operation; for metrics. */
  readonly counted?: (operation: SharedAsk['kind'] | 'touch', outcome: Outcome) => void
}

export type Outcome = 'ok' | 'failed'

/** Longest value that is kept, in characters. */
const longest = 512 * 1024
/** How long an answered request is kept for a replay of its response, in milliseconds. */
const agedMs = 60_000

const letters: Readonly<Record<SharedPart, string>> = {
  session: 's', tools: 'd', asked: 'a', request: 'r', task: 't', list: 'l',
}

/** The sessions of all servers, as replicas share them. */
export class SharedSessions {
  readonly #options: SharedSessionsOptions

  constructor(options: SharedSessionsOptions) {
    this.#options = options
  }

  /**
   * @param id the `Mcp-Session-Id`, or the authorization context of clients without one; undefined: the
   *   server has yet to choose it
   * @param owner the context of the token that began the session
   */
  session(server: string, id: string | undefined, owner: string): SharedSession {
    return new KeptSession(this.#options, server, id, owner)
  }
}

class KeptSession implements SharedSession {
  readonly #options: SharedSessionsOptions
  readonly #server: string
  readonly #owner: string
  readonly #now: () => number
  #key: string | undefined
  /** What is kept of the session itself: kept again where the store has lost it. */
  #agreed: JsonObject | undefined
  #touchedAt: number
  #generation: number

  constructor(options: SharedSessionsOptions, server: string, id: string | undefined, owner: string) {
    this.#options = options
    this.#server = server
    this.#now = options.now ?? Date.now
    this.#touchedAt = this.#now()
    this.#generation = options.store.generation
    this.#owner = this.#hash('owner', owner)
    if (id !== undefined) this.named(id)
  }

  named(id: string): void {
    this.#key ??= this.#hash('session', this.#server, id)
  }

  async ask(ask: SharedAsk): Promise<SharedReply | 'others'> {
    const { store, ttlMs, counted } = this.#options
    if (this.#key === undefined) return 'none'
    const key = this.#keyOf(this.#key, ask.part, ask.name)
    try {
      const reply = await this.#do(store, key, ask, ttlMs)
      counted?.(ask.kind, 'ok')
      return reply
    } catch {
      counted?.(ask.kind, 'failed')
      return 'unreachable'
    }
  }

  touch(): void {
    const { store, ttlMs, counted } = this.#options
    if (this.#key === undefined) return
    const isDue = this.#now() - this.#touchedAt > ttlMs / 4 || store.generation !== this.#generation
    if (!isDue || store.problem !== undefined) return
    this.#touchedAt = this.#now()
    this.#generation = store.generation
    const key = this.#keyOf(this.#key, 'session', '')
    const agreed = this.#agreed
    const again = async (): Promise<void> => {
      const isThere = await store.expire(key, ttlMs)
      if (!isThere && agreed !== undefined) await store.set(key, JSON.stringify(agreed), ttlMs)
    }
    const others = store.expire(this.#keyOf(this.#key, 'tools', ''), ttlMs)
    Promise.all([again(), others]).then(() => counted?.('touch', 'ok'), () => counted?.('touch', 'failed'))
  }

  async #do(
    store: Store, key: string, ask: SharedAsk, ttlMs: number,
  ): Promise<SharedReply | 'others'> {
    switch (ask.kind) {
      case 'keep': {
        const value = ask.part === 'session' ? { agreed: ask.value, owner: this.#owner } : ask.value
        const text = JSON.stringify(value)
        if (text.length > longest) throw new Error('the value is too long to be kept')
        if (ask.part === 'session') this.#agreed = value
        await store.set(key, text, ttlMs)
        return 'none'
      }
      case 'find':
        return this.#read(ask.part, await store.get(key))
      case 'take':
        return this.#read(ask.part, await store.take(key, agedMs))
      case 'age':
        await store.expire(key, agedMs)
        return 'none'
      case 'forget':
        await store.delete(key)
        if (ask.part === 'session') this.#agreed = undefined
        return 'none'
      default:
        return ask satisfies never
    }
  }

  #read(part: SharedPart, text: string | undefined): SharedReply | 'others' {
    if (text === undefined) return 'none'
    if (text === usedUp) return 'used'
    const value = parseJson(text)
    if (!isObject(value)) return 'none'
    if (part !== 'session') return value
    const owner = member(value, 'owner')
    if (!isString(owner) || owner !== this.#owner) return 'others'
    const agreed = member(value, 'agreed')
    this.#agreed = value
    return isObject(agreed) ? agreed : 'none'
  }

  /** The session's hash leads: in a cluster its keys are in one slot. */
  #keyOf(session: string, part: SharedPart, name: string): string {
    const end = name === '' ? '' : `:${this.#hash('name', session, name)}`
    return `${this.#options.prefix}:{${session}}:${letters[part]}${end}`
  }

  #hash(...parts: readonly string[]): string {
    return createHmac('sha256', this.#options.secret).update(JSON.stringify(parts)).digest('base64url')
      .slice(0, 22)
  }
}
