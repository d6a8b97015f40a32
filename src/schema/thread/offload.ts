import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { SchemaLimits } from '#core/check.js'
import { FairQueue, turns } from '#protocol/turns.js'
import type { Json } from '#protocol/unmetered.js'
import { unchecked } from '../evaluate.js'
import type { SchemaText } from '../plans.js'
import { encode } from './encode.js'
import type { Answer, Order, Report } from './worker.js'

interface Job {
  readonly order: Exclude<Order, { type: 'piece' }>
  /** The value, or its JSON text. It is sent to the thread before the order. */
  readonly value: Json | Buffer | undefined
  readonly settle: (answer: Answer) => void
  /** Characters, or bytes, of the value that were sent so far. */
  sent: number
}

const noVerdict = (why: string): Answer => ({ problems: unchecked(why) })

/** The most checks of one session that may wait, because their values take memory. */
const share = 200
/**
 * The thread limits its work by steps. It is given up only when it does not answer for far longer than any
 * order takes, even on a busy machine.
 */
const usualPatienceMs = 10_000
const patience = 50
/** The most schemas in the list of those that ended the thread. */
const maxFatal = 100
/** A value of 16 MiB of text takes up to ten times as much memory when parsed. */
const heapMb = 384
const stackMb = 32

export interface OffloadOptions {
  /** What the thread runs. */
  readonly script?: URL
  /** The longest wait for an answer, in milliseconds, beside a multiple of `validationMs`. */
  readonly patienceMs?: number
}

/**
 * The worker thread does the checks that exceed the main thread's budget, one at a time; sessions take turns.
 * A thread that dies or does not answer is replaced: its check becomes `unchecked`, and the next one begins.
 */
export class Offload {
  readonly #limits: SchemaLimits
  readonly #script: URL
  readonly #patienceMs: number
  readonly #queue = new FairQueue<Job>(share)
  #current: Job | undefined
  #worker: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #lastId = 0
  #closed = false
  /**
   * By schema digest: the length of the last value that ended the thread. A value of this length or more is
   * not tried again.
   */
  readonly #fatal = new Map<string, number>()

  constructor(limits: SchemaLimits, { script, patienceMs = usualPatienceMs }: OffloadOptions = {}) {
    this.#limits = limits
    this.#script = script ?? new URL('./worker.js', import.meta.url)
    this.#patienceMs = patienceMs + patience * limits.validationMs
  }

  /** @param value itself, or its JSON text */
  validate(schema: SchemaText, value: Json | Buffer, session: string): Promise<Answer> {
    return this.#enqueue('validate', schema, value, session)
  }

  read(schema: SchemaText, session: string): Promise<Answer> {
    return this.#enqueue('read', schema, undefined, session)
  }

  #enqueue(
    type: Job['order']['type'], { digest, text, held }: SchemaText, value: Job['value'], session: string,
  ): Promise<Answer> {
    if (this.#closed) return Promise.resolve(noVerdict(': the relay is stopping'))
    const { subschemas, validationMs: ms } = this.#limits
    return new Promise(settle => {
      const order = { type, id: ++this.#lastId, schema: { digest, text, held }, subschemas, ms }
      if (this.#queue.push(session, { order, value, settle, sent: 0 })) this.#next()
      else settle(noVerdict(': too many checks are waiting'))
    })
  }

  /** Starts the thread ahead of the first check. */
  warm(): void {
    if (!this.#closed) this.#thread()
  }

  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    this.#worker = undefined
    for (let job = this.#current ?? this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      job.settle(noVerdict(': the relay is stopping'))
    }
    this.#current = undefined
    clearTimeout(this.#timer)
    await worker?.terminate()
  }

  #next(): void {
    if (this.#current !== undefined || this.#closed) return
    this.#current = this.#queue.shift()
    if (this.#current !== undefined) void this.#send(this.#current)
  }

  async #send(job: Job): Promise<void> {
    const worker = this.#thread()
    worker.ref()
    this.#expectReport(job)
    const { id, schema } = job.order
    const fatal = this.#fatal.get(schema.digest) ?? Infinity
    try {
      // Listing the members of a large object may take a whole turn of the event loop.
      if (job.value !== undefined) await setImmediate()
      if (this.#current !== job) return
      for (const text of piecesOf(job.value)) {
        if ((job.sent += text.length) >= fatal) {
          return this.#settle(noVerdict(': such a value ended its thread before'))
        }
        turns.spend(text.length >> 2)
        worker.postMessage({ type: 'piece', id, text } satisfies Order)
        // Other work has its turn before the next piece.
        await setImmediate()
        if (this.#current !== job) return
      }
      if (job.sent >= fatal) return this.#settle(noVerdict(': its schema ended its thread before'))
      worker.postMessage(job.order satisfies Order)
    } catch {
      if (this.#current === job) this.#settle(noVerdict(': it is no JSON'))
    }
  }

  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(this.#script, {
      resourceLimits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: stackMb },
      // A thread that reads untrusted schemas gets nothing of the process's environment.
      env: {},
      argv: [],
      execArgv: [],
    })
    this.#worker = worker
    worker.unref()
    worker.on('message', (report: Report) => {
      if (report.id === this.#current?.order.id) this.#settle(report)
    })
    worker.on('error', () => this.#lost(worker, ': out of memory, or beyond the engine'))
    worker.on('exit', () => this.#lost(worker, ': its thread ended'))
    return worker
  }

  #expectReport(job: Job): void {
    const giveUp = async () => {
      // After a long turn of the event loop timers run before messages: the answer may be there already.
      await setImmediate()
      const worker = this.#worker
      if (this.#current !== job || worker === undefined) return
      this.#lost(worker, ': its thread does not answer')
      await worker.terminate()
    }
    this.#timer = setTimeout(() => void giveUp(), this.#patienceMs)
  }

  #lost(worker: Worker, why: string): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    const { order, sent } = this.#current ?? {}
    if (order !== undefined && sent !== undefined) {
      this.#fatal.set(order.schema.digest, sent)
      for (const oldest of this.#fatal.keys()) if (this.#fatal.size > maxFatal) this.#fatal.delete(oldest)
    }
    this.#settle({ ...noVerdict(why), overran: true })
  }

  #settle(answer: Answer): void {
    clearTimeout(this.#timer)
    this.#worker?.unref()
    const job = this.#current
    this.#current = undefined
    job?.settle(answer)
    this.#next()
  }
}

/** Bytes are copied, because they may be part of a larger buffer. */
const piecesOf = (value: Job['value']): Iterable<string | Uint8Array> =>
  value === undefined ? [] : Buffer.isBuffer(value) ? [new Uint8Array(value)] : encode(value)
