import { lookup as lookUp } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { parseJson, type Json } from '#protocol/json.js'
import { Latch } from '../timers.js'
import { wholeBody } from './messages.js'
import { failureOf, HttpFailure, HttpUpstream, type HttpAsk } from './pool.js'

/** A JSON document of an authorization server: metadata, keys, or an answer about a token. */
export interface JsonDocument {
  readonly status: number
  /** Undefined where the body is no JSON. */
  readonly body: Json | undefined
}

interface Reach {
  /** The operator has written this URL, or one at a private address: private addresses are allowed. */
  readonly mayBePrivate: boolean
}

interface DocumentRequest extends Reach {
  /** Sent by POST; undefined: GET. */
  readonly form?: URLSearchParams
  readonly authorization?: string
}

/** Longest document, in bytes. */
const maxBytes = 512 * 1024
/** Longest wait, in milliseconds, for a document, and for the answer to a request that cannot be repeated. */
const documentMs = 5000
const postMs = 20_000

/**
 * Fetches a document. The URL may come from somebody who is not trusted (SSRF): it must be https, or http on
 * loopback, its host must have a public address, and redirects to other origins are not followed.
 * @throws HttpFailure, or what undici throws: see `failureOf`
 */
export const fetchJson = async (url: URL, request: DocumentRequest): Promise<JsonDocument> => {
  const { form, authorization } = request
  const headers = new Map([['accept', 'application/json']])
  if (form !== undefined) headers.set('content-type', 'application/x-www-form-urlencoded')
  if (authorization !== undefined) headers.set('authorization', authorization)
  const { status, bytes } = await fetchBytes(url, request, {
    method: form === undefined ? 'GET' : 'POST', headers,
    ...(form !== undefined && { body: Buffer.from(form.toString()) }),
  })
  return { status, body: bytes && parseJson(bytes.toString()) }
}

/** The part of `fetch` that OAuth packages use. */
export type GuardedFetch = (url: string, request: {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: URLSearchParams | string | null | undefined
}) => Promise<Response>

/** A `fetch` with the limits of `fetchJson`. */
export const guardedFetch = (reach: Reach): GuardedFetch => async (url, { method, headers, body }) => {
  const { status, headers: received, bytes } = await fetchBytes(new URL(url), reach, {
    method: method === 'POST' ? 'POST' : 'GET', headers: new Map(Object.entries(headers)),
    ...(body !== undefined && body !== null && { body: Buffer.from(body.toString()) }),
  })
  const pairs: [string, string][] = []
  for (const [name, values] of received) for (const value of values) pairs.push([name, value])
  return new Response(bytes && new Uint8Array(bytes), { status, headers: pairs })
}

const fetchBytes = async (url: URL, { mayBePrivate }: Reach, ask: Omit<HttpAsk, 'signal'>) => {
  const refused = faultOf(url, mayBePrivate)
  if (refused !== undefined) throw new HttpFailure(refused)
  const isPost = ask.method === 'POST'
  const upstream = new HttpUpstream(url, mayBePrivate ? {} : { lookup: publicOnly })
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
export const faultOf = ({ protocol, hostname }: URL, mayBePrivate: boolean): string | undefined => {
  const host = hostname.replace(/^\[|\]$/g, '')
  const isLocal = host === 'localhost' || (isIP(host) > 0 && loopback.check(host, familyOf(host)))
  const isAllowed = protocol === 'https:' || (protocol === 'http:' && isLocal)
  if (!isAllowed) return 'a URL must be https, or http on loopback'
  if (!mayBePrivate && (isLocal || isPrivate(host))) return 'a URL of a private address is not followed'
  return undefined
}

/** Whether a host has a private address. Never rejects: a host that is not found has none. */
export const hasPrivateAddress = ({ hostname }: URL): Promise<boolean> => {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) > 0) return Promise.resolve(isPrivate(host))
  return new Promise(resolve => {
    lookUp(host, { all: true }, (error, found) => {
      resolve(error === null && found.some(({ address }) => isPrivate(address)))
    })
  })
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

const listOf = (subnets: readonly (readonly [address: string, prefix: number])[]): BlockList => {
  const list = new BlockList()
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, familyOf(address))
  return list
}

const loopback = listOf([['127.0.0.0', 8], ['::1', 128], ['::ffff:127.0.0.0', 104]])

/** Addresses that are not of the internet (IANA special-purpose registries), also inside IPv6 addresses. */
const privateAddresses = listOf([
  ['0.0.0.0', 8], ['10.0.0.0', 8], ['100.64.0.0', 10], ['127.0.0.0', 8], ['169.254.0.0', 16],
  ['172.16.0.0', 12], ['192.0.0.0', 24], ['192.168.0.0', 16], ['198.18.0.0', 15], ['224.0.0.0', 3],
  ['::', 96], ['64:ff9b::', 96], ['64:ff9b:1::', 48], ['100::', 64], ['2002::', 16], ['fc00::', 7],
  ['fe80::', 10], ['fec0::', 10], ['ff00::', 8],
])

const isPrivate = (address: string): boolean =>
  isIP(address) > 0 && privateAddresses.check(address, familyOf(address))

/** Looks a host name up for a connection: the address that is checked is the one that is connected to. */
const publicOnly: LookupFunction = (hostname, options, done) => {
  lookUp(hostname, { ...options, all: true }, (error, found) => {
    if (error) return done(error, '')
    const [first] = found
    if (first === undefined || found.some(({ address }) => isPrivate(address))) {
      return done(new HttpFailure('a URL of a private address is not followed'), '')
    }
    if (options.all === true) done(null, found)
    else done(null, first.address, first.family)
  })
}
