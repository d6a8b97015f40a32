import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { RequestArrival } from './arrival.js'
import { readBody } from './body.js'
import { quotaClientOf, Quota, Share } from './quota.js'
import { refusals, type Refusal } from './refusal.js'
import { hasLeft } from './request.js'

/** Pages and endpoints that anyone may ask, beside those of MCP: those of an authorization server. */
export interface Site {
  has(path: string): boolean
  /** A rejection is a failure of the relay: the client gets HTTP 500, without the error. */
  answer(visit: Visit): Promise<SitePage>
}

export interface Visit {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The body of a POST, in UTF-8. */
  readonly body: string
  /** To be asked before work for strangers that costs a request of ours. @returns false: too many of late */
  readonly mayCost: () => boolean
}

export interface SitePage {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Longest body, and all bodies together, in bytes. */
const maxBody = 64 * 1024
const maxBodies = 1024 * 1024
/** Most costly visits of one network in a minute: a proxy in front of us counts as one. */
const maxVisits = 600
const windowMs = 60_000
/** Networks that are counted at a time; beyond these, the oldest is forgotten. */
const maxClients = 10_000

/** Reads the requests for a site, and writes its answers. */
export class Visits {
  readonly #bodies = new Quota(() => maxBodies)
  #visits = new Map<string, { since: number; count: number }>()

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @returns why the request is refused */
  async serve(
    site: Site, request: IncomingMessage, response: ServerResponse, arrival: RequestArrival,
  ): Promise<Refusal | undefined> {
    const client = quotaClientOf(arrival)
    const { method = '', headers, url = '' } = request
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') return refusals.badMethod
    const share = new Share(this.#bodies, client, response)
    const read = method === 'POST' ? await readBody(request, response, maxBody, share) : Buffer.alloc(0)
    if (read === undefined || hasLeft(response)) return undefined
    if (!Buffer.isBuffer(read)) return read
    const query = new URLSearchParams(url.slice((url.indexOf('?') + 1) || url.length))
    const { path } = arrival
    const page = await site.answer({
      method, path, query, headers, body: read.toString(), mayCost: () => this.#counts(client),
    })
    if (hasLeft(response)) return undefined
    response.writeHead(page.status, { ...page.headers, 'content-length': Buffer.byteLength(page.body) })
    response.end(method === 'HEAD' ? undefined : page.body)
    return undefined
  }

  #counts(client: string): boolean {
    const now = this.now()
    const known = this.#visits.get(client)
    const visits = known !== undefined && now - known.since < windowMs ? known : { since: now, count: 0 }
    visits.count++
    this.#visits.delete(client)
    this.#visits.set(client, visits)
    if (this.#visits.size > maxClients) this.#visits.delete(this.#visits.keys().next().value ?? '')
    return visits.count <= maxVisits
  }
}

/**
 * Where clients look for a way to log in, also without metadata (RFC 8414; 2025-03-26, authorization). What
 * is not served there is a plain 404, because a challenge or a body is misread.
 */
export const isOfLogins = (path: string): boolean =>
  path.startsWith('/.well-known/') || /^\/(?:authorize|register|token)$/.test(path)
