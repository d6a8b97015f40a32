import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { defaultLimits } from '#relay/config/configuration.js'
import type { Frame } from '#relay/protocol/frame.js'
import { unmetered, type DataObject } from '#relay/protocol/unmetered.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'

type Id = string | number

/** What a server answers: the result or the error; nothing for no answer. */
export type Reply = { readonly result: object } | { readonly error: object } | undefined

/** A server in this process, by what it answers to each method; what is not here is answered as usual. */
export interface Quirk {
  readonly [method: string]: (params: DataObject, server: QuirkServer, id: Id) => Reply
}

export const result = (value: object): Reply => ({ result: value })
export const error = (code: number, message: string, data?: object): Reply =>
  ({ error: { code, message, ...(data && { data }) } })

export const tool = (name: string, more: object = {}): object =>
  ({ name, description: 'A tool.', inputSchema: { type: 'object' }, ...more })

export const initialized =
  { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'quirky', version: '1' } }
export const discovered = {
  supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, resultType: 'complete', ttlMs: 0,
  cacheScope: 'public',
}

const usual: Quirk = {
  'server/discover': () => error(-32601, 'Method not found'),
  initialize: () => result(initialized),
  'tools/list': () => result({ tools: [tool('echo', { outputSchema: { type: 'object' } })] }),
  'tools/call': ({ arguments: given }) => {
    const structuredContent = given as object
    return result({ content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent })
  },
}

/** One connection to a server with a quirk. */
export class QuirkServer implements Transport {
  /** Every method that it was asked, on this connection. */
  readonly asked: string[] = []
  /** What the client answered to it. */
  readonly answers: unknown[] = []
  closed = false
  readonly #quirk: Quirk
  #hear: (event: TransportEvent) => void = () => {}

  constructor(quirk: Quirk) {
    this.#quirk = quirk
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
  }

  send(_exchange: Exchange, { message }: Frame): boolean {
    if (message.kind === 'result') this.answers.push(message.result)
    if (message.kind === 'error') this.answers.push(message.error)
    if (message.kind !== 'request') return true
    const { id, method, params = {} } = message
    this.asked.push(method)
    // As a pipe does it: never before the sender has gone on.
    setImmediate(() => {
      const reply = (this.#quirk[method] ?? usual[method])?.(unmetered(params), this, id)
      if (reply !== undefined) this.say(id, reply)
    })
    return true
  }

  say(id: Id, reply: object): void {
    this.write(JSON.stringify({ jsonrpc: '2.0', id, ...reply }))
  }

  write(line: string): void {
    if (!this.closed) {
      this.#hear({
        type: 'frame', exchange: stdioExchange, frame: parseFrame(Buffer.from(line), defaultLimits),
      })
    }
  }

  /** As a process that exits. */
  end(reason = 'the server exited with code 0'): undefined {
    if (this.closed) return
    this.closed = true
    this.#hear({ type: 'ended', reason })
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    this.end('the server exited with code 0')
    return Promise.resolve()
  }
}
