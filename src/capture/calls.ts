import { membersOf } from '../core/relay.js'
import type { Side } from '../core/event.js'
import type { Frame } from '../protocol/frame.js'
import { isArray, isObject, isString, member, unmetered, type Json, type JsonObject } from '../protocol/unmetered.js'
import { isOpening, type Line } from './line.js'
import { revived } from './noted-frame.js'

/** What a server said of its tools, or answered to a call of one. */
export type Told =
  | { readonly kind: 'declared'; readonly tool: string; readonly hasOutputSchema: boolean }
  | { readonly kind: 'answered'; readonly tool: string; readonly result: JsonObject }

/** So many requests without an answer are remembered. */
const mostAsked = 10_000

/** The calls of one session, as they are answered. */
export class Calls {
  readonly #stateless: boolean
  /** The tool that was called, by the request's id; without a session each exchange has ids of its own. */
  readonly #asked = new Map<string, string>()

  constructor(stateless: boolean) {
    this.#stateless = stateless
  }

  heard(from: Side, exchange: string, frame: Frame): readonly Told[] {
    return membersOf(frame).flatMap(one => this.#read(from, exchange, one))
  }

  #read(from: Side, exchange: string, { message }: Frame): readonly Told[] {
    if (!('id' in message)) return []
    const key = this.#stateless ? `${exchange} ${message.key}` : message.key
    if (from === 'client') {
      const name = message.kind === 'request' && message.method === 'tools/call' ? member(message.params && unmetered(message.params), 'name') : undefined
      if (isString(name)) this.#ask(key, name)
      return []
    }
    const tool = this.#asked.get(key)
    if (message.kind === 'request') return []
    this.#asked.delete(key)
    if (message.kind === 'error') return []
    const result = unmetered(message.result)
    if (tool === undefined) return declared(member(result, 'tools'))
    return isFinal(result) ? [{ kind: 'answered', tool, result }] : []
  }

  #ask(key: string, tool: string): void {
    this.#asked.set(key, tool)
    const [oldest] = this.#asked.keys()
    if (this.#asked.size > mostAsked && oldest !== undefined) this.#asked.delete(oldest)
  }
}

/** Captured messages were within their limits when they arrived. */
const limits = { messageBytes: Infinity, depth: 1000 }

/** Every tool that is listed in captures, and every result of a call, as the server sent it. */
export function* toldIn(lines: Iterable<Line>): Generator<Told & { readonly server: string }> {
  const sessions = new Map<string, { readonly server: string; readonly calls: Calls }>()
  for (const line of lines) {
    if (isOpening(line)) {
      sessions.set(line.session, { server: line.server, calls: new Calls(line.stateless) })
      continue
    }
    const session = sessions.get(line.session)
    const { event } = line
    if (event.type === 'session-ended') sessions.delete(line.session)
    if (session === undefined || event.type !== 'frame-received') continue
    for (const told of session.calls.heard(event.from, event.exchange, revived(event.frame, limits))) yield { ...told, server: session.server }
  }
}

const declared = (tools: Json | undefined): readonly Told[] =>
  (isArray(tools) ? tools : []).flatMap((tool): Told[] => {
    const name = isObject(tool) ? member(tool, 'name') : undefined
    return isObject(tool) && isString(name) ? [{ kind: 'declared', tool: name, hasOutputSchema: member(tool, 'outputSchema') !== undefined }] : []
  })

/** Neither a task that has only begun, nor a question of the server's. */
const isFinal = (result: JsonObject): boolean => member(result, 'task') === undefined && member(result, 'resultType') !== 'input_required'
