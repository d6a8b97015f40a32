import { membersOf } from '#relay/protocol/message.js'
import type { Side } from '#relay/core/vocabulary.js'
import { CustomsError } from '#relay/base/errors.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  isList, isRecord, isString, field, unmetered, type Data, type DataObject,
} from '#relay/protocol/unmetered.js'
import { isOpening, type CaptureLine } from './line.js'
import { restoredFrame } from './captured-frame.js'

/** A tool that a server lists, or a server's response to a call of a tool. */
type Heard =
  | { readonly kind: 'declared'; readonly tool: string; readonly hasOutputSchema: boolean }
  | { readonly kind: 'answered'; readonly tool: string; readonly result: DataObject }

/** Requests without a response that are remembered. */
const maxPending = 10_000

/** Pairs the responses of one session with its calls. */
export class CapturedCalls {
  /** The tool of each pending call by the request's id; without a session, also by its exchange. */
  readonly #pending = new Map<string, string>()

  constructor(private readonly stateless: boolean) {}

  onFrame(from: Side, exchange: string, frame: Frame): readonly Heard[] {
    return membersOf(frame).flatMap(one => this.#read(from, exchange, one))
  }

  #read(from: Side, exchange: string, { message }: Frame): readonly Heard[] {
    if (!('id' in message)) return []
    const key = this.stateless ? `${exchange} ${message.key}` : message.key
    if (from === 'client') {
      const isCall = message.kind === 'request' && message.method === 'tools/call'
      const name = isCall ? field(message.params && unmetered(message.params), 'name') : undefined
      if (isString(name)) this.#onCall(key, name)
      return []
    }
    const tool = this.#pending.get(key)
    if (message.kind === 'request') return []
    this.#pending.delete(key)
    if (message.kind === 'error') return []
    const result = unmetered(message.result)
    if (tool === undefined) return declared(field(result, 'tools'))
    return isFinal(result) ? [{ kind: 'answered', tool, result }] : []
  }

  #onCall(key: string, tool: string): void {
    this.#pending.set(key, tool)
    const [oldest] = this.#pending.keys()
    if (this.#pending.size > maxPending && oldest !== undefined) this.#pending.delete(oldest)
  }
}

/** Wide limits, because captured messages have already passed the limits of their session. */
const limits = { messageBytes: Infinity, depth: 1000 }

/**
 * All tools that are listed in captures, and all results of calls, as the server sent them.
 * @throws CustomsError BAD_USAGE for a redacted capture: its texts are lengths
 */
export function* heardIn(lines: Iterable<CaptureLine>): Generator<Heard & { readonly server: string }> {
  const sessions = new Map<string, { readonly server: string; readonly calls: CapturedCalls }>()
  for (const line of lines) {
    if (isOpening(line)) {
      if (line.payloads !== 'full') {
        throw new CustomsError('BAD_USAGE', 'the capture has lengths in the place of texts: capture again with ' +
          '`audit: { payloads: full }` in the configuration')
      }
      sessions.set(line.session, { server: line.server, calls: new CapturedCalls(line.stateless) })
      continue
    }
    const session = sessions.get(line.session)
    const { event } = line
    if (event.type === 'session-ended') sessions.delete(line.session)
    if (session === undefined || event.type !== 'frame-received') continue
    const frame = restoredFrame(event.frame, limits)
    for (const heard of session.calls.onFrame(event.from, event.exchange, frame)) yield {
      ...heard, server: session.server,
    }
  }
}

const declared = (tools: Data | undefined): readonly Heard[] =>
  (isList(tools) ? tools : []).flatMap((tool): Heard[] => {
    const name = isRecord(tool) ? field(tool, 'name') : undefined
    if (!isRecord(tool) || !isString(name)) return []
    return [{ kind: 'declared', tool: name, hasOutputSchema: field(tool, 'outputSchema') !== undefined }]
  })

/** False for a task that has only begun, and for a request of input from the client. */
const isFinal = (result: DataObject): boolean =>
  field(result, 'task') === undefined && field(result, 'resultType') !== 'input_required'
