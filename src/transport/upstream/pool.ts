import type { Dispatcher } from 'undici'
import { headersOf, only } from '../http/headers.js'
import type { HttpHeaders } from '../transport.js'
import { connectorWith, errors, Pool, ResponseBody, whole } from './body.js'

/** TLS towards the server, in PEM. */
export interface HttpTls {
  /** Certificate authorities to trust in place of the built-in ones. */
  readonly ca?: string | Buffer
  /** The certificate that we show, and its key. */
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
}

export interface HttpAsk {
  readonly method: 'POST' | 'GET' | 'DELETE' | 'HEAD'
  /** Where, on the server's own origin; its MCP endpoint when left out. */
  readonly url?: URL
  readonly headers: ReadonlyMap<string, string>
  readonly body?: Buffer
  readonly signal: AbortSignal | Abortable
}

/** What ends one request at a time. An AbortController for each call would cost more than reading a small response. */
export interface Abortable {
  readonly aborted: boolean
  /** Set by the request that is under way. */
  onAbort: (() => void) | undefined
}

/** A response whose body is still on the wire: it must be read or destroyed. */
export interface HttpReply {
  readonly status: number
  readonly headers: HttpHeaders
  readonly body: ResponseBody
}

/** Longest wait for a connection, in milliseconds. */
const connectMs = 10_000
/** All headers of a response, in bytes. */
const headerBytes = 32 * 1024
/** Longest wait for a sign of life, in milliseconds. */
const reachMs = 3000
/** Redirects in a row. */
const mostRedirects = 3

const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'] as const

/** Why a request failed, in words that hold nothing of the request: no header, no token, no query. */
export class HttpFailure extends Error {}

/**
 * One HTTP server: a pool of connections to its origin. A connection is never shared by two requests at a time, and there are
 * as many as there are requests: streams stay open for hours, and a bound would make the next request wait for one of them.
 */
export class HttpUpstream {
  readonly #pool: Dispatcher
  /** From the URL's user and password, where it has them. */
  readonly #authorization: string | undefined
  readonly url: URL
  // Of the URL, which makes them anew each time that it is asked.
  readonly #origin: string
  readonly #path: string

  constructor(url: URL, tls: HttpTls = {}) {
    this.url = url
    this.#origin = url.origin
    this.#path = url.pathname + url.search
    const user = [url.username, url.password].map(decodeURIComponent).join(':')
    this.#authorization = user === ':' ? undefined : `Basic ${Buffer.from(user).toString('base64')}`
    const connect = { timeout: connectMs, ...tls }
    const options = {
      maxHeaderSize: headerBytes,
      // How long an answer may take is the core's to say (`requestMs`), and a stream may be silent for hours.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    // HTTPS_PROXY, HTTP_PROXY and NO_PROXY mean what they mean to everybody, but no proxy knows this machine as `localhost`. The certificates are those of the server behind the proxy.
    this.#pool = !isLoopback(url) && proxies.some(name => (process.env[name] ?? '') !== '')
      ? new (whole().EnvHttpProxyAgent)({ ...options, connect, requestTls: connect })
      : new Pool(this.#origin, { ...options, connect: connectorWith(connect) })
  }

  /** @throws HttpFailure, or what undici throws: see `failureOf` */
  async request(ask: HttpAsk): Promise<HttpReply> {
    let url = ask.url ?? this.url
    for (let redirects = 0; redirects <= mostRedirects; redirects++) {
      const reply = await this.#once(url, ask)
      if (reply.status < 300 || reply.status > 399 || reply.status === 304) return reply
      discard(reply)
      url = this.#redirected(reply, url)
    }
    throw new HttpFailure('the server redirects without end')
  }

  /** Whether anything speaks HTTP there; what it says to a HEAD does not matter. */
  async reachable(): Promise<boolean> {
    try {
      discard(await this.#once(this.url, { method: 'HEAD', headers: new Map(), signal: AbortSignal.timeout(reachMs) }))
      return true
    } catch {
      return false
    }
  }

  /** Cuts what is still open. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  #once(url: URL, { method, headers, body, signal }: HttpAsk): Promise<HttpReply> {
    const sent = ['accept-encoding', 'identity']
    for (const [name, value] of headers) if (name !== 'accept-encoding') sent.push(name, value)
    if (this.#authorization !== undefined && !headers.has('authorization')) sent.push('authorization', this.#authorization)
    const path = url === this.url ? this.#path : url.pathname + url.search
    return new Promise((resolve, reject) => {
      this.#pool.dispatch({ origin: this.#origin, path, method, headers: sent, body: body ?? null }, new Response(signal, resolve, reject))
    })
  }

  /** Only within the origin, and only where the method and the body stay: a token must not follow a redirect elsewhere. */
  #redirected({ status, headers }: HttpReply, from: URL): URL {
    const location = only(headers, 'location')
    const target = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : undefined
    const same = target?.origin === this.url.origin && target.username === '' && target.password === ''
    if (!same || (status !== 307 && status !== 308)) throw new HttpFailure(`the server redirects (HTTP ${status}) where it may not be followed`)
    return target
  }
}

/** What becomes of one request. */
class Response implements Dispatcher.DispatchHandler {
  readonly #signal: HttpAsk['signal']
  readonly #begun: (reply: HttpReply) => void
  readonly #failed: (error: Error) => void
  #started: Dispatcher.DispatchController | undefined
  #body: ResponseBody | undefined

  constructor(signal: HttpAsk['signal'], begun: (reply: HttpReply) => void, failed: (error: Error) => void) {
    this.#signal = signal
    this.#begun = begun
    this.#failed = failed
    if (signal instanceof AbortSignal) signal.addEventListener('abort', this.#abort)
    else signal.onAbort = this.#abort
  }

  // Before it has a connection, there is nothing that could be cut.
  readonly #abort = (): void => {
    const error = new errors.RequestAbortedError()
    if (this.#started === undefined) this.#end(error)
    else this.#started.abort(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#started = controller
    if (this.#signal.aborted) this.#abort()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, received: Parameters<typeof headersOf>[0]): void {
    // What comes before the response itself says nothing of it.
    if (status < 200) return
    this.#body = new ResponseBody(controller)
    this.#begun({ status, headers: headersOf(received), body: this.#body })
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body?.push(chunk)
  }

  onResponseEnd(): void {
    this.#end()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#end(error)
  }

  #end(error?: Error): void {
    const signal = this.#signal
    if (signal instanceof AbortSignal) signal.removeEventListener('abort', this.#abort)
    else if (signal.onAbort === this.#abort) signal.onAbort = undefined
    if (this.#body !== undefined) this.#body.end(error)
    else this.#failed(error ?? new errors.RequestAbortedError())
  }
}

const isLoopback = ({ hostname }: URL): boolean => /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)

/** Lets go of a response that nobody reads; its connection is kept where the rest is short and soon here. */
export const discard = ({ body }: HttpReply): void => body.dump(discardBytes, discardMs)
const discardBytes = 16 * 1024
const discardMs = 1000

/** What went wrong on the way to the server, without the texts of errors: they may quote headers and URLs. */
export const failureOf = (error: unknown): string => {
  if (error instanceof HttpFailure) return error.message
  if (error instanceof errors.HTTPParserError) return 'the server does not speak HTTP as it should'
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return reasons.get(code) ?? (code === '' ? 'the request to the server failed' : `the request to the server failed (${code})`)
}

const cut = 'the connection to the server was cut'
const reasons: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'the server refused the connection'],
  ['ENOTFOUND', 'the server\'s host name was not found'],
  ['EAI_AGAIN', 'the server\'s host name could not be looked up'],
  ['ECONNRESET', cut],
  ['EPIPE', cut],
  ['UND_ERR_SOCKET', cut],
  ['UND_ERR_ABORTED', cut],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', cut],
  ['UND_ERR_CONNECT_TIMEOUT', 'the server could not be connected to in time'],
  ['ETIMEDOUT', 'the server could not be connected to in time'],
  ['UND_ERR_HEADERS_OVERFLOW', 'the server\'s HTTP headers are too long'],
  ['UND_ERR_INVALID_ARG', 'a header of the request cannot be sent'],
])
