import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { hostName, isAddress, isLoopback } from '#relay/base/addresses.js'
import { readMediaType } from '#relay/protocol/headers.js'
import { eventStream, jsonType } from '../http/headers.js'
import { hostOf } from './arrival.js'
import {
  admit, challenge, neededAt, scopeLack,
  type Access, type Authority, type Claims, type EndpointScopes, type ProtectedResource, type Unverified,
} from './authority.js'
import { refusal, refusals, type Refusal } from './refusal.js'

/** Checks of a request's head, made before any of its body is read. */

export interface GateOptions {
  /** The address listened on. */
  readonly host: string
  /** Host names that clients may use besides the loopback names and `host`, without ports. */
  readonly allowHosts: readonly string[]
  /** Origins of web pages that may call us, such as `https://app.example.com`. */
  readonly allowOrigins: readonly string[]
  /** Bearer tokens, one of which a client must present. No tokens and no authority: anyone may come in. */
  readonly tokens: readonly GateToken[]
  /** Accepts further tokens. */
  readonly authority?: Authority | undefined
  /** By the paths of endpoints. */
  readonly scopes?: ReadonlyMap<string, EndpointScopes> | undefined
}

/** A bearer token of the operator's. */
export interface GateToken {
  readonly token: string
  /** For records; undefined where it has none. */
  readonly name?: string | undefined
}

/** A client that was let in, or why it was not. */
export type GateVerdict = Access | Refusal

const anyone: Access = {}

const wildcards: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '[::]'])

/** Checks the Host, the Origin and the token of requests. */
export class Gate {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  readonly #tokens: readonly { readonly hash: Buffer; readonly name: string | undefined }[]
  readonly authority: Authority | undefined
  readonly #scopes: ReadonlyMap<string, EndpointScopes>
  readonly #anyAddress: boolean
  /** A Host header that was known: nearly every client sends the same. */
  #knownHost: string | undefined
  readonly #loopbackOnly: boolean

  constructor({ host, allowHosts, allowOrigins, tokens, authority, scopes = new Map() }: GateOptions) {
    const name = hostName(bracketed(host)) ?? ''
    this.#anyAddress = wildcards.has(host)
    this.#loopbackOnly = isLoopback(name)
    this.#hosts = new Set([name, ...allowHosts.map(allowed => bracketed(allowed).toLowerCase())])
    this.#origins = new Set(allowOrigins.map(origin => origin.toLowerCase()))
    this.#tokens = tokens.map(({ token, name }) => ({ hash: digest(token), name }))
    this.authority = authority
    this.#scopes = scopes
  }

  /** The resource at an endpoint's path; undefined where no issuer's tokens are accepted. */
  resourceAt(path: string): ProtectedResource | undefined {
    const resource = this.authority?.resourceAt(path)
    return resource && { ...resource, endpoint: this.#scopes.get(path) }
  }

  /** Against DNS rebinding (MCP Streamable HTTP, security): a browser names the attacker's host. */
  checkNames(request: Pick<IncomingMessage, 'url' | 'headers'>): Refusal | undefined {
    const { origin } = request.headers
    if (!this.#knowsHost(hostOf(request))) return refusals.badHost
    return origin !== undefined && !this.#knowsOrigin(origin) ? refusals.badOrigin : undefined
  }

  /**
   * Refuses what a page of another site loads, as an image or by a link: such a request names no origin
   * (Fetch Metadata). It would run with the login of the user.
   * @param isPage people are sent to the path by other sites, to log in
   */
  checkSite({ headers }: Pick<IncomingMessage, 'headers'>, isPage: boolean): Refusal | undefined {
    const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers
    if (origin !== undefined || site !== 'cross-site') return undefined
    return isPage && mode === 'navigate' ? undefined : refusals.crossSite
  }

  /** Checks the token of a request, in the `Authorization` header only (RFC 6750, section 2.1). */
  checkToken(
    { authorization = '' }: IncomingHttpHeaders, path: string, client = '',
  ): GateVerdict | Promise<GateVerdict> {
    const { authority } = this
    const resource = this.resourceAt(path)
    if (this.#tokens.length === 0 && authority === undefined) return anyone
    const shown = /^bearer +([^\s,]+)$/i.exec(authorization)?.[1]
    if (shown === undefined) {
      if (resource === undefined) return refusals.noToken
      const fault = /^bearer\b/i.test(authorization) ? 'malformed' : 'missing'
      return challenge(resource, path, fault, neededAt(resource))
    }
    const known = this.#known(shown)
    // A static token grants no scopes.
    if (known !== undefined) {
      return (resource && scopeLack(resource, path, known.subject ?? { scopes: [] })) ?? known
    }
    if (authority === undefined || resource === undefined) return refusals.badToken
    const admitted = (claims: Claims | Unverified): GateVerdict =>
      admit(resource, path, claims, (...mismatch) => authority.refused?.(...mismatch))
    const claims = authority.check(shown, path, client)
    return claims instanceof Promise ? claims.then(admitted) : admitted(claims)
  }

  #known(shown: string): Access | undefined {
    const hash = digest(shown)
    // Every token is compared, each in constant time, so that the time tells nothing about any of them.
    const index = this.#tokens
      .reduce((found, token, index) => (timingSafeEqual(token.hash, hash) ? index : found), -1)
    if (index < 0) return undefined
    const name = this.#tokens[index]?.name
    return { token: index, ...((name !== undefined || this.authority) && { subject: { name, scopes: [] } }) }
  }

  /**
   * Whether pages of this origin may read our responses (CORS). Pages of loopback origins may send requests,
   * but get no CORS headers unless their origin is configured.
   */
  sharesWith(origin: string | undefined): origin is string {
    return origin !== undefined && this.#origins.has(origin.toLowerCase())
  }

  #knowsHost(header = ''): boolean {
    if (header === this.#knownHost) return true
    const name = hostName(header)
    if (name === undefined) return false
    // DNS rebinding needs a name. Any IP address is ours when we listen on all addresses.
    const isKnown = this.#hosts.has(name) || isLoopback(name) || (this.#anyAddress && isAddress(name))
    if (isKnown) this.#knownHost = header
    return isKnown
  }

  #knowsOrigin(origin: string): boolean {
    if (this.sharesWith(origin)) return true
    if (!this.#loopbackOnly || !/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false
    return isLoopback(new URL(origin).hostname)
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const bracketed = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host)

/**
 * Headers that are compared with the message or that authenticate the client. Naming one of them in
 * `Connection` would have it removed before it reaches the server.
 */
const endToEnd = /^(?:mcp-.*|content-.*|accept|authorization|host|origin|last-event-id|cookie)$/

/**
 * Refuses a head whose framing, or whose end-to-end headers, two readers could see differently (RFC 9110,
 * section 7.6.1; RFC 9112, section 6.1).
 */
export const checkFraming = ({ headers, httpVersion }: IncomingMessage): Refusal | undefined => {
  const { connection = '', 'transfer-encoding': coding } = headers
  const isChunked = httpVersion !== '1.0' && coding?.trim().toLowerCase() === 'chunked'
  if (coding !== undefined && !isChunked) return refusals.misframed
  const isMisnamed = connection !== 'keep-alive' && connection !== ''
    && connection.split(',').some(name => endToEnd.test(name.trim().toLowerCase()))
  return isMisnamed ? refusals.misnamed : undefined
}

/** Refuses any type but JSON in UTF-8: the server could read the same bytes differently from us. */
export const checkContentType = ({ 'content-type': header }: IncomingHttpHeaders): Refusal | undefined => {
  const { type, parameters, isUtf8 } = readMediaType(header)
  // Node joins repeated headers with a comma.
  const isRepeated = parameters.some(parameter => parameter.includes(','))
  return type !== jsonType || !isUtf8 || isRepeated ? refusals.notJson : undefined
}

/**
 * A POST is answered with JSON or with a stream. The client must accept both (2025-11-25, sending messages),
 * but some accept one of them only. A GET is answered with a stream.
 */
export const checkAccept = (method: 'POST' | 'GET', headers: IncomingHttpHeaders): Refusal | undefined => {
  const types = method === 'POST' ? [jsonType, eventStream] : [eventStream]
  return types.some(type => accepts(headers, type))
    ? undefined
    : refusal(406, `The Accept header must allow ${types.join(' or ')}`)
}

/** The one form of a response to a POST that the client accepts; undefined where it accepts both. */
export const onlyForm = (headers: IncomingHttpHeaders): 'json' | 'stream' | undefined => {
  if (!accepts(headers, jsonType)) return 'stream'
  return accepts(headers, eventStream) ? undefined : 'json'
}

/** The header as clients send it that follow the specification literally. */
const usual = `${jsonType}, ${eventStream}`

const accepts = ({ accept }: IncomingHttpHeaders, type: string): boolean => {
  // Without the header any type is acceptable (RFC 9110, section 12.5.1).
  if (accept === undefined || accept === usual) return true
  const ranges = ['*/*', `${type.slice(0, type.indexOf('/'))}/*`, type]
  return accept.split(',').some(entry => {
    const [range = '', ...parameters] = entry.split(';').map(part => part.trim().toLowerCase())
    return ranges.includes(range) && !parameters.some(parameter => /^q=0(?:\.0*)?$/.test(parameter))
  })
}
