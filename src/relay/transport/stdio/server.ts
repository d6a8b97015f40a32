import type { Exchange } from '#relay/core/vocabulary.js'
import type { Readable } from 'node:stream'
import { stdioExchange } from '#relay/core/event.js'
import { asError, CustomsError } from '#relay/base/errors.js'
import { serverStopMs } from '#relay/base/platform/programs.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import { requestKeys } from '../frames.js'
import { Stopper } from '../process/group.js'
import {
  describeExit, spawnGroup, startFailure, type CommandLine, type ServerChild,
} from '../process/spawn.js'
import type { Exit, Expected, Transport, TransportEvent } from '../transport.js'
import { machine } from '../machine.js'
import { realTimers } from '../timers.js'
import { FrameReader } from './reader.js'
import { LineWriter } from './writer.js'

export interface StdioServerOptions extends CommandLine {
  readonly limits: FrameLimits
  /** `inherit`: the server shares the stderr of this process. A function gets the stream, to read it. */
  readonly stderr?: 'inherit' | 'ignore' | ((stream: Readable) => void)
  /**
   * How long the server may take to end after its stdin is closed, and again after SIGTERM, in milliseconds;
   * `serverStopMs` when absent.
   */
  readonly stopMs?: number
  /** Called when the server ended without `close`, or could not be started. */
  readonly died?: (reason: string) => void
  /** Gets what the operator should know of a server that runs. */
  readonly warn?: ((message: string) => void) | undefined
}

export interface StdioServer extends Transport {
  /** How the process ended; undefined while it runs, and when it could not be started. */
  readonly exit: Exit | undefined
  /** Why the process could not be started (`CANNOT_START`). */
  readonly failure: CustomsError | undefined
  /**
   * Closes the server's stdin, then sends SIGTERM, then SIGKILL, to it and all that it started. Until it
   * resolves, frames and `ended` are still reported.
   * @param urgency 2 terminates at once, 3 kills
   */
  close(urgency?: number): Promise<void>
}

/**
 * Wait for the other of two ends, in milliseconds: the process has exited but a child of its holds its stdout
 * open, or its stdout is closed but the process runs on.
 */
const lingerMs = 500

const byLength =
  'the server frames its messages by Content-Length, as language servers do; in MCP each message is a line ' +
  'of stdout. Its messages are read all the same. If it answers nothing, it waits for such a head itself: ' +
  'look for an option of the server (often called stdio framing or newline), or tell its author'

const noisy =
  'the server writes noise to stdout, where only messages belong. It concerns no request and is on record; ' +
  'logs belong on stderr'

/** Faces an MCP server that is a child process. */
export const stdioServer = (options: StdioServerOptions): StdioServer => new ServerProcess(options)

class ServerProcess implements StdioServer {
  readonly #reader: FrameReader
  #writer: LineWriter | undefined
  #stopper: Stopper | undefined
  #onEvent: ((event: TransportEvent) => void) | undefined
  #expected: Expected | undefined
  /** The server's stdout is closed. */
  #isStdoutClosed = false
  /** False while its stderr is read and has not ended. */
  #isStderrRead = true
  /** The stream has turned out to be framed by Content-Length, and no message has come since. */
  #isByLength = false
  /** It has written something else than messages to its stdout. */
  #isNoisy = false
  #linger: (() => void) | undefined
  #ended = false
  #resolveEnded = () => {}
  readonly #whenEnded = new Promise<void>(resolve => (this.#resolveEnded = resolve))
  /** The greatest urgency of `close`; 0 before it. */
  #urgency = 0
  exit: Exit | undefined
  failure: CustomsError | undefined

  constructor(private readonly options: StdioServerOptions) {
    this.#reader = new FrameReader(
      { ...options.limits, expected: (key, length) => this.#expected?.(stdioExchange, key, length) },
      frame => this.#received(frame),
      () => {
        this.#isStdoutClosed = true
        this.#endIfOver()
      },
      () => {
        options.warn?.(byLength)
        this.#isByLength = true
      },
    )
  }

  start(onEvent: (event: TransportEvent) => void, expected?: Expected): void {
    this.#onEvent = onEvent
    this.#expected = expected
    try {
      const { stderr = 'inherit' } = this.options
      const child = (machine.spawnGroup ?? spawnGroup)(this.options, typeof stderr === 'string' ? stderr : 'pipe')
      if (typeof stderr !== 'string' && child.stderr) this.#read(child.stderr, stderr)
      this.#attach(child)
    } catch (error) {
      const cause = asError(error)
      process.nextTick(() => this.#fail(cause))
    }
  }

  #received(frame: Frame): void {
    const { message, faults } = frame
    const isText = message.kind === 'unusable' && message.keys.length === 0 && faults[0]?.kind === 'json'
    if (isText && !this.#isNoisy) {
      this.#isNoisy = true
      this.options.warn?.(noisy)
    }
    if (!this.#isByLength) return this.#report({ type: 'frame', exchange: stdioExchange, frame })
    // On record once, with the first message.
    this.#isByLength = false
    const fault = { kind: 'json', path: '', message: 'is framed by Content-Length', isMinor: true } as const
    const marked = { ...frame, faults: [...faults, fault] }
    this.#report({ type: 'frame', exchange: stdioExchange, frame: marked })
  }

  #read(stream: Readable, reader: (stream: Readable) => void): void {
    this.#isStderrRead = false
    reader(stream)
    stream.on('close', () => {
      this.#isStderrRead = true
      this.#endIfOver()
    })
  }

  #attach(child: ServerChild): void {
    child.on('error', error => {
      // Later errors are signals that could not be sent.
      if (child.pid === undefined) this.#fail(error)
    })
    child.on('exit', (code, signal) => {
      this.exit = { code, signal }
      this.#endIfOver()
    })
    if (child.pid !== undefined) this.#stopper = new Stopper(child, this.options.stopMs ?? serverStopMs())
    this.#writer = new LineWriter(
      child.stdin, () => this.#report({ type: 'drained', exchange: stdioExchange }),
    )
    this.#reader.start(child.stdout)
  }

  send(exchange: Exchange, frame: Frame): boolean {
    const lost = () => {
      for (const key of requestKeys(frame)) {
        this.#report({ type: 'lost', exchange, key, reason: 'the server does not read any more' })
      }
    }
    if (this.#writer !== undefined) return this.#writer.write(frame.bytes, lost)
    process.nextTick(lost)
    return true
  }

  pause(): void {
    this.#reader.pause()
    this.#endIfOver()
  }

  resume(): void {
    this.#reader.resume()
    this.#endIfOver()
  }

  async close(urgency = 1): Promise<void> {
    this.#urgency = Math.max(this.#urgency, urgency)
    this.#endIfOver()
    this.#writer?.handOver()
    if (this.#stopper !== undefined) {
      await this.#stopper.stop(this.#urgency)
      // The process has outlived SIGKILL.
      if (this.exit === undefined) this.#finish('the server does not end')
    }
    if (this.#onEvent !== undefined) await this.#whenEnded
  }

  /** Reports the end after the exit and the end of stdout, which come in either order. */
  #endIfOver(): void {
    const { exit } = this
    if (exit === undefined && !this.#isStdoutClosed) return
    const isRead = this.#isStderrRead || this.#urgency > 0
    if (exit !== undefined && this.#isStdoutClosed && isRead) return this.#finish(describeExit(exit))
    this.#linger?.()
    // Backpressure of a slow client: the last frames are still in the pipe.
    if (!this.#isStdoutClosed && this.#reader.paused && this.#urgency === 0) return
    const reason = exit === undefined ? 'the server closed its stdout' : describeExit(exit)
    const finish = () => this.#finish(reason)
    // A late timer fires before the pipe is read: `setImmediate` lets the last frames in.
    this.#linger = realTimers.after(lingerMs, () => setImmediate(finish))
  }

  #fail(error: Error): void {
    this.failure = new CustomsError('CANNOT_START', startFailure(this.options, error), { cause: error })
    this.#finish(this.failure.message)
  }

  #finish(reason: string): void {
    this.#linger?.()
    if (this.#ended) return
    this.#reader.close()
    if (this.#urgency === 0) this.options.died?.(reason)
    this.#report({ type: 'ended', reason, ...(this.exit === undefined ? {} : { exit: this.exit }) })
    this.#ended = true
    this.#resolveEnded()
    // Ends processes that the server has left, or the server itself when only its stdout is closed.
    void this.#stopper?.stop(1)
  }

  #report(event: TransportEvent): void {
    if (!this.#ended) this.#onEvent?.(event)
  }
}
