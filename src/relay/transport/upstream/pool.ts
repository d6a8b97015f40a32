import type { LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import { isLoopback } from '#relay/base/addresses.js'
import { headersOf, only } from '../http/headers.js'
import type { HttpHeaders } from '../transport.js'
import { connectorWith, errors, Pool, ResponseBody, bodyInOne } from './body.js'

/** TLS towards the server, in PEM. */
export interface HttpTls {
  /** Certificate authorities to trust in place of the built-in ones. */
  readonly ca?: string | Buffer
  /** The client certificate, and its key. */
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  /** Finds the address of the host's name; undefined: the system does. */
  readonly lookup?: LookupFunction
}

export interface HttpAsk {
  readonly method: 'POST' | 'GET' | 'DELETE' | 'HEAD'
  /** On the server's own origin; the MCP endpoint when absent. */
  readonly url?: URL
  readonly headers: ReadonlyMap<string, string>
  readonly body?: Buffer
  readonly signal: AbortSignal | Abortable
}

/** Ends one request at a time. An AbortController would cost more than reading a small response. */
export interface Abortable {
  readonly aborted: boolean
  /** Set by the pending request. */
  onAbort: (() => void) | undefined
}

/** A response whose body has not been read: it must be read or discarded. */
export interface HttpReply {
  readonly status: number
  readonly headers: HttpHeaders
  readonly body: ResponseBody
}

/** Longest wait for a connection, in milliseconds. */
const connectMs = 10_000
/** All headers of a response, in bytes. */
const headerBytes = 32 * 1024
/** Longest wait of `reachable`, in milliseconds. */
const reachMs = 3000
/** Redirects in a row. */
const maxRedirects = 3

const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'] as const

/** Why a request failed. The message quotes nothing of the request: no header, no token, no query. */
export class HttpFailure extends Error {}

/**
 * One HTTP server: a pool of connections to its origin, one for each pending request. The pool has no limit:
 * streams stay open for hours, and further requests would have to wait for them.
 */
export class HttpUpstream {
  readonly #pool: Dispatcher
  /** From the URL's user and password, where it has them. */
  readonly #authorization: string | undefined
  readonly url: URL
  // Kept because a URL computes them at each access.
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
      // The core limits how long an answer may take (`requestMs`), and a stream may be silent for hours.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    // HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply, but not to loopback addresses, which a proxy cannot reach.
    // The TLS options are for the server behind the proxy.
    this.#pool = usesProxy(url)
      ? new (bodyInOne().EnvHttpProxyAgent)({ ...options, connect, requestTls: connect })
      : new Pool(this.#origin, { ...options, connect: connectorWith(connect) })
  }

  /** @throws HttpFailure, or what undici throws: see `failureOf` */
  async request(ask: HttpAsk): Promise<HttpReply> {
    let url = ask.url ?? this.url
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const reply = await this.#once(url, ask)
      if (reply.status < 300 || reply.status > 399 || reply.status === 304) return reply
      discard(reply)
      url = this.#redirected(reply, url)
    }
    throw new HttpFailure('the server redirects without end')
  }

  /** Whether the server answers a HEAD request, with any status. */
  async reachable(): Promise<boolean> {
    const signal = AbortSignal.timeout(reachMs)
    try {
      discard(await this.#once(this.url, { method: 'HEAD', headers: new Map(), signal }))
      return true
    } catch {
      return false
    }
  }

  /** Closes every connection at once. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  #once(url: URL, { method, headers, body, signal }: HttpAsk): Promise<HttpReply> {
    const sent = ['accept-encoding', 'identity']
    for (const [name, value] of headers) if (name !== 'accept-encoding') sent.push(name, value)
    if (this.#authorization !== undefined && !headers.has('authorization')) {
      sent.push('authorization', this.#authorization)
    }
    const path = url === this.url ? this.#path : url.pathname + url.search
    const options = { origin: this.#origin, path, method, headers: sent, body: body ?? null }
    return new Promise((resolve, reject) => {
      this.#pool.dispatch(options, new Response(signal, resolve, reject))
    })
  }

  /** Follows 307 and 308 (which keep method and body) within the origin: credentials must not leave it. */
  #redirected({ status, headers }: HttpReply, from: URL): URL {
    const location = only(headers, 'location')
    const target = location === undefined ? undefined : sameOrigin(location, from)
    if (target === undefined || (status !== 307 && status !== 308)) {
      throw new HttpFailure(`the server redirects (HTTP ${status}) where it may not be followed`)
    }
    return target
  }
}

/** What the transports need of an HTTP server. */
export type HttpRequests = Pick<HttpUpstream, 'url' | 'request' | 'close'>

/** The URL that a server's text names; undefined when it is none, of another origin, or has credentials. */
export const sameOrigin = (text: string, base: URL): URL | undefined => {
  const url = URL.canParse(text, base.href) ? new URL(text, base) : undefined
  return url?.origin === base.origin && url.username === '' && url.password === '' ? url : undefined
}

type Reject = (error: Error) => void

/** Receives one response from undici. */
class Response implements Dispatcher.DispatchHandler {
  #started: Dispatcher.DispatchController | undefined
  #body: ResponseBody | undefined

  constructor(
    private readonly signal: HttpAsk['signal'],
    private readonly resolve: (reply: HttpReply) => void,
    private readonly reject: Reject,
  ) {
    if (signal instanceof AbortSignal) signal.addEventListener('abort', this.#abort)
    else signal.onAbort = this.#abort
  }

  // A request that has no connection yet has no controller.
  readonly #abort = (): void => {
    const error = new errors.RequestAbortedError()
    if (this.#started === undefined) this.#end(error)
    else this.#started.abort(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#started = controller
    if (this.signal.aborted) this.#abort()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController, status: number, received: Parameters<typeof headersOf>[0],
  ): void {
    // Interim responses are skipped.
    if (status < 200) return
    this.#body = new ResponseBody(controller)
    this.resolve({ status, headers: headersOf(received), body: this.#body })
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
    const signal = this.signal
    if (signal instanceof AbortSignal) signal.removeEventListener('abort', this.#abort)
    else if (signal.onAbort === this.#abort) signal.onAbort = undefined
    if (this.#body !== undefined) this.#body.end(error)
    else this.reject(error ?? new errors.RequestAbortedError())
  }
}

/** Whether a proxy may be asked for a URL; NO_PROXY may say otherwise. */
export const usesProxy = ({ hostname }: URL): boolean =>
  !isLoopback(hostname) && !hostname.endsWith('.localhost')
  && proxies.some(name => (process.env[name] ?? '') !== '')

/** Discards a response; its connection is kept if the rest of the body is short. */
export const discard = ({ body }: HttpReply): void => body.dump(discardBytes, discardMs)
const discardBytes = 16 * 1024
const discardMs = 1000

/** Why a request to the server failed. The texts of errors are left out: they may quote headers and URLs. */
export const failureOf = (error: unknown): string => {
  if (error instanceof HttpFailure) return error.message
  if (error instanceof errors.HTTPParserError) return 'the server does not speak HTTP as it should'
  const code = codeOf(error)
  return reasons.get(code) ?? `the request to the server failed${code === '' ? '' : ` (${code})`}`
}

/** Whether no connection was made, so that nothing was sent. */
export const isRefused = (error: unknown): boolean => codeOf(error) === 'ECONNREFUSED'

const codeOf = (error: unknown): string =>
  (error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '')

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
