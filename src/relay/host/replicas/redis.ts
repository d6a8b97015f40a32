import { createClient, ErrorReply } from '@redis/client'
import { messageOf } from '#relay/base/errors.js'
import type { Engine, StoreProblem } from './store.js'

export interface RedisOptions {
  /** `redis:` or `rediss:`. */
  readonly url: string
  /** Told when the store cannot be used, and when it can be again. */
  readonly told?: (problem: StoreProblem | undefined) => void
  /** Told of each connection. */
  readonly ready?: () => void
  /** Longest wait for an operation, in milliseconds (500). */
  readonly limitMs?: number
}

/** How long other operations fail at once after one without an answer in time, in milliseconds. */
const restMs = 250
/**
 * Time after an error reply (no memory, no writes) in which the success of another operation does not prove
 * that the store works, in milliseconds.
 */
const errorMs = 1000
/** A connection that is silent for this time although it is asked is made anew, in milliseconds. */
const silentMs = 5000
const pingMs = 1000
/** Waits before the next attempt to connect, in milliseconds. */
const firstWaitMs = 50
const longestWaitMs = 2000
/** Most operations that wait for their answer. */
const maxWaiting = 10_000

/** Sets a value if the one before is still there; an empty text stands for none. */
const swapping = `
  if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return 1`

type Client = ReturnType<typeof clientOf>

const clientOf = (url: string, limitMs: number) => createClient({
  url,
  disableOfflineQueue: true,
  commandsQueueMaxLength: maxWaiting,
  pingInterval: pingMs,
  socket: {
    connectTimeout: Math.max(limitMs, 2000),
    socketTimeout: silentMs,
    reconnectStrategy: (attempts: number) => Math.min(firstWaitMs * 2 ** attempts, longestWaitMs),
  },
})

/**
 * Valkey or Redis. It reconnects by itself. It also connects anew when the engine allows no
 * writes, because after a failover the address may lead to another engine.
 */
export class RedisEngine implements Engine {
  readonly #url: string
  #client: Client
  readonly #limitMs: number
  readonly #told: (problem: StoreProblem | undefined) => void
  readonly #ready: () => void
  #problem: StoreProblem | undefined
  /** Until then, no operation is tried, by the clock of `performance`. */
  #restsUntil = 0
  /** The time of the last error reply. */
  #errorAt = -Infinity
  /** Until this time, a READONLY error reply causes no new connection. */
  #staysUntil = -Infinity
  #wasReady = false
  generation = 0
  /** Resolves when the first attempt to connect has succeeded or failed. */
  readonly begun: Promise<void>
  #begins: () => void = () => undefined

  constructor({ url, limitMs = 500, told = () => undefined, ready = () => undefined }: RedisOptions) {
    this.#url = url
    this.#limitMs = limitMs
    this.#told = told
    this.#ready = ready
    this.begun = new Promise(resolve => {
      this.#begins = resolve
    })
    this.#client = this.#connect()
  }

  #connect(): Client {
    const client = clientOf(this.#url, this.#limitMs)
    client.on('error', (error: unknown) => {
      this.#fails(messageOf(error))
      this.#begins()
    })
    client.on('ready', () => {
      if (this.#wasReady) this.generation++
      this.#wasReady = true
      if (!this.#hasErred) this.#works()
      this.#ready()
      this.#begins()
    })
    client.connect().catch((error: unknown) => this.#fails(messageOf(error)))
    return client
  }

  get problem(): StoreProblem | undefined {
    return this.#problem
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.#within(() => this.#client.get(key))) ?? undefined
  }

  async set(key: string, value: string, ttlMs: number): Promise<void> {
    await this.#within(() => this.#client.set(key, value, { expiration: { type: 'PX', value: ttlMs } }))
  }

  async replace(key: string, value: string, ttlMs: number): Promise<string | undefined> {
    const before = await this.#within(() => this.#client.set(
      key, value, { expiration: { type: 'PX', value: ttlMs }, condition: 'XX', GET: true },
    ))
    return before ?? undefined
  }

  async swap(key: string, before: string | undefined, value: string, ttlMs: number): Promise<boolean> {
    const [keys, words] = [[key], [before ?? '', value, String(ttlMs)]]
    return (await this.#within(() => this.#client.eval(swapping, { keys, arguments: words }))) === 1
  }

  async expire(key: string, ttlMs: number): Promise<boolean> {
    return (await this.#within(() => this.#client.pExpire(key, ttlMs))) === 1
  }

  async delete(key: string): Promise<void> {
    await this.#within(() => this.#client.del(key))
  }

  async close(): Promise<void> {
    if (!this.#client.isOpen) return
    if (this.#problem === undefined) await this.#within(() => this.#client.close()).catch(() => undefined)
    destroy(this.#client)
  }

  async #within<Value>(operation: () => Promise<Value>): Promise<Value> {
    if (performance.now() < this.#restsUntil) throw new Error('it did not answer in time a moment ago')
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#restsUntil = performance.now() + restMs
        const reason = `no answer within ${this.#limitMs} ms`
        this.#fails(reason)
        reject(new Error(reason))
      }, this.#limitMs)
    })
    try {
      const value = await Promise.race([operation(), late])
      if (this.#problem !== undefined && !this.#hasErred) this.#works()
      return value
    } catch (error) {
      if (error instanceof ErrorReply) this.#erred(error.message)
      else this.#fails(messageOf(error))
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  get #hasErred(): boolean {
    return performance.now() - this.#errorAt < errorMs
  }

  #erred(reason: string): void {
    this.#errorAt = performance.now()
    this.#fails(reason)
    if (!reason.startsWith('READONLY') || this.#errorAt < this.#staysUntil) return
    this.#staysUntil = this.#errorAt + longestWaitMs
    const old = this.#client
    this.#client = this.#connect()
    destroy(old)
  }

  #fails(reason: string): void {
    if (this.#problem !== undefined) return
    // Messages of the client quote addresses, and never credentials.
    this.#problem = { reason, since: new Date().toISOString() }
    this.#told(this.#problem)
  }

  #works(): void {
    if (this.#problem === undefined) return
    this.#problem = undefined
    this.#told(undefined)
  }
}

const destroy = (client: Client): void => {
  try {
    client.destroy()
  } catch {
    // It is closed.
  }
}
