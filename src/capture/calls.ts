import { membersOf } from '../core/queue.js'
import type { Side } from '../core/event.js'
import type { Frame } from '../protocol/frame.js'
import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import { isOpening, type Line } from './line.js'
import { revived } from './noted-frame.js'

/** What a server said of its tools, or answered to a call of one. */
export type Told =
  | { readonly kind: 'declared'; readonly server: string; readonly tool: string; readonly hasOutputSchema: boolean }
  | { readonly kind: 'answered'; readonly server: string; readonly tool: string; readonly result: JsonObject }

interface Session {
  readonly server: string
  readonly stateless: boolean
  /** The tool that was called, or undefined for another request, by exchange and id. */
  readonly asked: Map<string, string>
}

/** Captured messages were within their limits when they arrived. */
const limits = { messageBytes: Infinity, depth: 1000 }

/** Every tool that is listed in captures, and every result of a call, as the server sent it. */
export function* toldIn(lines: Iterable<Line>): Generator<Told> {
  const sessions = new Map<string, Session>()
  for (const line of lines) {
    if (isOpening(line)) {
      sessions.set(line.session, { server: line.server, stateless: line.stateless, asked: new Map() })
      continue
    }
    const session = sessions.get(line.session)
    const { event } = line
    if (event.type === 'session-ended') sessions.delete(line.session)
    if (session === undefined || event.type !== 'frame-received') continue
    for (const one of membersOf(revived(event.frame, limits))) yield* read(session, event.from, event.exchange, one)
  }
}

function* read({ server, stateless, asked }: Session, from: Side, exchange: string, { message }: Frame): Generator<Told> {
  if (!('key' in message) || message.kind === 'page') return
  const key = stateless ? `${exchange} ${message.key}` : message.key
  if (from === 'client' && message.kind === 'request') {
    const name = member(message.params, 'name')
    asked.set(key, message.method === 'tools/call' && isString(name) ? name : '')
  }
  if (from !== 'server' || (message.kind !== 'result' && message.kind !== 'error')) return
  const tool = asked.get(key)
  asked.delete(key)
  if (message.kind === 'error') return
  const { result } = message
  // Lists of the relay's own have ids that the client never used.
  yield* declared(server, member(result, 'tools'))
  if (tool !== undefined && tool !== '' && isFinal(result)) yield { kind: 'answered', server, tool, result }
}

function* declared(server: string, tools: Json | undefined): Generator<Told> {
  for (const tool of isArray(tools) ? tools : []) {
    const name = isObject(tool) ? member(tool, 'name') : undefined
    if (isObject(tool) && isString(name)) yield { kind: 'declared', server, tool: name, hasOutputSchema: member(tool, 'outputSchema') !== undefined }
  }
}

/** Neither a task that has only begun, nor a question of the server's. */
const isFinal = (result: JsonObject): boolean => member(result, 'task') === undefined && member(result, 'resultType') !== 'input_required'
