import type { ResponseHead } from '#relay/protocol/frame.js'
import { wantedBy } from '../http/challenge.js'
import { discard, HttpFailure, type HttpAsk, type HttpReply, type HttpRequests } from './pool.js'

/**
 * Whose credentials the client shows: the server's; or this relay's, which checks them. `exchanged`: this
 * relay's, and the server gets a token of the same user for them (auth.facade).
 */
export type Credentials = 'of the server' | 'of the relay' | 'exchanged'

/** The server has refused a request for its credentials. */
export class RefusedByServer extends HttpFailure {
  /** @param head of the response to the client */
  constructor(message: string, readonly head: ResponseHead) {
    super(message)
  }
}

/**
 * Headers about authorization (RFC 9110, sections 11.6 and 11.7; RFC 9449, section 8.2; RFC 8053). A client
 * takes them for those of the relay, whose resource it asks: with `resource_metadata` (RFC 9728, section 5.1)
 * a server would lead it to another issuer, which gets the client's refresh token and secret.
 */
const ofAuthorization = [
  'www-authenticate', 'proxy-authenticate', 'authentication-info', 'proxy-authentication-info', 'dpop-nonce',
  'optional-www-authenticate', 'authentication-control',
]

/**
 * The one place that decides what a server may tell clients about authorization: nothing, where this relay
 * authenticates them. Its refusals are no answer then: the client, whom the relay has let in, can do nothing.
 * @returns the head for the client, and whether it is a refusal: its body does not pass
 */
export const guardedHead = (
  { status, headers }: ResponseHead, credentials: Credentials,
): { readonly head: ResponseHead; readonly isRefusal: boolean } => {
  if (credentials === 'of the server') return { head: { status, headers }, isRefusal: false }
  const isRefusal = status === 401 || status === 403 || status === 407
  if (!isRefusal) {
    const isTold = ofAuthorization.some(name => headers.has(name))
    if (!isTold) return { head: { status, headers }, isRefusal }
    const others = new Map([...headers].filter(([name]) => !ofAuthorization.includes(name)))
    return { head: { status, headers: others }, isRefusal }
  }
  // The user's own token was refused: the client renews it at this relay, whose challenge the front puts in
  // place of the server's (`ownChallenge`).
  const isUsers = status === 401 || (status === 403 && wantedBy(headers).error === 'insufficient_scope')
  if (credentials !== 'exchanged' || !isUsers) return { head: { status: 502, headers: new Map() }, isRefusal }
  const challenge = headers.get('www-authenticate')
  return { head: { status, headers: new Map(challenge && [['www-authenticate', challenge]]) }, isRefusal }
}

/** A server behind a relay that may authenticate its clients. */
export class GuardedUpstream implements HttpRequests {
  /** @param credentials asked for each response: a reload may change it @param refused for the records */
  constructor(
    private readonly upstream: HttpRequests,
    private readonly credentials: () => Credentials,
    private readonly refused: (reason: string) => void,
  ) {}

  get url(): URL {
    return this.upstream.url
  }

  async request(ask: HttpAsk): Promise<HttpReply> {
    const reply = await this.upstream.request(ask)
    const credentials = this.credentials()
    const isSo = credentials !== 'exchanged' || ask.headers.has('authorization')
    const { head, isRefusal } = guardedHead(reply, isSo ? credentials : 'of the relay')
    if (!isRefusal) return head.headers === reply.headers ? reply : { ...head, body: reply.body }
    discard(reply)
    const reason = `the server refuses the credentials that it gets (HTTP ${reply.status})`
    this.refused(reason)
    throw new RefusedByServer(reason, head)
  }

  close(): Promise<void> {
    return this.upstream.close()
  }
}
