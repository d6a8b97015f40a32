import { randomBytes } from 'node:crypto'
import type { Fault, Frame } from '../../protocol/frame.js'
import { compareHeaders } from '../../protocol/headers.js'
import { errorCode, type IdKey, type Request } from '../../protocol/json-rpc.js'
import { isObject, isString } from '../../protocol/json.js'
import { inMeta, isRevision } from '../../protocol/revisions/index.js'
import { isModernVersion, modernErrors, passedOn } from '../http/headers.js'
import { contextDigest, type Credentials } from './credentials.js'
import type { FrontRequest, ProcessPlace } from './request.js'

/** What the front has to know of a client's HTTP request: of its head, and of the message in its body. */

/** Who sends requests, as far as it is known. */
export interface Peer {
  /** The address that it has here; empty for a socket of this machine. */
  readonly address: string
  /** Which of our tokens it showed, counted from 0; undefined where none is asked for. */
  readonly token: number | undefined
}

/** This process, in `Via`. Its address is nobody else's business. */
const pseudonym = `mcp-customs-${randomBytes(6).toString('hex')}`

/** What the head of a request says, read once. */
export class Arrival implements Peer {
  /** Of a target in any form (RFC 9112, section 3.2), without its query and the slash behind it. */
  readonly path: string
  readonly address: string
  /** Set once the token was checked. */
  token: number | undefined
  readonly #request: Pick<FrontRequest, 'url' | 'headers' | 'socket' | 'place'>
  #headers: ReadonlyMap<string, string> | undefined
  #context: { readonly credentials: Credentials; readonly digest: string } | undefined

  constructor(request: Pick<FrontRequest, 'url' | 'headers' | 'socket' | 'place'>, token?: number) {
    this.#request = request
    this.path = pathOf(request.url ?? '')
    // An address of IPv4 is written as such also where it comes by a socket of IPv6.
    this.address = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
    this.token = token
  }

  get peer(): Peer {
    return { address: this.address, token: this.token }
  }

  get scheme(): 'http' | 'https' {
    return 'encrypted' in this.#request.socket ? 'https' : 'http'
  }

  /** See `FrontRequest`. */
  get place(): ProcessPlace | undefined {
    return this.#request.place
  }

  /** By lower-case name. */
  get headers(): ReadonlyMap<string, string> {
    if (this.#headers !== undefined) return this.#headers
    const headers = new Map<string, string>()
    for (const [name, value] of Object.entries(this.#request.headers)) {
      if (value !== undefined) headers.set(name, typeof value === 'string' ? value : value.join(', '))
    }
    return this.#headers = headers
  }

  /** The `MCP-Protocol-Version`. */
  get version(): string | undefined {
    return this.headers.get('mcp-protocol-version')
  }

  /** The version is of a revision that knows no sessions. */
  get modern(): boolean {
    return isModernVersion(this.version)
  }

  get sessionId(): string | undefined {
    return this.headers.get('mcp-session-id')
  }

  /** Equal for requests that no credentials tell from each other. */
  context(credentials: Credentials): string {
    if (this.#context?.credentials !== credentials) this.#context = { credentials, digest: contextDigest(credentials, this.headers) }
    return this.#context.digest
  }

  /** The request has passed this process before: the server that it was handed on to has led it back. */
  get isLoop(): boolean {
    return this.#request.headers.via?.includes(pseudonym) === true
  }

  /** The headers as they are handed on, with those that a proxy adds. */
  get handedOn(): ReadonlyMap<string, string> {
    return passedOn(this.headers, {
      via: `1.1 ${pseudonym}`, 'x-forwarded-for': this.address, 'x-forwarded-proto': this.scheme,
      'x-forwarded-host': this.headers.get('host') ?? '',
    })
  }
}

const absolute = /^https?:\/\/([^/?#]*)/i

const pathOf = (url: string): string => {
  const target = url.startsWith('/') ? url : url.replace(absolute, '')
  const query = target.indexOf('?')
  const path = query < 0 ? target : target.slice(0, query)
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/**
 * The host that a request is for: that of its target, where it has one, and not the header's (RFC 9112,
 * section 3.2.2).
 */
export const hostOf = ({ url = '', headers }: Pick<FrontRequest, 'url' | 'headers'>): string | undefined =>
  (url.startsWith('/') ? undefined : absolute.exec(url)?.[1]) ?? headers.host

/** The ids that are due an answer; of a message that cannot be used, the likeliest. */
export const dueIn = ({ message }: Frame): readonly IdKey[] => {
  switch (message.kind) {
    case 'request':
      return [message.key]
    case 'batch':
      return message.members.flatMap(dueIn)
    case 'unusable':
      return message.keys.slice(0, 1)
    case 'notification':
    case 'result':
    case 'error':
    case 'page':
      return []
  }
}

export const requestsIn = ({ message }: Frame): readonly Request[] => {
  if (message.kind === 'batch') return message.members.flatMap(requestsIn)
  return message.kind === 'request' ? [message] : []
}

export const isInitialize = (frame: Frame): boolean => requestsIn(frame).some(({ method }) => method === 'initialize')

/** @param version the header's: a revision of the handshake kind that does not exist */
export const isUnknownRevision = (version: string | undefined): boolean =>
  version !== undefined && !isRevision(version) && !isModernVersion(version)

/** A request says of itself that it is stateless. */
export const isModern = (frame: Frame): boolean =>
  requestsIn(frame).some(({ params }) => inMeta(params, 'protocolVersion') !== undefined)

/** The message as it came by HTTP: with its headers, and with a fault where they say something else than its body. */
export const received = (
  { bytes, message, faults, otherKeys }: Frame,
  headers: ReadonlyMap<string, string>,
  modern: boolean,
): Frame => {
  const disagreement = modern && message.kind === 'request' ? compareHeaders(headers, message) : undefined
  const fault: Fault | undefined = disagreement === undefined ? undefined : { kind: 'http', path: '', message: disagreement }
  // Written out, not spread, for the speed of all that reads it: see the entries of `Context`.
  return { bytes, message, faults: fault ? [...faults, fault] : faults, otherKeys, envelope: { headers } }
}

/**
 * The HTTP status of the answers to `asked` for which no HTTP server has named one (2026-07-28, Streamable
 * HTTP: sending messages, protocol version header, server validation). Clients of older revisions expect
 * errors with 200.
 */
export const statusOf = (answers: readonly Frame[], asked: Frame, modern: boolean): number => {
  const codes = answers.flatMap(({ message }) => (message.kind === 'error' ? [message.error.code] : []))
  const [code] = codes
  if (code === undefined) return 200
  if (asked.message.kind === 'unusable' || asked.faults.length > 0) return isOfRequest(code) ? 400 : 200
  // A batch that is refused as such is answered once for each of its requests.
  if (asked.message.kind === 'batch') return codes.length === dueIn(asked).length && codes.every(one => one === errorCode.blocked) ? 400 : 200
  if (!modern) return 200
  if (code === errorCode.methodNotFound) return 404
  if (code === errorCode.invalidParams) return lacksEnvelope(asked) ? 400 : 200
  return code !== errorCode.blocked && isOfRequest(code) ? 400 : 200
}

/** The fault is the request's (2026-07-28, error codes), or it was refused here. */
const isOfRequest = (code: number): boolean => modernErrors.has(code) || code === errorCode.blocked

/** A request lacks what every request of a modern client carries (2026-07-28, `_meta`). */
export const lacksEnvelope = (frame: Frame): boolean =>
  requestsIn(frame).some(({ params }) =>
    !isString(inMeta(params, 'protocolVersion')) || !isObject(inMeta(params, 'clientCapabilities')))

/** The revision that the header and the body name alike, where it is none of the stateless kind. */
export const unsupportedVersion = (version: string | undefined, frame: Frame): string | undefined => {
  const named = requestsIn(frame).map(({ params }) => inMeta(params, 'protocolVersion'))
  return version !== undefined && !isModernVersion(version) && named.includes(version) ? version : undefined
}
