import { isArray, isObject, isString, type JsonObject, member, parseJson } from '#protocol/unmetered.js'
import { isLoopback } from '#addresses.js'
import { digest, type Seals } from './seals.js'

/** A client of ours, which has registered itself. Everything but the id is its own claim. */
export interface FacadeClient {
  /** A short digest of the client id, which is long. */
  readonly id: string
  readonly name: string | undefined
  readonly redirectUris: readonly string[]
}

/** Bounds of a registration, in characters: a client id holds all of it, and stands in URLs. */
const longestName = 100
const maxUris = 10
const longestUris = 2000

/** A registration that is refused (RFC 7591, section 3.2.2). */
export interface BadRegistration {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata'
  readonly error_description: string
}

/** Registers a client: its id is its registration, sealed, so that nothing is kept (RFC 7591, section 3). */
export const registerClient = async (body: string, seals: Seals): Promise<JsonObject | BadRegistration> => {
  const metadata = parseJson(body)
  if (!isObject(metadata)) {
    return { error: 'invalid_client_metadata', error_description: 'the body is no JSON object' }
  }
  const listed = member(metadata, 'redirect_uris')
  const uris = isArray(listed) ? listed.filter(isString).slice(0, maxUris + 1) : []
  const isFew = uris.length > 0 && uris.length <= maxUris && uris.join('').length <= longestUris
  if (!isArray(listed) || listed.length !== uris.length || !isFew || !uris.every(isRedirectUri)) {
    return {
      error: 'invalid_redirect_uri',
      error_description:
        'redirect_uris must be a few URLs: https, http on loopback, or of an app\'s own scheme',
    }
  }
  const name = member(metadata, 'client_name')
  const content = { uris, ...(isString(name) && { name: name.slice(0, longestName) }) }
  return {
    client_id: await seals.seal('client', content),
    client_id_issued_at: Math.floor(Date.now() / 1000),
    redirect_uris: uris,
    ...(content.name !== undefined && { client_name: content.name }),
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}

/** @returns undefined for an id that was not given here */
export const clientOf = async (id: string, seals: Seals): Promise<FacadeClient | undefined> => {
  const content = await seals.open('client', id)
  const [name, uris] = [member(content, 'name'), member(content, 'uris')]
  if (!isArray(uris)) return undefined
  return { id: idOf(id), name: isString(name) ? name : undefined, redirectUris: uris.filter(isString) }
}

export const idOf = (clientId: string): string => digest(clientId).slice(0, 22)

/** Schemes that a browser runs, or that lead to no program of the user's. */
const noRedirect =
  /^(?:about|blob|chrome|data|file|filesystem|ftp|javascript|mailto|vbscript|view-source|wss?):/

const isRedirectUri = (text: string): boolean => {
  if (!URL.canParse(text) || !/^[\x21-\x7e]+$/.test(text)) return false
  const url = new URL(text)
  if (text.includes('#') || url.username !== '' || url.password !== '') return false
  if (url.protocol === 'https:') return true
  if (url.protocol === 'http:') return isLoopback(url.hostname)
  return !noRedirect.test(url.protocol) && url.href.includes('://')
}

/**
 * Whether a client may have the user sent there: to one of its URLs, character by character; on loopback the
 * port may be another one, because a program gets it from the system (RFC 8252, section 7.3).
 */
export const mayRedirect = ({ redirectUris }: FacadeClient, text: string): boolean => {
  if (redirectUris.includes(text)) return true
  const portless = withoutPort(text)
  return portless !== undefined && redirectUris.some(uri => withoutPort(uri) === portless)
}

const withoutPort = (text: string): string | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === 'http:' && isLoopback(url.hostname) && isRedirectUri(text)
    ? `${url.hostname}${url.pathname}${url.search}` : undefined
}
