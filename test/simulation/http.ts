import type { Server } from 'node:http'
import type { End } from './pipe.js'
import type { World } from './world.js'

export interface HttpQuestion {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** One HTTP request of a client on a connection of its own, and the response as it arrives. */
export class HttpAsk {
  status: number | undefined
  readonly headers = new Map<string, string>()
  readonly near: End
  readonly #onMessage: (text: string) => void
  #bytes: Buffer = Buffer.alloc(0)
  #text = ''
  #stage: 'head' | 'body' | 'over' = 'head'
  #left = 0
  #isChunked = false
  /** The session that the request names. */
  readonly session: string | undefined
  /** The client has closed the connection. */
  hasLeft = false
  /** The response has ended before its end. */
  isCut = false
  /** The last event id. */
  lastId: string | undefined

  constructor(
    world: World, server: Server, name: string, question: HttpQuestion, address: string,
    onMessage: (text: string) => void,
  ) {
    this.#onMessage = onMessage
    const { method, path, headers, body } = question
    this.session = headers['mcp-session-id']
    const [near, far] = world.connect(name, [world.main, 'client out'], [world.main, 'client in'], address)
    this.near = near
    near.on('data', (chunk: Buffer) => this.#read(chunk))
    near.on('end', () => this.#ended())
    near.on('close', () => this.#ended())
    server.emit('connection', far)
    const bytes = body === undefined ? undefined : Buffer.from(body)
    const lines = Object.entries({ host: 'localhost', ...headers, ...(bytes && { 'content-length': bytes.length }) })
      .map(([header, value]) => `${header}: ${value}\r\n`)
    near.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    if (bytes) near.write(bytes)
  }

  get isOver(): boolean {
    return this.#stage === 'over'
  }

  get isStream(): boolean {
    return this.headers.get('content-type')?.startsWith('text/event-stream') === true
  }

  /** The client goes away. */
  leave(): void {
    this.hasLeft = true
    this.#bytes = Buffer.alloc(0)
    this.#stage = 'over'
    this.near.destroy()
  }

  #ended(): void {
    if (this.#stage === 'over') return
    this.isCut = true
    this.#over()
  }

  #over(): void {
    this.#stage = 'over'
    this.#bytes = Buffer.alloc(0)
    if (!this.isStream && this.#text !== '' && !this.isCut) this.#onMessage(this.#text)
    this.near.destroy()
  }

  #read(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    if (this.#stage === 'head') this.#readHead()
    if (this.#stage === 'body') this.#readBody()
  }

  #readHead(): void {
    const end = this.#bytes.indexOf('\r\n\r\n')
    if (end < 0) return
    const [first = '', ...lines] = this.#bytes.toString('latin1', 0, end).split('\r\n')
    this.#bytes = this.#bytes.subarray(end + 4)
    const status = Number(first.split(' ')[1])
    if (status === 100) return this.#readHead()
    this.status = status
    for (const line of lines) {
      const at = line.indexOf(':')
      this.headers.set(line.slice(0, at).toLowerCase(), line.slice(at + 1).trim())
    }
    this.#isChunked = this.headers.get('transfer-encoding') === 'chunked'
    this.#left = Number(this.headers.get('content-length') ?? 0)
    this.#stage = 'body'
    if (!this.#isChunked && this.#left === 0) this.#over()
  }

  #readBody(): void {
    if (!this.#isChunked) {
      this.#take(this.#bytes.subarray(0, this.#left))
      this.#left -= this.#bytes.length
      this.#bytes = this.#bytes.subarray(0, 0)
      if (this.#left <= 0 && this.#stage === 'body') this.#over()
      return
    }
    for (;;) {
      const end = this.#bytes.indexOf('\r\n')
      if (end < 0) return
      const size = parseInt(this.#bytes.toString('latin1', 0, end), 16)
      if (this.#bytes.length < end + 2 + size + 2) return
      this.#take(this.#bytes.subarray(end + 2, end + 2 + size))
      // A copy, which does not keep the memory of what was read.
      this.#bytes = Buffer.from(this.#bytes.subarray(end + 2 + size + 2))
      if (size === 0) return this.#over()
    }
  }

  #take(bytes: Buffer): void {
    this.#text += bytes.toString()
    if (!this.isStream) return
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      const lines = this.#text.slice(0, end).split('\n')
      this.#text = this.#text.slice(end + 2)
      const data = lines.filter(line => line.startsWith('data:')).map(line => line.slice(5).trim())
      const id = lines.find(line => line.startsWith('id:'))?.slice(3).trim()
      if (id !== undefined && id !== '') this.lastId = id
      if (data.join('') !== '') this.#onMessage(data.join('\n'))
    }
  }
}
