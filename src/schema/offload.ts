import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { SchemaLimits, SchemaProblem } from '../core/check.js'
import type { Json } from '../protocol/json.js'
import { encode } from './encode.js'
import type { Order, Report } from './job.js'

interface Job {
  /** What is sent ahead of the order. */
  readonly subject: Json
  readonly order: Exclude<Order, { type: 'piece' }>
  readonly settle: (problems: readonly SchemaProblem[]) => void
}

/** What may wait; the values of those that do are held in memory. */
const longestQueue = 200
/** For reading value and schema, before the evaluation begins: a frame of 16 MiB takes a few seconds at worst. */
const preparationMs = 10_000
/** The thread looks at the clock itself; only what does not come back to look is killed. */
const graceMs = 30
/** A value of 16 MiB of text takes up to ten times as much when parsed. */
const heapMb = 384
const stackMb = 32

const unchecked = (message: string): readonly SchemaProblem[] => [{ kind: 'unchecked', path: '', message }]

/**
 * The worker thread, where whatever could be slow is judged, one at a time. A thread that overruns its time or its memory is killed
 * and replaced; the check that was on it comes back as `unchecked`, and the next begins.
 */
export class Offload {
  readonly #limits: SchemaLimits
  readonly #queue: Job[] = []
  #current: Job | undefined
  #worker: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #lastId = 0
  #closed = false

  constructor(limits: SchemaLimits) {
    this.#limits = limits
  }

  /** @param schema its JSON text */
  judge(schema: string, value: Json): Promise<readonly SchemaProblem[]> {
    const { subschemas, validationMs } = this.#limits
    return this.#enqueue(value, { type: 'judge', id: ++this.#lastId, schema, subschemas, ms: validationMs })
  }

  inspect(schema: Json): Promise<readonly SchemaProblem[]> {
    return this.#enqueue(schema, { type: 'inspect', id: ++this.#lastId, subschemas: this.#limits.subschemas })
  }

  #enqueue(subject: Json, order: Job['order']): Promise<readonly SchemaProblem[]> {
    if (this.#closed) return Promise.resolve(unchecked('could not be judged: the relay is stopping'))
    if (this.#queue.length >= longestQueue) return Promise.resolve(unchecked('could not be judged: too many checks are waiting'))
    return new Promise(settle => {
      this.#queue.push({ subject, order, settle })
      this.#next()
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
    for (const job of this.#queue.splice(0)) job.settle(unchecked('could not be judged: the relay is stopping'))
    this.#settle(unchecked('could not be judged: the relay is stopping'))
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
    this.#within(preparationMs)
    const tell = (order: Order) => worker.postMessage(order)
    let pieces = 0
    for (const text of encode(job.subject)) {
      // Between two pieces others have their turn.
      if (pieces++ > 0) await setImmediate()
      if (this.#current !== job) return
      tell({ type: 'piece', text })
    }
    tell(job.order)
  }

  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: stackMb },
      // Nothing of ours belongs to a thread that reads what strangers sent.
      env: {},
      argv: [],
      execArgv: [],
    })
    this.#worker = worker
    worker.unref()
    worker.on('message', (report: Report) => this.#hear(report))
    worker.on('error', () => this.#lost(worker, 'could not be judged: out of memory, or beyond the engine'))
    worker.on('exit', () => this.#lost(worker, 'could not be judged: its thread ended'))
    return worker
  }

  #hear(report: Report): void {
    if (report.id !== this.#current?.order.id) return
    if (report.type === 'begun') this.#within(this.#limits.validationMs + graceMs)
    else this.#settle(report.problems)
  }

  #within(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const worker = this.#worker
      if (worker === undefined) return
      this.#lost(worker, `could not be judged within ${this.#limits.validationMs} ms`)
      void worker.terminate()
    }, ms)
  }

  #lost(worker: Worker, message: string): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    this.#settle(unchecked(message))
  }

  #settle(problems: readonly SchemaProblem[]): void {
    clearTimeout(this.#timer)
    this.#worker?.unref()
    const job = this.#current
    this.#current = undefined
    job?.settle(problems)
    this.#next()
  }
}
