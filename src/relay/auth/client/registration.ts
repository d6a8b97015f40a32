import { isRecord, isString, field, parseData } from '#relay/protocol/unmetered.js'
import type { GuardedFetch } from '#relay/transport/upstream/document.js'
import { HttpFailure } from '#relay/transport/upstream/pool.js'
import type { AuthorizationServer } from './discovery.js'

/** How a client authenticates at the token endpoint. */
export type TokenEndpointMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** This program as one client of one issuer. */
export interface RegisteredClient {
  /** `IssuerClient` sends the credentials to no other issuer. */
  readonly issuer: string
  readonly id: string
  readonly secret?: string | undefined
  /** PEM (PKCS #8), for `private_key_jwt`. */
  readonly privateKey?: string | undefined
  /** Undefined: by what the client has, and the issuer's metadata. */
  readonly method?: TokenEndpointMethod | undefined
  /** A registered client may use this URL alone; undefined: any port of loopback. */
  readonly redirectUri?: string | undefined
  /** In milliseconds since 1970. */
  readonly secretExpiresAt?: number | undefined
}

/** The client that the operator names. */
export interface GivenClient extends RegisteredClient {
  /** The id is the URL of a Client ID Metadata Document, which not every issuer supports. */
  readonly isDocument: boolean
}

/** @returns the operator's client, if this issuer can know it (2026-07-28, client registration) */
export const givenClient = (
  given: GivenClient | undefined, server: AuthorizationServer,
): RegisteredClient | undefined => {
  if (given?.issuer !== server.issuer) return undefined
  const isKnown = !given.isDocument || server.client_id_metadata_document_supported === true
  return isKnown ? given : undefined
}

interface Registration {
  readonly redirectUri: string
  readonly applicationType?: 'native' | 'web'
  /** Besides those of the authorization code flow. */
  readonly grants?: readonly string[]
}

/**
 * Registers a client (RFC 7591). The issuer sends the user back to the redirect URI only.
 * @throws HttpFailure
 */
export const register = async (
  server: AuthorizationServer,
  { redirectUri, applicationType = 'native', grants = [] }: Registration,
  fetch: GuardedFetch,
): Promise<RegisteredClient> => {
  const { issuer, registration_endpoint: endpoint } = server
  const remedy = 'register this program there, and name it in servers.NAME.auth.clientId'
  if (endpoint === undefined) throw new HttpFailure(`${new URL(issuer).host} registers no clients: ${remedy}`)
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'mcp-customs', redirect_uris: [redirectUri], application_type: applicationType,
      grant_types: ['authorization_code', 'refresh_token', ...grants], response_types: ['code'],
      token_endpoint_auth_method: wantedMethod(server),
    }),
  })
  const document = parseData(await response.text())
  const text = (key: string): string | undefined => {
    const value = isRecord(document) ? field(document, key) : undefined
    return isString(value) ? value : undefined
  }
  const id = text('client_id')
  if (!response.ok || id === undefined) {
    const error = text('error')
    const code = error !== undefined && /^\w{1,40}$/.test(error) ? error : `HTTP ${response.status}`
    throw new HttpFailure(`${new URL(issuer).host} does not register this program (${code}): ${remedy}`)
  }
  const method = text('token_endpoint_auth_method')
  const expires = isRecord(document) ? field(document, 'client_secret_expires_at') : undefined
  return {
    issuer, id, redirectUri, secret: text('client_secret'), method: methods.find(one => one === method),
    secretExpiresAt: typeof expires === 'number' && expires > 0 ? expires * 1000 : undefined,
  }
}

const methods: readonly TokenEndpointMethod[] = ['none', 'client_secret_basic', 'client_secret_post']

const wantedMethod = (
  { token_endpoint_auth_methods_supported: supported }: AuthorizationServer,
): TokenEndpointMethod =>
  methods.find(one => supported?.includes(one)) ?? 'none'

/** @returns the method that is used, by what the client has and the issuer supports */
export const authMethodOf = (
  { method, secret, privateKey }: RegisteredClient,
  { token_endpoint_auth_methods_supported: supported }: AuthorizationServer,
): TokenEndpointMethod => {
  if (method !== undefined) return method
  if (privateKey !== undefined) return 'private_key_jwt'
  if (secret === undefined) return 'none'
  // RFC 8414, section 2: without a list, it is client_secret_basic.
  return supported?.includes('client_secret_basic') === false && supported.includes('client_secret_post')
    ? 'client_secret_post' : 'client_secret_basic'
}
