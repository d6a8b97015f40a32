import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { SchemaLimits } from '../../core/check.js'
import type { Json } from '../../protocol/unmetered.js'
import { FairQueue, turns } from '../budget.js'
import { unchecked } from '../evaluate.js'
import type { SchemaText } from '../plans.js'
import { encode } from './encode.js'
import type { Answer, Order, Report } from './worker.js'

interface Job {
  readonly order: Exclude<Order, { type: 'piece' }>
  /** What is sent ahead of the order. */
  readonly value: Json | Buffer | undefined
  readonly settle: (answer: Answer) => void
  /** Characters, or bytes, of the value that the thread was sent. */
  sent: number
}

const noVerdict = (why: string): Answer => ({ problems: unchecked(why) })

/** Checks of one session that may wait; the values of those that do are held in memory. */
const share = 200
/**
 * The thread counts its steps itself, and answers. Only one that does not come back for so much longer than any order takes, on a
 * machine however busy, is given up.
 */
const usualPatienceMs = 10_000
const patience = 50
/** Schemas that are remembered because the thread ended over them. */
const mostFatal = 100
/** A value of 16 MiB of text takes up to ten times as much when parsed. */
const heapMb = 384
const stackMb = 32

export interface OffloadOptions {
  /** What the thread runs. */
  readonly script?: URL
  /** Longest wait for an answer, in milliseconds, to which comes what the limits ask for. */
  readonly patienceMs?: number
}

/**
 * The worker thread, where whatever is too much for the main thread is done, one order at a time; sessions take turns. A
 * thread that dies, of its memory, or never answers is replaced; the check that was on it comes back as `unchecked`, and the next begins.
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
  /** By a schema's digest: how many characters the last value had that ended the thread. None that is as long is tried again. */
  readonly #fatal = new Map<string, number>()

  constructor(limits: SchemaLimits, { script = new URL('./worker.js', import.meta.url), patienceMs = usualPatienceMs }: OffloadOptions = {}) {
    this.#limits = limits
    this.#script = script
    this.#patienceMs = patienceMs + patience * limits.validationMs
  }

  /** @param value itself, or its JSON text */
  validate(schema: SchemaText, value: Json | Buffer, session: string): Promise<Answer> {
    return this.#enqueue('validate', schema, value, session)
  }

  read(schema: SchemaText, session: string): Promise<Answer> {
    return this.#enqueue('read', schema, undefined, session)
  }

  #enqueue(type: Job['order']['type'], { digest, text, held }: SchemaText, value: Job['value'], session: string): Promise<Answer> {
    if (this.#closed) return Promise.resolve(noVerdict(': the relay is stopping'))
    const { subschemas, validationMs: ms } = this.#limits
    return new Promise(settle => {
      const order = { type, id: ++this.#lastId, schema: { digest, text, held }, subschemas, ms }
      if (!this.#queue.push(session, { order, value, settle, sent: 0 })) settle(noVerdict(': too many checks are waiting'))
      else this.#next()
    })
  }

  /** Starts the thread, so that the first check need not wait for it. */
  warm(): void {
    if (!this.#closed) this.#thread()
  }

  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    this.#worker = undefined
    for (let job = this.#current ?? this.#queue.shift(); job !== undefined; job = this.#queue.shift()) job.settle(noVerdict(': the relay is stopping'))
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
    this.#expectAnswer(job)
    const { id, schema } = job.order
    const fatal = this.#fatal.get(schema.digest) ?? Infinity
    try {
      // To list the members of a large object may take a turn of its own.
      if (job.value !== undefined) await setImmediate()
      if (this.#current !== job) return
      for (const text of piecesOf(job.value)) {
        if ((job.sent += text.length) >= fatal) return this.#settle(noVerdict(': such a value ended its thread before'))
        turns.spend(text.length >> 2)
        worker.postMessage({ type: 'piece', id, text } satisfies Order)
        // Before the next piece others have their turn.
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
      // Nothing of ours belongs to a thread that reads what strangers sent.
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

  #expectAnswer(job: Job): void {
    const giveUp = async () => {
      // After a long turn of ours timers come before messages: an answer may lie there already.
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
      for (const oldest of this.#fatal.keys()) if (this.#fatal.size > mostFatal) this.#fatal.delete(oldest)
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

/** The bytes are copied: they may be part of a larger text. */
const piecesOf = (value: Job['value']): Iterable<string | Uint8Array> =>
  value === undefined ? [] : Buffer.isBuffer(value) ? [new Uint8Array(value)] : encode(value)
