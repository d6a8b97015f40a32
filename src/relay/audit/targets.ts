import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import type { Logger, pino as Pino } from 'pino'
import type { Entry } from '#relay/core/vocabulary.js'
import { CustomsError } from '#relay/base/errors.js'
import { isRecord, type DataObject, parseData } from '#relay/protocol/unmetered.js'
import { Delivery, type DeliveryOptions } from './delivery.js'
import { hidden, shown } from '#relay/protocol/text/secrets.js'
import type { Follower } from './audit.js'
import { endMark, type TargetOptions } from './target.js'

/** A pino transport, as the operator names it. */
interface NamedTarget {
  /** A package, or an absolute path. */
  readonly target: string
  readonly options: Readonly<Record<string, unknown>>
  /** The file from which a package is looked up first. */
  readonly from: string
}

interface TargetsOptions extends Pick<DeliveryOptions, 'warn'> {
  readonly undelivered: (target: string, count: number) => void
  /**
   * Longest wait at the end for queued records and for the transport's own end, in milliseconds (default:
   * 1500, because clients kill a process that takes two seconds).
   */
  readonly endMs?: number
}

export interface Targets extends Follower {
  /** Sends what is queued, as far as `endMs` allows. */
  close(): Promise<void>
}

/** Wait before a transport that ended is started again, in milliseconds. */
const restartMs = 30_000
/** A transport may write an error for each record: the time between two warnings of ours, in milliseconds. */
const repeatMs = 60_000

/**
 * Sends records to pino transports, each in its own thread.
 * @throws CustomsError BAD_CONFIG when a transport is not installed
 */
export const openTargets = async (
  named: readonly NamedTarget[], options: TargetsOptions,
): Promise<Targets> => {
  const { pino } = await import('pino')
  const targets = named.map(one => new Target(pino, one, options))
  return {
    recorded: (record, entry, now) => {
      const value = parseData(record)
      if (!isRecord(value)) return
      for (const target of targets) target.send({ ...value, time: now.getTime() }, entry)
    },
    close: async () => {
      await Promise.all(targets.map(target => target.close()))
    },
  }
}

/** Members of thread-stream that its type declarations leave out. */
type Thread = ReturnType<typeof Pino.transport> & {
  readonly worker: Worker
  readonly writable: boolean
  readonly writableNeedDrain: boolean
  readonly writableErrored: Error | null
  readonly destroyed: boolean
}

class Target {
  readonly #pino: typeof Pino
  readonly #delivery: Delivery
  readonly #warn: (message: string) => void
  readonly #thread: TargetOptions
  readonly #undelivered: () => void
  #stream: Thread | undefined
  #logger: Logger | undefined
  #restart: NodeJS.Timeout | undefined
  #complainedAt = -Infinity
  readonly #endMs: number
  #isClosed = false

  constructor(pino: typeof Pino, named: NamedTarget, { warn, undelivered, endMs = 1500 }: TargetsOptions) {
    const { target, options } = named
    const name = `audit target ${target}`
    const secrets = textsIn(options)
    this.#pino = pino
    this.#endMs = endMs
    // A transport's message may quote its options.
    const withoutOptions = (message: string): string =>
      secrets.reduce((text, secret) => text.replaceAll(secret, hidden), message)
    this.#warn = message => warn(`${name}: ${shown(withoutOptions(message))}`)
    this.#undelivered = () => undelivered(target, 1)
    this.#delivery = new Delivery({ name, warn, undelivered: count => undelivered(target, count) })
    this.#thread = { file: resolved(named), options }
    this.#start()
  }

  /** Does not wait: a record that a slow transport cannot take now is dropped. */
  send(record: DataObject, entry: Entry | undefined): void {
    const stream = this.#stream
    if (stream === undefined || !stream.writable) return this.#delivery.lose(1, 'it does not run')
    if (stream.writableNeedDrain) return this.#delivery.lose(1, 'it is slower than the traffic')
    this.#delivery.recovered()
    const isStopped = entry?.verdict === 'block' || entry?.verdict === 'demote'
    this.#logger?.[isStopped ? 'warn' : 'info'](record, entry?.event)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#restart)
    const stream = this.#stream
    if (stream === undefined || stream.destroyed) return this.#delivery.close()
    const closed = new Promise<void>(resolve => stream.once('close', () => resolve()))
    const timer = setTimeout(() => {
      this.#delivery.lose(1, 'there was no more time')
      void stream.worker.terminate()
    }, this.#endMs)
    stream.write(endMark)
    await closed
    clearTimeout(timer)
    this.#delivery.close()
  }

  #start(): void {
    const others = process.listeners('exit')
    const stream = this.#pino.transport({
      target: fileURLToPath(new URL('./target.js', import.meta.url)),
      options: this.#thread,
      // The standard output belongs to MCP.
      worker: { autoEnd: false, stdout: true, stderr: true },
    }) as Thread
    for (const output of [stream.worker.stdout, stream.worker.stderr]) {
      output.setEncoding('utf8').on('data', (text: string) => this.#onComplaint(text))
    }
    // At exit, pino would wait ten seconds for a thread that has not begun. `close` waits instead.
    for (const listener of process.listeners('exit')) {
      if (!others.includes(listener)) process.off('exit', listener)
    }
    // An error closes the stream, and `close` reports it.
    stream.on('error', () => undefined)
    stream.once('close', () => {
      this.#stream = undefined
      if (this.#isClosed) return
      this.#onComplaint(stream.writableErrored?.message ?? 'its thread has ended')
      this.#restart = setTimeout(() => this.#start(), restartMs).unref()
    })
    this.#logger = this.#pino({ base: null, timestamp: false }, stream)
    this.#stream = stream
  }

  #onComplaint(text: string): void {
    this.#undelivered()
    if (performance.now() - this.#complainedAt < repeatMs) return
    this.#complainedAt = performance.now()
    this.#warn(text.trim())
  }
}

const resolved = ({ target, from }: NamedTarget): string => {
  for (const place of [from, join(process.cwd(), 'here'), fileURLToPath(import.meta.url)]) {
    try {
      return createRequire(place).resolve(target)
    } catch {
      // The next place may find it.
    }
  }
  const missing = `there is no module ${JSON.stringify(target)}`
  throw new CustomsError(
    'BAD_CONFIG',
    `${from}: audit.targets: ${missing} (it has to be installed beside mcp-customs or the file)`,
  )
}

/** All texts in the options: any of them may be a secret. */
const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return value.length < shortest ? [] : [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** A shorter text is hardly a secret, and would be found in any message. */
const shortest = 5
