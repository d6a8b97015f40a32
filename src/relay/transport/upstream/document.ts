import { lookup as lookUp } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Latch } from '../timers.js'
import { isLoopback, isPrivate, withoutBrackets } from '#relay/base/addresses.js'
import { connectorWith } from './body.js'
import { wholeBody } from './messages.js'
import { failureOf, HttpFailure, HttpUpstream, usesProxy, type HttpAsk, type HttpTls } from './pool.js'

interface Reach {
  /** The operator has written this URL, or the server that names it is at a private address. */
  readonly mayBePrivate: boolean
  /** Of the operator's server, for its own origin. */
  readonly tls?: HttpTls | undefined
}

/** Longest document, in bytes. */
const maxBytes = 512 * 1024
/** Longest wait, in milliseconds, for a document, and for the answer to a request that cannot be repeated. */
const documentMs = 5000
const postMs = 20_000

/**
 * The part of `fetch` that OAuth packages use. A URL may come from somebody who is not trusted (SSRF): it
 * must be https, or http on loopback, its host must have a public address, and redirects to other origins are
 * not followed. Rejects with HttpFailure, or what undici throws: see `failureOf`.
 */
export interface GuardedFetch {
  (url: string, request: {
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: URLSearchParams | string | null | undefined
  }): Promise<Response>
  /** Why a URL is not followed, also not by a browser. */
  readonly faultOf: (url: URL) => Promise<string | undefined>
}

export const guardedFetch = (reach: Reach | ((url: URL) => Reach | Promise<Reach>)): GuardedFetch => {
  const reachOf = async (url: URL): Promise<Reach> => (typeof reach === 'function' ? reach(url) : reach)
  const fetch = async (...[text, { method, headers, body }]: Parameters<GuardedFetch>): Promise<Response> => {
    const url = new URL(text)
    const { status, headers: received, bytes } = await fetchBytes(url, await reachOf(url), {
      method: method === 'POST' ? 'POST' : 'GET', headers: new Map(Object.entries(headers)),
      ...(body !== undefined && body !== null && { body: Buffer.from(body.toString()) }),
    })
    const pairs: [string, string][] = []
    for (const [name, values] of received) for (const value of values) pairs.push([name, value])
    return new Response(bytes && new Uint8Array(bytes), { status, headers: pairs })
  }
  return Object.assign(fetch, {
    faultOf: async (url: URL) => faultOf(url, (await reachOf(url)).mayBePrivate),
  })
}

/**
 * Fetches what an MCP server and its issuer name. The server's own origin is reached as the server itself is;
 * private addresses elsewhere only if the server is at one.
 */
export const fetchFor = (server: URL, tls?: HttpTls): GuardedFetch => {
  let isInside: Promise<boolean> | undefined
  return guardedFetch(async ({ origin }) => (origin === server.origin
    ? { mayBePrivate: true, tls }
    : { mayBePrivate: await (isInside ??= isAtPrivateAddress(server, tls)) }))
}

const fetchBytes = async (url: URL, { mayBePrivate, tls }: Reach, ask: Omit<HttpAsk, 'signal'>) => {
  const refused = faultOf(url, mayBePrivate)
  if (refused !== undefined) throw new HttpFailure(refused)
  const isPost = ask.method === 'POST'
  // A proxy looks names up itself. One that is known here, too, is checked before.
  if (!mayBePrivate && usesProxy(url)) await checkAddresses(url.hostname)
  const upstream = new HttpUpstream(url, { ...tls, ...(!mayBePrivate && { lookup: publicOnly }) })
  try {
    const signal = AbortSignal.timeout(isPost ? postMs : documentMs)
    const reply = await upstream.request({ ...ask, signal })
    const body = await wholeBody(reply, maxBytes, new Latch())
    if (body !== undefined && body.kind !== 'whole') throw new HttpFailure('the document is too long')
    return { status: reply.status, headers: reply.headers, bytes: body?.bytes }
  } finally {
    void upstream.close()
  }
}

/** Why a document cannot be fetched, for the operator; quotes no secret. */
export const documentFailure = (url: URL, error: unknown): string => `${url.origin}: ${failureOf(error)}`

/** Why a URL that somebody else has named is not followed; the addresses of its name are checked later. */
const faultOf = ({ protocol, hostname }: URL, mayBePrivate: boolean): string | undefined => {
  const isAllowed = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
  if (!isAllowed) return 'a URL must be https, or http on loopback'
  return !mayBePrivate && isPrivate(hostname) ? notFollowed : undefined
}

const notFollowed = 'a URL of a private address is not followed'

/**
 * Whether the server at a URL is at a private address. A DNS look-up is no evidence: the owner of the zone
 * can answer with any address. So the address of a connection counts, over which the server has proved its
 * name by TLS. Never rejects: a server that does not answer counts as not private.
 */
export const isAtPrivateAddress = async (
  { protocol, hostname, port }: URL, tls?: HttpTls,
): Promise<boolean> => {
  const host = withoutBrackets(hostname)
  if (isIP(host) > 0 || isLoopback(host)) return isPrivate(host)
  if (protocol !== 'https:') return false
  return new Promise(resolve => {
    const connect = connectorWith({ timeout: documentMs, ...tls })
    connect({ hostname: host, host, protocol, port }, (...[error, socket]) => {
      resolve(error === null && isPrivate(socket.remoteAddress ?? ''))
      socket?.destroy()
    })
  })
}

/** Looks a host name up for a connection: the address that is checked is the one that is connected to. */
const publicOnly: LookupFunction = (hostname, options, done) => {
  lookUp(hostname, { ...options, all: true }, (error, found) => {
    if (error) return done(error, '')
    const [first] = found
    if (first === undefined || found.some(({ address }) => isPrivate(address))) {
      return done(new HttpFailure(notFollowed), '')
    }
    if (options.all === true) done(null, found)
    else done(null, first.address, first.family)
  })
}

/** @throws HttpFailure for a name with a private address; one that is not found passes */
const checkAddresses = (hostname: string): Promise<void> => new Promise((resolve, reject) => {
  publicOnly(hostname, { all: true }, error => (error instanceof HttpFailure ? reject(error) : resolve()))
})
