import { stdioExchange, type Exchange } from '../../core/event.js'
import { CustomsError } from '../../errors.js'
import type { Frame, FrameLimits } from '../../protocol/frame.js'
import { requestKeys } from '../frames.js'
import { Stopper } from '../process/group.js'
import {
  describeExit, spawnGroup, startFailure, type CommandLine, type ServerChild,
} from '../process/spawn.js'
import type { Exit, Transport, TransportEvent } from '../transport.js'
import { FrameReader, LineWriter } from './lines.js'

export interface StdioServerOptions extends CommandLine {
  readonly limits: FrameLimits
  /** `inherit`: the server writes to our stderr itself. A function hears what it writes. */
  readonly stderr?: 'inherit' | 'ignore' | ((chunk: Buffer) => void)
  /**
   * How long the server has to end once its stdin is closed, and again after SIGTERM, in milliseconds. The official clients
   * kill us 4 s after they closed our stdin: twice this must be less, or a stubborn server outlives us.
   */
  readonly stopMs?: number
  /** Told why the server is gone, when nobody had asked it to end; or why there never was one. */
  readonly died?: (reason: string) => void
}

export interface StdioServer extends Transport {
  /** How the process ended; undefined while it runs, and when it could not be started. */
  readonly exit: Exit | undefined
  /** Why there never was a process (`CANNOT_START`). */
  readonly failure: CustomsError | undefined
  /**
   * Closes the server's stdin, gives it time, then SIGTERM, then SIGKILL, to it and all that it started.
   * Frames are heard, and `ended` is, until it resolves.
   * @param urgency 2 terminates at once, 3 kills
   */
  close(urgency?: number): Promise<void>
}

/**
 * How long the rest is waited for when the process has exited and something that it started holds its stdout, or when
 * its stdout is closed and it lives on.
 */
const lingerMs = 500

/** Faces an MCP server that is a process of ours. */
export const stdioServer = (options: StdioServerOptions): StdioServer => new ServerProcess(options)

class ServerProcess implements StdioServer {
  readonly #options: StdioServerOptions
  readonly #reader: FrameReader
  #writer: LineWriter | undefined
  #stopper: Stopper | undefined
  #hear: ((event: TransportEvent) => void) | undefined
  /** Its stdout has come to its end. */
  #silent = false
  #linger: NodeJS.Timeout | undefined
  #ended = false
  #tellEnded = () => {}
  readonly #whenEnded = new Promise<void>(resolve => (this.#tellEnded = resolve))
  /** Of the end that was asked for; 0: none was. */
  #urgency = 0
  exit: Exit | undefined
  failure: CustomsError | undefined

  constructor(options: StdioServerOptions) {
    this.#options = options
    this.#reader = new FrameReader(options.limits, frame => this.#tell({ type: 'frame', exchange: stdioExchange, frame }), () => {
      this.#silent = true
      this.#settle()
    })
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
    try {
      const { stderr = 'inherit' } = this.#options
      const child = spawnGroup(this.#options, typeof stderr === 'string' ? stderr : 'pipe')
      if (typeof stderr !== 'string') child.stderr?.on('data', stderr)
      this.#attach(child)
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error))
      process.nextTick(() => this.#fail(cause))
    }
  }

  #attach(child: ServerChild): void {
    child.on('error', error => {
      // Anything later is a signal that did not arrive.
      if (child.pid === undefined) this.#fail(error)
    })
    child.on('exit', (code, signal) => {
      this.exit = { code, signal }
      this.#settle()
    })
    if (child.pid !== undefined) this.#stopper = new Stopper(child, this.#options.stopMs ?? 1500)
    this.#writer = new LineWriter(child.stdin, () => this.#tell({ type: 'drained', exchange: stdioExchange }))
    this.#reader.start(child.stdout)
  }

  send(exchange: Exchange, frame: Frame): boolean {
    const lost = () => {
      for (const key of requestKeys(frame)) {
        this.#tell({ type: 'lost', exchange, key, reason: 'the server does not read any more' })
      }
    }
    if (this.#writer !== undefined) return this.#writer.write(frame.bytes, lost)
    process.nextTick(lost)
    return true
  }

  pause(): void {
    this.#reader.pause()
    this.#settle()
  }

  resume(): void {
    this.#reader.resume()
    this.#settle()
  }

  async close(urgency = 1): Promise<void> {
    this.#urgency = Math.max(this.#urgency, urgency)
    this.#settle()
    this.#writer?.handOver()
    if (this.#stopper !== undefined) {
      await this.#stopper.stop(this.#urgency)
      // Nothing more can be done about a process that outlives SIGKILL.
      if (this.exit === undefined) this.#finish('the server does not end')
    }
    if (this.#hear !== undefined) await this.#whenEnded
  }

  /** Whether it is time to say that the server is gone: its exit and the end of its stdout come in either order. */
  #settle(): void {
    const { exit } = this
    if (exit === undefined && !this.#silent) return
    if (exit !== undefined && this.#silent) return this.#finish(describeExit(exit))
    clearTimeout(this.#linger)
    // Held up by a slow client: what the server said last is still in the pipe.
    if (!this.#silent && this.#reader.paused && this.#urgency === 0) return
    const finish = () => this.#finish(exit === undefined ? 'the server closed its stdout' : describeExit(exit))
    // A timer that fires late fires before the pipe is read: the turn of the loop in between takes what is there.
    this.#linger = setTimeout(() => setImmediate(finish), lingerMs)
  }

  #fail(error: Error): void {
    this.failure = new CustomsError('CANNOT_START', startFailure(this.#options, error), { cause: error })
    this.#finish(this.failure.message)
  }

  #finish(reason: string): void {
    clearTimeout(this.#linger)
    if (this.#ended) return
    this.#reader.close()
    if (this.#urgency === 0) this.#options.died?.(reason)
    this.#tell({ type: 'ended', reason, ...(this.exit === undefined ? {} : { exit: this.exit }) })
    this.#ended = true
    this.#tellEnded()
    // What the server started, or the server itself when only its stdout is closed, is not left behind.
    void this.#stopper?.stop(1)
  }

  #tell(event: TransportEvent): void {
    if (!this.#ended) this.#hear?.(event)
  }
}
