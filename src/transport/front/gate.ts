import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { refusal, type Refusal } from './refusal.js'

export interface GateOptions {
  /** The address listened on. */
  readonly host: string
  /** Names by which clients may reach us besides the loopback names and `host`, without ports. */
  readonly allowHosts: readonly string[]
  /** Origins of web pages that may call us, such as `https://app.example.com`. */
  readonly allowOrigins: readonly string[]
  /** Bearer tokens, one of which a client must show; none: open. */
  readonly tokens: readonly string[]
}

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
const wildcards: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '[::]'])

/** Who may come in: judged by the head of a request alone, before any of its body is read. */
export class Gate {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  readonly #tokens: readonly Buffer[]
  readonly #anyAddress: boolean
  readonly #loopbackOnly: boolean

  constructor({ host, allowHosts, allowOrigins, tokens }: GateOptions) {
    const name = hostName(bracketed(host)) ?? ''
    this.#anyAddress = wildcards.has(host)
    this.#loopbackOnly = loopback.has(name)
    this.#hosts = new Set([...loopback, name, ...allowHosts.map(allowed => bracketed(allowed).toLowerCase())])
    this.#origins = new Set(allowOrigins.map(origin => origin.toLowerCase()))
    this.#tokens = tokens.map(digest)
  }

  /** Against DNS rebinding (MCP Streamable HTTP, security): the page's browser names the page's host, not ours. */
  checkNames({ host, origin }: IncomingHttpHeaders): Refusal | undefined {
    if (!this.#knowsHost(host)) return refusal(403, 'This Host is not allowed here: name it in allowHosts')
    if (origin !== undefined && !this.#knowsOrigin(origin)) {
      return refusal(403, 'This Origin is not allowed here: name it in allowOrigins')
    }
    return undefined
  }

  checkToken({ authorization }: IncomingHttpHeaders): Refusal | undefined {
    if (this.#tokens.length === 0) return undefined
    const shown = /^bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1]
    if (shown === undefined) return refusal(401, 'A bearer token is needed', { 'www-authenticate': 'Bearer' })
    const hash = digest(shown)
    // Every token is compared, each in constant time: how long it takes says nothing about any of them.
    const known = this.#tokens.reduce((found, token) => timingSafeEqual(token, hash) || found, false)
    return known ? undefined : refusal(401, 'The bearer token is not known', { 'www-authenticate': 'Bearer error="invalid_token"' })
  }

  /** Whether pages of this origin may read our answers (CORS); those of loopback origins may call, but are not helped to. */
  sharesWith(origin: string | undefined): origin is string {
    return origin !== undefined && this.#origins.has(origin.toLowerCase())
  }

  #knowsHost(header: string | undefined): boolean {
    const name = hostName(header ?? '')
    if (name === undefined) return false
    // An address cannot be rebound: no name was looked up. It is ours when we listen on all of them.
    return this.#hosts.has(name) || (this.#anyAddress && isAddress(name))
  }

  #knowsOrigin(origin: string): boolean {
    if (this.sharesWith(origin)) return true
    if (!this.#loopbackOnly || !/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false
    return loopback.has(new URL(origin).hostname)
  }
}

/** Preflights carry no credentials, and are answered before any are asked for. */
export const preflight = ({ headers }: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, POST, DELETE',
    // `Mcp-Param-*` headers are the tools' own: no list of ours could hold them.
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': '600',
  })
  response.end()
}

/** One authorization context: clients that show the same credentials. Says nothing about the credentials themselves. */
export const authorizationDigest = (headers: IncomingHttpHeaders): string =>
  createHash('sha256')
    .update(JSON.stringify([headers.authorization, headers.cookie, headers['x-api-key']]))
    .digest('base64url')

/**
 * Whom a server without sessions may take a request for: by anything in its head that is not known to say nothing of that. What it lists
 * for one of them is not shown to another.
 */
export const contextDigest = (headers: IncomingHttpHeaders): string => {
  const telling = Object.entries(headers).filter(([name]) => !harmless.has(name) && !harmlessPrefix.test(name))
  return createHash('sha256').update(JSON.stringify(telling.sort(([a], [b]) => (a < b ? -1 : 1)))).digest('base64url')
}

/** Headers that describe a message, a connection or a trace, and no one. */
const harmless: ReadonlySet<string> = new Set([
  'accept', 'accept-charset', 'accept-encoding', 'accept-language', 'b3', 'baggage', 'cache-control', 'cf-ray', 'connection', 'content-encoding',
  'content-language', 'content-length', 'content-type', 'date', 'dnt', 'expect', 'forwarded', 'host', 'if-match', 'if-modified-since',
  'if-none-match', 'keep-alive', 'last-event-id', 'mcp-method', 'mcp-name', 'mcp-protocol-version', 'origin', 'pragma', 'priority',
  'proxy-connection', 'range', 'referer', 'request-id', 'sentry-trace', 'te', 'traceparent', 'tracestate', 'trailer', 'transfer-encoding',
  'uber-trace-id', 'upgrade', 'upgrade-insecure-requests', 'user-agent', 'via', 'x-amzn-trace-id', 'x-cloud-trace-context', 'x-correlation-id',
  'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-prefix', 'x-forwarded-proto', 'x-real-ip', 'x-request-id',
  'x-requested-with',
])
const harmlessPrefix = /^(?:sec-|mcp-param-|x-b3-|x-datadog-|x-envoy-)/

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const bracketed = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host)

/** The name in a Host header, in lower case, without its port. */
const hostName = (header: string): string | undefined =>
  /^(\[[0-9a-f:.]+\]|[^\s:[\]/@,]+)(?::\d{1,5})?$/i.exec(header)?.[1]?.toLowerCase()

const isAddress = (name: string): boolean => name.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name)
