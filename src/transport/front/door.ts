import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { readMediaType } from '../../protocol/headers.js'
import { eventStream, json } from '../http/headers.js'
import { hostOf } from './arrival.js'
import { refusal, type Refusal } from './refusal.js'

/** What is judged by the head of a request alone, before any of its body is read. */

export interface DoorOptions {
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

/** Who may come in. */
export class Door {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  readonly #tokens: readonly Buffer[]
  readonly #anyAddress: boolean
  readonly #loopbackOnly: boolean

  constructor({ host, allowHosts, allowOrigins, tokens }: DoorOptions) {
    const name = hostName(bracketed(host)) ?? ''
    this.#anyAddress = wildcards.has(host)
    this.#loopbackOnly = loopback.has(name)
    this.#hosts = new Set([...loopback, name, ...allowHosts.map(allowed => bracketed(allowed).toLowerCase())])
    this.#origins = new Set(allowOrigins.map(origin => origin.toLowerCase()))
    this.#tokens = tokens.map(digest)
  }

  /** Against DNS rebinding (MCP Streamable HTTP, security): the page's browser names the page's host, not ours. */
  checkNames(request: Pick<IncomingMessage, 'url' | 'headers'>): Refusal | undefined {
    const { origin } = request.headers
    if (!this.#knowsHost(hostOf(request))) {
      return refusal(403, 'This Host is not allowed here: name it in allowHosts')
    }
    if (origin !== undefined && !this.#knowsOrigin(origin)) {
      return refusal(403, 'This Origin is not allowed here: name it in allowOrigins')
    }
    return undefined
  }

  /** @returns which of the tokens was shown, counted from 0; undefined where none is asked for */
  checkToken({ authorization }: IncomingHttpHeaders): number | undefined | Refusal {
    if (this.#tokens.length === 0) return undefined
    const shown = /^bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1]
    if (shown === undefined) return refusal(401, 'A bearer token is needed', { 'www-authenticate': 'Bearer' })
    const hash = digest(shown)
    // Every token is compared, each in constant time: how long it takes says nothing about any of them.
    const known = this.#tokens.reduce((found, token, index) => (timingSafeEqual(token, hash) ? index : found), -1)
    return known >= 0 ? known : refusal(401, 'The bearer token is not known', { 'www-authenticate': 'Bearer error="invalid_token"' })
  }

  refuses(request: IncomingMessage): boolean {
    return this.checkNames(request) !== undefined || typeof this.checkToken(request.headers) === 'object'
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

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const bracketed = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host)

/** The name in a Host header, in lower case, without its port. */
const hostName = (header: string): string | undefined =>
  /^(\[[0-9a-f:.]+\]|[^\s:[\]/@,]+)(?::\d{1,5})?$/i.exec(header)?.[1]?.toLowerCase()

const isAddress = (name: string): boolean => name.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name)

/**
 * Headers that are compared with the message, or decide who may ask: no sender may have them taken away on
 * the way.
 */
const endToEnd = /^(?:mcp-.*|content-.*|accept|authorization|host|origin|last-event-id|cookie)$/

/**
 * Whether the head says in one way how the message is framed and what goes with it (RFC 9110, section 7.6.1;
 * RFC 9112, section 6.1).
 */
export const checkFraming = ({ headers, httpVersion }: IncomingMessage): Refusal | undefined => {
  const { connection = '', 'transfer-encoding': coding } = headers
  if (coding !== undefined && (httpVersion === '1.0' || coding.trim().toLowerCase() !== 'chunked')) return misframed
  return connection.split(',').some(name => endToEnd.test(name.trim().toLowerCase())) ? misnamed : undefined
}

const bad = (message: string): Refusal => refusal(400, message, { connection: 'close' })
const misframed = bad('The Transfer-Encoding is not chunked, or not for this version of HTTP')
const misnamed = bad('The Connection header names a header that goes to the server')

/**
 * A body that we read as JSON in UTF-8 must say that it is that: the server could read anything else
 * differently.
 */
export const checkContentType = ({ 'content-type': header }: IncomingHttpHeaders): Refusal | undefined => {
  const { type, parameters, isUtf8 } = readMediaType(header)
  // A comma joins two headers of the name.
  if (type !== json || !isUtf8 || parameters.some(parameter => parameter.includes(','))) {
    return refusal(415, 'The Content-Type must be application/json', { 'accept-post': json })
  }
  return undefined
}

/** A POST may be answered with either type, and which one is not known beforehand; a GET only with a stream. */
export const checkAccept = (method: 'POST' | 'GET', { accept }: IncomingHttpHeaders): Refusal | undefined => {
  // Without the header anything is acceptable (RFC 9110, section 12.5.1).
  if (accept === undefined || accept === usual) return undefined
  const needed = method === 'POST' ? [json, eventStream] : [eventStream]
  return needed.every(type => accepts(accept, type)) ? undefined : refusal(406, `The Accept header must allow ${needed.join(' and ')}`)
}

/** What clients send that keep to the letter of the specification. */
const usual = `${json}, ${eventStream}`

const accepts = (accept: string, type: string): boolean => {
  const ranges = ['*/*', `${type.slice(0, type.indexOf('/'))}/*`, type]
  return accept.split(',').some(entry => {
    const [range = '', ...parameters] = entry.split(';').map(part => part.trim().toLowerCase())
    return ranges.includes(range) && !parameters.some(parameter => /^q=0(?:\.0*)?$/.test(parameter))
  })
}

/** Lets a page of this origin read what it is answered (CORS). */
export const shareWith = (origin: string, response: ServerResponse): void => {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate')
  response.setHeader('vary', 'Origin')
}

export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

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
