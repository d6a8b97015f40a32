import { errorAnswer } from '../core/refusal.js'
import { stdioExchange, type Exchange } from '../core/event.js'
import { edit } from '../protocol/edit.js'
import type { Frame, FrameLimits } from '../protocol/frame.js'
import { errorCode, type Request } from '../protocol/json-rpc.js'
import { listMethods } from '../protocol/revisions/index.js'
import { parseFrame } from '../protocol/parse.js'
import type { Transport, TransportEvent } from '../transport/transport.js'
import type { Saved } from './saved.js'

/** A server that says what another one said before, word for word, so that it is judged as that one was. */
export class SavedServer implements Transport {
  readonly #saved: Saved
  readonly #limits: FrameLimits
  /** How many answers it has given, by method. */
  readonly #given = new Map<string, number>()
  #hear: (event: TransportEvent) => void = () => {}

  constructor(saved: Saved, limits: FrameLimits) {
    this.#saved = saved
    this.#limits = limits
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
  }

  send(_exchange: Exchange, { message }: Frame): boolean {
    if (message.kind === 'request') {
      const frame = this.#answer(message)
      // As a pipe does it: never before the sender has gone on.
      setImmediate(() => this.#hear({ type: 'frame', exchange: stdioExchange, frame }))
    }
    return true
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    this.#hear({ type: 'ended', reason: 'the connection was closed' })
    this.#hear = () => {}
    return Promise.resolve()
  }

  #answer(request: Request): Frame {
    const { method, key } = request
    const pages = this.#saved.answers.get(method)
    if (pages === undefined) {
      const isList = listMethods.has(method)
      return isList
        ? errorAnswer(request, errorCode.gone, 'the file does not have this list')
        : errorAnswer(request, errorCode.methodNotFound, 'Method not found')
    }
    const given = this.#given.get(method) ?? 0
    this.#given.set(method, given + 1)
    const page = pages[given]
    return page === undefined
      ? errorAnswer(request, errorCode.gone, 'the file ends before the last page')
      : parseFrame(edit(page.bytes, [{ path: ['id'], replace: key }]), this.#limits)
  }
}
