import type { SharedAsk, SharedPart, SharedReply, SharedSession } from '#relay/core/vocabulary.js'
import { isObject, parseJson } from '#relay/protocol/json.js'
import { keyedHash, type Store, usedUp } from './store.js'

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
  readonly counted?: (operation: SharedAsk['kind'] | 'touch', outcome: StateOutcome) => void
}

export type StateOutcome = 'ok' | 'failed'

/** Longest value that is kept, in characters: the digests of 5000 tools with long names. */
const longest = 2 * 1024 * 1024
/** How long an answered request is kept for a replay of its response, in milliseconds. */
const agedMs = 60_000
/** How long a request waits at most for a response that comes by another replica, in milliseconds. */
const openMs = 60 * 60_000

const letters: Readonly<Record<SharedPart, string>> = {
  session: 's', tools: 'd', asked: 'a', request: 'r', task: 't', list: 'l',
}

/** What is kept as long as the session. */
const lasting = [['session', ''], ['tools', ''], ['list', 'mark']] as const

/** `group`: all clients of one authorization context without a session id. */
export type SharedKind = 'session' | 'group'

/** The sessions of all servers, as replicas share them. */
export class SharedSessions {
  readonly #options: SharedSessionsOptions

  constructor(options: SharedSessionsOptions) {
    this.#options = options
  }

  /**
   * @param id the `Mcp-Session-Id`, or the authorization context of a group; undefined: the server has yet to
   *   choose it
   */
  session(server: string, id: string | undefined, kind: SharedKind = 'session'): SharedSession {
    return new KeptSession(this.#options, server, kind, id)
  }
}

class KeptSession implements SharedSession {
  readonly #options: SharedSessionsOptions
  readonly #server: string
  readonly #kind: SharedKind
  readonly #now: () => number
  #id: string | undefined
  /** The hash of the id. */
  #key: string | undefined
  /** Values of the session and its list by key. They are written again if the store has lost them. */
  readonly #known = new Map<string, string>()
  /** The keys of requests without a response. */
  readonly #open = new Set<string>()
  /** The keys of `#known` whose newest value could not be written to the store. */
  readonly #unkept = new Set<string>()
  #touchedAt: number
  #generation: number

  constructor(
    options: SharedSessionsOptions, server: string, kind: SharedKind, id: string | undefined,
  ) {
    this.#options = options
    this.#server = server
    this.#kind = kind
    this.#now = options.now ?? (() => performance.now())
    this.#touchedAt = this.#now()
    this.#generation = options.store.generation
    if (id !== undefined) this.named(id)
  }

  named(id: string): void {
    if (id === this.#id) return
    this.#id = id
    this.#key = this.#hash(this.#kind, this.#server, id)
    this.#forgetAll()
  }

  async ask(ask: SharedAsk): Promise<SharedReply> {
    const { store, counted } = this.#options
    if (this.#key === undefined) return 'none'
    const key = this.#keyOf(this.#key, ask.part, ask.name)
    try {
      const reply = await this.#do(store, key, ask)
      counted?.(ask.kind, 'ok')
      return reply
    } catch {
      if (ask.kind === 'keep' && this.#known.has(key)) this.#unkept.add(key)
      counted?.(ask.kind, 'failed')
      return 'unreachable'
    }
  }

  touch(): void {
    const { store, ttlMs, counted } = this.#options
    const session = this.#key
    if (session === undefined || store.problem !== undefined) return
    const isAgain = store.generation !== this.#generation || this.#unkept.size > 0
    if (!isAgain && this.#now() - this.#touchedAt <= ttlMs / 4) return
    this.#touchedAt = this.#now()
    this.#generation = store.generation
    const again = async (key: string): Promise<void> => {
      const isThere = await store.expire(key, ttlMs)
      const text = this.#known.get(key)
      if (text !== undefined && (!isThere || this.#unkept.has(key))) await store.set(key, text, ttlMs)
      this.#unkept.delete(key)
    }
    Promise.all(lasting.map(([part, name]) => again(this.#keyOf(session, part, name))))
      .then(() => counted?.('touch', 'ok'), () => counted?.('touch', 'failed'))
  }

  async #do(store: Store, key: string, ask: SharedAsk): Promise<SharedReply> {
    const { ttlMs } = this.#options
    const isRequest = ask.part === 'asked' || ask.part === 'request'
    switch (ask.kind) {
      case 'keep': {
        const text = JSON.stringify(ask.value)
        if (text.length > longest) throw new Error('the value is too long to be kept')
        this.#learn(ask.part, key, text)
        if (isRequest) this.#open.add(key)
        await store.set(key, text, isRequest ? Math.min(openMs, ttlMs) : ttlMs)
        return 'none'
      }
      case 'find': {
        const text = await store.get(key)
        const reply = replyOf(text)
        if (text !== undefined && isObject(reply)) this.#learn(ask.part, key, text)
        return reply
      }
      case 'take':
        this.#open.delete(key)
        return replyOf(await store.take(key, agedMs))
      case 'age':
        this.#open.delete(key)
        await store.expire(key, agedMs)
        return 'none'
      case 'forget':
        this.#open.delete(key)
        await Promise.all((ask.part === 'session' ? this.#all() : [key]).map(one => store.delete(one)))
        return 'none'
      default:
        return ask satisfies never
    }
  }

  /** The digests of first definitions are long, and not remembered here. */
  #learn(part: SharedPart, key: string, text: string): void {
    if (part === 'session' || part === 'list') this.#known.set(key, text)
  }

  /** The keys of a session that is over. */
  #all(): readonly string[] {
    const session = this.#key
    const own = session === undefined ? [] : lasting.map(([part, name]) => this.#keyOf(session, part, name))
    const keys = [...this.#open, ...own]
    this.#forgetAll()
    return keys
  }

  #forgetAll(): void {
    for (const known of [this.#known, this.#open, this.#unkept]) known.clear()
  }

  /** The session's hash leads: in a cluster its keys are in one slot. */
  #keyOf(session: string, part: SharedPart, name: string): string {
    const end = name === '' ? '' : `:${this.#hash('name', session, name)}`
    return `${this.#options.prefix}:{${session}}:${letters[part]}${end}`
  }

  #hash(...parts: readonly string[]): string {
    return keyedHash(this.#options.secret, parts)
  }
}

const replyOf = (text: string | undefined): SharedReply => {
  if (text === undefined) return 'none'
  if (text === usedUp) return 'used'
  const value = parseJson(text)
  return isObject(value) ? value : 'none'
}
