import { randomBytes } from 'node:crypto'
import type { Identity } from '#relay/core/vocabulary.js'
import type { JsonObject } from '#relay/protocol/json.js'
import { isModernVersion } from '../http/headers.js'
import type { Access, UpstreamToken } from './authority.js'
import { contextDigest, type ContextSource } from './credentials.js'
import { headerText, type FrontRequest, type ProcessSlot } from './request.js'

/** The client that sends a request, as far as it is known. */
export interface Peer {
  /** The address of its end of the connection; empty on a Unix socket. */
  readonly address: string
  /** The index of the configured token that it presented; undefined where no token is required. */
  readonly token: number | undefined
  /** Who it is, as its token says. */
  readonly subject: Identity | undefined
}

/** Names this process in `Via`, without telling its address (RFC 9110, section 7.6.3). */
const pseudonym = `mcp-customs-${randomBytes(6).toString('hex')}`

/** The head of one HTTP request. */
export class RequestArrival implements Peer {
  /** Of a target in any form (RFC 9112, section 3.2), without its query and a slash at its end. */
  readonly path: string
  /** Of the client. */
  readonly address: string
  /** These are set once the token was checked. */
  token: number | undefined
  subject: Identity | undefined
  upstream: UpstreamToken | undefined
  /** As the server knows it, once the endpoint has read it (see `BoundIds`). */
  sessionId: string | undefined
  #context: { readonly source: ContextSource; readonly digest: string } | undefined

  constructor(
    private readonly request: Pick<FrontRequest, 'url' | 'headers' | 'socket' | 'processSlot' | 'agreed'>,
    access: Access = {},
  ) {
    this.path = pathOf(request.url ?? '')
    // An IPv6 socket reports an IPv4 client as `::ffff:1.2.3.4`.
    this.address = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
    this.sessionId = headerText(request.headers['mcp-session-id'])
    this.letIn(access)
  }

  letIn({ token, subject, upstream }: Access): void {
    this.token = token
    this.subject = subject
    this.upstream = upstream
  }

  get peer(): Peer {
    return { address: this.address, token: this.token, subject: this.subject }
  }

  get scheme(): 'http' | 'https' {
    return 'encrypted' in this.request.socket ? 'https' : 'http'
  }

  /** See `FrontRequest`. */
  get processSlot(): ProcessSlot | undefined {
    return this.request.processSlot
  }

  /** See `FrontRequest`. */
  get agreed(): JsonObject | undefined {
    return this.request.agreed
  }

  /** The `MCP-Protocol-Version`. */
  get version(): string | undefined {
    return headerText(this.request.headers['mcp-protocol-version'])
  }

  /** The version is of a revision without sessions. */
  get modern(): boolean {
    return isModernVersion(this.version)
  }

  /** A GET with it asks for the rest of a stream that broke. */
  get hasLastEventId(): boolean {
    return this.request.headers['last-event-id'] !== undefined
  }

  /** Equal for requests with equal credentials. */
  context(source: ContextSource): string {
    if (this.#context?.source !== source) {
      const { subject, upstream } = this
      const digest = contextDigest(source, this.request.headers, subject, upstream !== undefined)
      this.#context = { source, digest }
    }
    return this.#context.digest
  }

  /** The request has passed this process before: an upstream server has sent it back here. */
  get isLoop(): boolean {
    return this.request.headers.via?.includes(pseudonym) === true
  }

  /**
   * The request's headers by lower-case name, in a new map.
   * @param isProxied with the headers that a proxy adds, each behind the value of earlier proxies
   * @param withAuthorization false where the Authorization header is meant for this relay
   */
  headers(isProxied: boolean, withAuthorization: boolean): ReadonlyMap<string, string> {
    const { headers: sent } = this.request
    const headers = new Map<string, string>()
    for (const name of Object.keys(sent)) {
      const value = headerText(sent[name])
      if (value !== undefined && (withAuthorization || name !== 'authorization')) headers.set(name, value)
    }
    if (this.sessionId !== undefined) headers.set('mcp-session-id', this.sessionId)
    if (this.upstream !== undefined) headers.set('authorization', this.upstream.header)
    if (!isProxied) return headers
    append(headers, 'via', `1.1 ${pseudonym}`)
    append(headers, 'x-forwarded-for', this.address)
    append(headers, 'x-forwarded-proto', this.scheme)
    append(headers, 'x-forwarded-host', sent.host ?? '')
    return headers
  }
}

const append = (headers: Map<string, string>, name: string, value: string): void => {
  const before = headers.get(name)
  if (value !== '') headers.set(name, before === undefined ? value : `${before}, ${value}`)
}

const absolute = /^https?:\/\/([^/?#]*)/i

const pathOf = (url: string): string => {
  const target = url.startsWith('/') ? url : url.replace(absolute, '')
  const query = target.indexOf('?')
  const path = query < 0 ? target : target.slice(0, query)
  // `*` (RFC 9112, section 3.2.4), or a scheme that is not ours: no endpoint.
  if (!path.startsWith('/')) return ''
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** The host of an absolute target, else that of the header (RFC 9112, section 3.2.2). */
export const hostOf = ({ url = '', headers }: Pick<FrontRequest, 'url' | 'headers'>): string | undefined =>
  (url.startsWith('/') ? undefined : absolute.exec(url)?.[1]) ?? headers.host
