import type { AuthorizationServer } from 'oauth4webapi'
import { isList, isRecord, isString, field, parseData, type DataObject } from '#relay/protocol/unmetered.js'
import { quote } from '#relay/protocol/quote.js'
import { documentFailure, type GuardedFetch } from '#relay/transport/upstream/document.js'
import { HttpFailure } from '#relay/transport/upstream/pool.js'
import { scopesIn } from '#relay/transport/http/challenge.js'
import { metadataUrls, resourcePath } from '#relay/transport/http/well-known.js'

export type { AuthorizationServer }

/** What a server says of how to get a token for it. */
export interface Discovered {
  /** The metadata of the issuer that is to be used; its `issuer` is the one that was asked for. */
  readonly server: AuthorizationServer
  /** For the `resource` of every request (RFC 8707). */
  readonly resource: string
  /** The `scopes_supported` of the resource. */
  readonly scopes: readonly string[] | undefined
}

interface Asked {
  /** The `resource_metadata` of the challenge. */
  readonly resourceMetadata?: string | undefined
  /** The issuer to use; an error if the resource names only others. Undefined: the first with metadata. */
  readonly issuer?: string | undefined
}

/** Most issuers of one resource that are tried. */
const maxIssuers = 3

/**
 * Finds the issuer of tokens for a server: Protected Resource Metadata, by the challenge, then at the
 * well-known path of the server's URL, then at the root; then the issuer's metadata (2026-07-28,
 * authorization server discovery). A server without metadata may be its own issuer (2025-03-26).
 * @returns undefined when there is no metadata at all
 * @throws HttpFailure when the metadata contradicts itself, or names what may not be fetched
 */
export const discover = async (
  url: URL, { resourceMetadata, issuer }: Asked, fetch: GuardedFetch,
): Promise<Discovered | undefined> => {
  const found = await resourceOf(url, resourceMetadata, fetch)
  if (found !== undefined && issuer !== undefined && !found.issuers.includes(issuer)) {
    throw new HttpFailure(`${url.host} names other issuers than ${issuer}: ` +
      `${found.issuers.slice(0, maxIssuers).map(quote).join(', ')}. If this is right, change auth.issuer, or ` +
      `run mcp-customs logout ${canonicalUrl(url)}`)
  }
  const issuers = issuer === undefined ? (found?.issuers ?? [url.origin]) : [issuer]
  let fault: string | undefined
  for (const one of issuers.slice(0, maxIssuers)) {
    const server = await issuerMetadata(one, fetch).catch((error: unknown) => {
      fault ??= error instanceof Error ? error.message : undefined
      return undefined
    })
    if (server === undefined) continue
    return { server, resource: found?.resource ?? canonicalUrl(url), scopes: found?.scopes }
  }
  if (found === undefined && fault === undefined) return undefined
  const [first = ''] = issuers
  throw new HttpFailure(fault ?? `the issuer ${quote(first)} has no metadata at its well-known paths`)
}

/** The URL as a resource: without fragment, query and a slash at its end. */
export const canonicalUrl = ({ origin, pathname }: URL): string => origin + pathname.replace(/\/$/, '')

interface Resource {
  readonly resource: string
  readonly issuers: readonly string[]
  readonly scopes: readonly string[] | undefined
}

const resourceOf = async (
  url: URL, named: string | undefined, fetch: GuardedFetch,
): Promise<Resource | undefined> => {
  const path = url.pathname.replace(/\/$/, '')
  const places = [
    ...(named !== undefined && URL.canParse(named) ? [new URL(named)] : []),
    ...(path === '' ? [] : [new URL(resourcePath + path + url.search, url.origin)]),
    new URL(resourcePath, url.origin),
  ]
  for (const place of places) {
    const document = await documentAt(place, fetch, place === places[0] && named !== undefined)
    if (document === undefined) continue
    const resource = field(document, 'resource')
    const issuers = textsOf(document, 'authorization_servers')
    const isHosts = place.origin === url.origin && place.pathname === resourcePath
    if (!isString(resource) || !isResourceOf(resource, url, isHosts)) {
      throw new HttpFailure(`${place.host} has metadata of another resource` +
        (isString(resource) ? `: ${quote(resource)}` : ''))
    }
    if (issuers === undefined || issuers.length === 0) {
      throw new HttpFailure(`the metadata of ${place.host} names no issuer`)
    }
    return { resource, issuers, scopes: scopesIn(textsOf(document, 'scopes_supported')?.join(' ')) }
  }
  return undefined
}

/**
 * Whether a resource is that of this server (RFC 9728, section 3.3): the server's URL.
 * @param mayBeHosts the document at the root, which is the host's own, may name the host
 */
export const isResourceOf = (resource: string, url: URL, mayBeHosts = true): boolean => {
  if (!URL.canParse(resource)) return false
  const named = new URL(resource)
  return (canonicalUrl(named) === canonicalUrl(url) && ['', url.search].includes(named.search))
    || (mayBeHosts && canonicalUrl(named) === url.origin && named.search === '')
}

/** @throws HttpFailure where the metadata is that of another issuer */
export const issuerMetadata = async (
  issuer: string, fetch: GuardedFetch,
): Promise<AuthorizationServer | undefined> => {
  if (!URL.canParse(issuer)) throw new HttpFailure(`the issuer ${quote(issuer)} is no URL`)
  let failure: unknown
  for (const place of metadataUrls(new URL(issuer))) {
    const document = await documentAt(place, fetch, true).catch((error: unknown) => {
      failure ??= error
      return undefined
    })
    if (document === undefined) continue
    // RFC 8414, section 3.3: character by character.
    if (field(document, 'issuer') !== issuer) {
      throw new HttpFailure(`${place.host} has metadata of another issuer`)
    }
    return serverMetadata(document, issuer)
  }
  if (failure instanceof Error) throw failure
  return undefined
}

/** @param isNamed whether a header or document names this URL: then a fetch that fails is an error */
export const documentAt = async (
  url: URL, fetch: GuardedFetch, isNamed: boolean,
): Promise<DataObject | undefined> => {
  try {
    const response = await fetch(url.href, { method: 'GET', headers: { accept: 'application/json' } })
    const value = response.status === 200 ? parseData(await response.text()) : undefined
    return isRecord(value) ? value : undefined
  } catch (error) {
    if (isNamed) throw new HttpFailure(documentFailure(url, error))
    return undefined
  }
}

const textsOf = (document: DataObject, name: string): readonly string[] | undefined => {
  const value = field(document, name)
  return isList(value) ? value.filter(isString) : undefined
}

const endpoints = [
  'authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint',
  'device_authorization_endpoint', 'jwks_uri',
] as const
const lists = [
  'scopes_supported', 'grant_types_supported', 'code_challenge_methods_supported',
  'token_endpoint_auth_methods_supported', 'id_token_signing_alg_values_supported',
  'dpop_signing_alg_values_supported',
] as const
const switches =
  ['authorization_response_iss_parameter_supported', 'client_id_metadata_document_supported'] as const

/** The members of an issuer's metadata that this program uses. Those of a wrong type are left out. */
export const serverMetadata = (document: DataObject, issuer: string): AuthorizationServer => ({
  issuer,
  ...Object.fromEntries(endpoints.flatMap(name => {
    const value = field(document, name)
    return isString(value) && URL.canParse(value) ? [[name, value]] : []
  })),
  ...Object.fromEntries(lists.flatMap(name => {
    const value = textsOf(document, name)
    return value === undefined ? [] : [[name, value]]
  })),
  ...Object.fromEntries(switches.map(name => [name, field(document, name) === true])),
})
