import type { Identity } from '#relay/core/vocabulary.js'
import type { ResponseHead } from '#relay/protocol/frame.js'
import { quote } from '#relay/protocol/quote.js'
import { wantedBy } from '../http/challenge.js'
import { resourcePath } from '../http/well-known.js'
import { refusal, type Refusal } from './refusal.js'

/** What tokens need at one endpoint beside the scopes that every token needs. */
export interface EndpointScopes {
  /** The server's name. */
  readonly name: string
  readonly scopes: readonly string[]
  /** Of its tools. */
  readonly more: readonly string[]
}

/** This relay as a protected resource, for which clients get tokens (RFC 9728). */
export interface Resource {
  /** The public URL of this relay, without a slash at its end. Tokens are for it, or for an endpoint. */
  readonly audience: string
  /** Every token needs these scopes. */
  readonly scopes: readonly string[]
}

export interface ProtectedResource extends Resource {
  /** The issuer's URL, compared exactly with the `iss` of tokens. */
  readonly issuer: string
  /** Of the endpoint. */
  readonly endpoint?: EndpointScopes | undefined
}

/** What a valid token says. */
export interface Claims {
  readonly subject: Identity
  /** The `aud`. */
  readonly audience: readonly string[]
  readonly upstream?: UpstreamToken
}

/** The client's own token for the server behind, in place of the one that the client showed. */
export interface UpstreamToken {
  /** The Authorization header. */
  readonly header: string
}

/** Why there are no claims: the token is not valid, or it cannot be checked now. */
export type Unverified = 'invalid' | 'unavailable'

/** Checks tokens of an issuer. */
export interface Authority {
  /** The resource at an endpoint's path; undefined where tokens of this authority are not accepted. */
  resourceAt(path: string): ProtectedResource | undefined
  /**
   * Never rejects. A token that was checked a short time ago is answered at once. The tokens of open streams
   * are checked again and again.
   * @param client equal for clients of one network: made-up tokens cost those of the same network only
   */
  check(token: string, path: string, client: string): Claims | Promise<Claims | Unverified>
  /** A valid token is for another audience: for the operator's log. */
  refused?(claims: Claims, expected: readonly string[]): void
}

/** A client that was let in. */
export interface Access {
  /** The index of the configured token. */
  readonly token?: number | undefined
  readonly subject?: Identity | undefined
  readonly upstream?: UpstreamToken | undefined
}

/**
 * The public URL of an endpoint: the `resource` of its metadata, and the audience of its tokens.
 * @param path such as `/files/mcp`; the audience may end with it already
 */
const resourceUrl = ({ audience }: Resource, path: string): string =>
  new URL(audience).pathname.endsWith(path) ? audience : audience + path

/** The path of the endpoint that a request asks the metadata of; undefined for any other request. */
export const resourceMetadata = (path: string): string | undefined => {
  if (path === resourcePath) return '/mcp'
  return path.startsWith(`${resourcePath}/`) ? path.slice(resourcePath.length) : undefined
}

/** Protected Resource Metadata (RFC 9728, section 2). */
export const metadataText = (resource: ProtectedResource, path: string): string => JSON.stringify({
  resource: resourceUrl(resource, path),
  authorization_servers: [resource.issuer],
  ...scopesIn(resource, resource.endpoint?.more),
  bearer_methods_supported: ['header'],
})

/** All that a client may ask for: some clients ask for these only, whatever a challenge says. */
const scopesIn = (resource: ProtectedResource, more: readonly string[] = []) => {
  const scopes = [...new Set([...neededAt(resource), ...more])]
  return scopes.length > 0 && { scopes_supported: scopes }
}

/** The scopes that each request to the endpoint needs. */
export const neededAt = ({ scopes, endpoint }: ProtectedResource): readonly string[] =>
  [...new Set([...scopes, ...endpoint?.scopes ?? []])]

type Fault = 'missing' | 'malformed' | 'invalid' | 'scope'

const faults = {
  missing: [401, undefined, 'A bearer token is needed'],
  malformed: [400, 'invalid_request', 'The Authorization header is not a bearer token'],
  invalid: [401, 'invalid_token', 'The bearer token is not valid here'],
  scope: [403, 'insufficient_scope', 'The bearer token does not grant a scope that this needs'],
} as const

/** A refusal that tells the client where it gets a token (RFC 6750, section 3; RFC 9728, section 5.1). */
export const challenge = (
  resource: Resource, path: string, fault: Fault, scopes: readonly string[] = resource.scopes,
): Refusal => {
  const [status, error, message] = faults[fault]
  const url = new URL(resourceUrl(resource, path))
  const metadata = `${url.origin}${resourcePath}${url.pathname === '/' ? '' : url.pathname}`
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
    `resource_metadata="${metadata}"`,
  ]
  return refusal(status, message, { 'www-authenticate': `Bearer ${parameters.join(', ')}` })
}

/** What needs scopes that a client's token lacks. */
interface Lack {
  readonly missing: readonly string[]
  /** The server, by its name; undefined: the relay. */
  readonly server: string | undefined
  readonly tools?: readonly string[] | undefined
  readonly subject: Identity | undefined
}

/** Most tools that a refusal names. */
const maxNamed = 5

/**
 * Refuses a token that lacks scopes. The client and the operator read which, and for what.
 * @param needed all that the client should ask for (2026-07-28, authorization, scope challenge)
 */
export const lacking = (
  resource: Resource, path: string, needed: readonly string[],
  { missing, server, tools = [], subject }: Lack,
): Refusal => {
  const at = server === undefined ? 'every request here' : `the server ${quote(server)}`
  // A client chooses how many it names.
  const named = [...new Set(tools)].slice(0, maxNamed).map(name => quote(name))
  const by = tools.length === 0 ? at : `the tool ${named.join(', ')} of ${at}`
  const message = `The bearer token lacks a scope that ${by} needs: ${missing.join(' ')}`
  return { ...challenge(resource, path, 'scope', needed), message, subject }
}

/** Whether a valid token lets its holder in at this path: it was issued for us, with the scopes. */
export const admit = (
  resource: ProtectedResource, path: string, claims: Claims | Unverified, refused?: Authority['refused'],
): Access | Refusal => {
  if (claims === 'unavailable') return unavailable
  if (claims === 'invalid') return challenge(resource, path, 'invalid')
  const ours = [canonicalResource(resource.audience), canonicalResource(resourceUrl(resource, path))]
  if (!claims.audience.some(one => ours.includes(canonicalResource(one)))) {
    refused?.(claims, ours)
    return challenge(resource, path, 'invalid')
  }
  const { subject, upstream } = claims
  return scopeLack(resource, path, subject) ?? { subject, upstream }
}

/** The refusal of a client that lacks a scope which each request to the endpoint needs. */
export const scopeLack = (
  resource: ProtectedResource, path: string, subject: Identity,
): Refusal | undefined => {
  const needed = neededAt(resource)
  const missing = needed.filter(scope => !subject.scopes.includes(scope))
  const server = resource.scopes.some(scope => missing.includes(scope)) ? undefined : resource.endpoint?.name
  return missing.length === 0 ? undefined : lacking(resource, path, needed, { missing, server, subject })
}

/**
 * The head of a server's response, with a challenge of ours in place of the server's, which names metadata
 * and tokens that are not the client's.
 */
export const ownChallenge = (resource: Resource, path: string, head: ResponseHead): ResponseHead => {
  if (head.status !== 401 && !head.headers.has('www-authenticate')) return head
  const { error, scopes } = wantedBy(head.headers)
  const headers = new Map(head.headers)
  headers.delete('www-authenticate')
  const lacks = head.status === 403 && error === 'insufficient_scope'
  if (head.status === 401 || lacks) {
    const named = scopes?.length === 0 ? undefined : scopes
    const ours = challenge(resource, path, lacks ? 'scope' : 'invalid', named)
    headers.set('www-authenticate', Object.values(ours.headers ?? {}))
  }
  return { status: head.status, headers }
}

const unavailable = refusal(
  503, 'The issuer of the tokens cannot be reached: no token can be checked', { 'retry-after': '5' },
)

/** Scheme and host in lower case, no slash at the end (2026-07-28, authorization, canonical server URI). */
export const canonicalResource = (url: string): string => {
  if (!URL.canParse(url)) return url
  const { href, hash } = new URL(url)
  return hash === '' ? href.replace(/\/$/, '') : url
}
