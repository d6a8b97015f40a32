import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { SchemaLimits, Source } from '#relay/core/vocabulary.js'
import { FairQueue, turns } from '#relay/protocol/turns.js'
import { unchecked } from '../evaluate.js'
import type { SchemaText } from '../plans.js'
import type { Answer, WorkerOrder, Report } from './worker.js'

interface Job {
  readonly order: WorkerOrder
  readonly settle: (answer: Answer) => void
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

  constructor(
    private readonly limits: SchemaLimits, { script, patienceMs = usualPatienceMs }: OffloadOptions = {},
  ) {
    this.#script = script ?? new URL('./worker.js', import.meta.url)
    this.#patienceMs = patienceMs + patience * limits.validationMs
  }

  /** @param value where it is; undefined to read the schema only */
  check(
    { digest, text, held }: SchemaText, value: Source | undefined, session: string,
  ): Promise<Answer> {
    if (this.#closed) return Promise.resolve(noVerdict(': the relay is stopping'))
    const { subschemas, validationMs: ms } = this.limits
    return new Promise(settle => {
      const order = { id: ++this.#lastId, schema: { digest, text, held }, value, subschemas, ms }
      if (this.#queue.push(session, { order, settle })) this.#next()
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
    if (this.#current !== undefined) this.#send(this.#current)
  }

  #send({ order }: Job): void {
    const { schema, value } = order
    const length = value?.bytes.length ?? 0
    if (length >= (this.#fatal.get(schema.digest) ?? Infinity)) {
      return this.#settle(noVerdict(': such a value ended its thread before'))
    }
    const worker = this.#thread()
    worker.ref()
    this.#expectReport()
    turns.spend(length >> 2)
    // A copy, because the bytes may be part of a larger buffer.
    const copy = value && { bytes: new Uint8Array(value.bytes), path: value.path }
    worker.postMessage({ ...order, value: copy } satisfies WorkerOrder)
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

  #expectReport(): void {
    const job = this.#current
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
    const { order } = this.#current ?? {}
    if (order !== undefined) {
      this.#fatal.set(order.schema.digest, order.value?.bytes.length ?? 0)
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
