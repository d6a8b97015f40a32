import { once } from 'node:events'
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { EndpointsOptions } from '#relay/transport/front/endpoints.js'
import {
  Endpoints, HttpFront, type EndpointsSettings, type FrontSettings, type HttpFrontOptions, type NewSession,
} from '#relay/transport/front/front.js'
import { opening } from '#relay/transport/sse/event.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { Frame } from '#relay/protocol/frame.js'
import { waiter } from '../listen.js'

export const limits = { messageBytes: 1024, depth: 32 }

/** A session as the gateway sees it: what was opened, and what it told, in order. */
export class Opened {
  readonly told: TransportEvent[] = []
  readonly #waiter = waiter()
  #read = 0

  constructor(readonly opening: NewSession) {}

  get transport() {
    return this.opening.transport
  }

  tell(event: TransportEvent): void {
    this.told.push(event)
    this.#waiter.wake()
  }

  /** The next event that was not returned before. */
  next(): Promise<TransportEvent> {
    const index = this.#read++
    return this.#waiter.until(() => this.told[index])
  }

  async until<Type extends TransportEvent['type']>(type: Type): Promise<Extract<TransportEvent,
    { type: Type }>> {
    for (;;) {
      const event = await this.next()
      if (isOf(event, type)) return event
    }
  }
}

const isOf = <Type extends TransportEvent['type']>(
  event: TransportEvent,
  type: Type,
): event is Extract<TransportEvent, { type: Type }> => event.type === type

export interface Started {
  readonly front: TestFront
  readonly url: string
  readonly port: number
  readonly sessions: Opened[]
  readonly refused: number[]
  /** The session that was opened as the `index`th. */
  readonly session: (index: number) => Promise<Opened>
}

type Settings = FrontSettings & EndpointsSettings

/** A front and the endpoints behind it, in one process. */
export interface TestFront extends Pick<HttpFront, 'listen' | 'close'> {
  readonly offer: Endpoints['offer']
  readonly reload: (settings: Settings) => void
}

/** Where the front asks for tokens, the Authorization header is its own. */
const withAuthorization = <Of extends Pick<Settings, 'tokens'>>(settings: Of): Of & Pick<Settings, 'ownAuthorization'> =>
  ({ ...settings, ownAuthorization: (settings.tokens ?? []).length > 0 })

export const frontWith = (options: Omit<HttpFrontOptions, 'backend'> & EndpointsOptions): TestFront => {
  const endpoints = new Endpoints(withAuthorization(options))
  const front = new HttpFront({ ...options, backend: endpoints })
  return {
    listen: () => front.listen(),
    close: graceMs => front.close(graceMs),
    offer: offered => endpoints.offer(offered),
    reload: settings => {
      endpoints.reload(withAuthorization(settings))
      front.reload(settings)
    },
  }
}

export interface StartOptions extends Partial<Omit<HttpFrontOptions, 'backend'> & EndpointsOptions> {
  readonly server?: 'stdio' | 'http'
  /** Called with every event of every session, besides its being collected. */
  readonly act?: (event: TransportEvent, opened: Opened) => void
  /** A session that has ended is closed at once (true). */
  readonly closes?: boolean
}

/** A front with one endpoint at `/mcp`, whose sessions are at hand. */
export const start = async (
  t: Test, { server = 'stdio', act, closes = true, ...options }: StartOptions = {},
): Promise<Started> => {
  const sessions: Opened[] = []
  const { wake, until } = waiter()
  const refused: number[] = []
  const open = (opening: NewSession) => {
    const opened = new Opened(opening)
    sessions.push(opened)
    opening.transport.start(event => {
      opened.tell(event)
      act?.(event, opened)
      if (event.type === 'ended' && closes) void opening.transport.close()
    })
    wake()
  }
  const front = frontWith({
    address: { host: '127.0.0.1', port: 0 },
    limits,
    endpoints: new Map([['/mcp', { server, open }]]),
    refused: ({ status }) => refused.push(status),
    ...options,
  })
  const url = await front.listen()
  t.teardown(() => front.close(0))
  return {
    front,
    url,
    port: Number(new URL(url).port),
    sessions,
    refused,
    session: index => until(() => sessions[index]),
  }
}

export interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
}

export interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export const post = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

/** A response whose head has come. */
export const begin =
  (port: number, { method = 'POST', path = '/mcp', headers = post, body }: Ask): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const request = httpRequest(
        { host: '127.0.0.1', port, method, path, headers: {
          ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        }, agent: false },
        response => {
          response.on('error', () => {})
          resolve(response)
        },
      )
      request.on('error', reject)
      request.end(body)
    })

export const textOf = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of response) if (Buffer.isBuffer(chunk)) chunks.push(chunk)
  return Buffer.concat(chunks).toString().replace(opening, '')
}

export const ask = async (port: number, what: Ask): Promise<Got> => {
  const response = await begin(port, what)
  const body = await textOf(response)
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

/** Reads a stream piece by piece. */
export class Reader {
  #text = ''
  readonly #wake: (() => void)[] = []
  ended = false

  constructor(source: IncomingMessage | Socket) {
    source.on('data', (chunk: Buffer) => {
      this.#text = (this.#text + chunk.toString()).replace(opening, '')
      this.#woken()
    })
    const end = () => {
      this.ended = true
      this.#woken()
    }
    source.on('end', end).on('close', end).on('error', end)
  }

  /** Consumes everything up to and including this text, or everything, when the stream ends before it. */
  async to(text: string): Promise<string> {
    for (;;) {
      const at = this.#text.indexOf(text)
      if (at >= 0 || this.ended) {
        const end = at >= 0 ? at + text.length : this.#text.length
        const taken = this.#text.slice(0, end)
        this.#text = this.#text.slice(end)
        return taken
      }
      await new Promise<void>(resolve => this.#wake.push(resolve))
    }
  }

  async rest(): Promise<string> {
    while (!this.ended) await new Promise<void>(resolve => this.#wake.push(resolve))
    const rest = this.#text
    this.#text = ''
    return rest
  }

  #woken(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

/** Bytes over a bare connection. */
export const dial = async (t: Test, port: number): Promise<{ socket: Socket; reader: Reader }> => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  t.teardown(() => {
    socket.destroy()
  })
  await once(socket, 'connect')
  return { socket, reader: new Reader(socket) }
}

export const frameOf = (text: string): Frame =>
  parseFrame(Buffer.from(text), { messageBytes: 1 << 24, depth: 64 })

export const initialize = (id: string | number = 1): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

export const result = (key: string, value = '{}'): Frame =>
  frameOf(`{"jsonrpc":"2.0","id":${key},"result":${value}}`)

/** Answers every request with what it was, and what it cannot read as the relay would. */
export const echo = (event: TransportEvent, { transport }: Opened): void => {
  if (event.type !== 'frame') return
  const { message } = event.frame
  if (message.kind === 'unusable' && message.keys[0] !== undefined) {
    transport.send(
      event.exchange,
      frameOf(`{"jsonrpc":"2.0","id":${message.keys[0]},"error":{"code":-31000,"message":"Blocked"}}`),
    )
  }
  if (message.kind !== 'request') return
  transport.send(
    event.exchange,
    result(message.key, JSON.stringify({ method: message.method, params: message.params ?? null })),
  )
}

/** Begins a session of our own. @returns its id */
export const handshake = async (port: number): Promise<string> => {
  const { headers } = await ask(port, { body: initialize() })
  const id = headers['mcp-session-id']
  return typeof id === 'string' ? id : ''
}

/**
 * A raw POST of JSON: its head, and what is sent of its body.
 * @param headers further lines, each with its CRLF
 */
export const rawPost = (body: string, headers = `content-length: ${Buffer.byteLength(body)}\r\n`): string =>
  `POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${headers}\r\n${body}`
