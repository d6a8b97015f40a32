import { isLoopback } from '#relay/base/addresses.js'
import { isList, isRecord, isString, type DataObject, field, parseData } from '#relay/protocol/unmetered.js'
import type { GuardedFetch } from '#relay/transport/upstream/document.js'
import { digest, type Seals } from './seals.js'

/** A client of ours. Everything but the id is its own claim. */
export interface FacadeClient {
  /** A short digest of the client id, which may be long. */
  readonly id: string
  readonly name: string | undefined
  /** The host of its metadata document: whoever has it answers for the client. */
  readonly host?: string
  readonly redirectUris: readonly string[]
}

/** Bounds of what a client says of itself, in characters: a client id holds all of it, and stands in URLs. */
const longestName = 100
const maxUris = 10
const longestUris = 2000
const longestDocument = 10_000

/** A registration that is refused (RFC 7591, section 3.2.2). */
export interface BadRegistration {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata'
  readonly error_description: string
}

/** Registers a client: its id is its registration, sealed, so that nothing is kept (RFC 7591, section 3). */
export const registerClient = async (body: string, seals: Seals): Promise<DataObject | BadRegistration> => {
  const metadata = parseData(body)
  if (!isRecord(metadata)) {
    return { error: 'invalid_client_metadata', error_description: 'the body is no JSON object' }
  }
  const uris = redirectUrisIn(metadata)
  if (uris === undefined) {
    return {
      error: 'invalid_redirect_uri',
      error_description: 'redirect_uris must be a few URLs: https, http on loopback, or of a scheme that is an ' +
        'app\'s own domain in reverse (RFC 8252, section 7.1)',
    }
  }
  const name = nameIn(metadata)
  return {
    client_id: await seals.seal('client', { uris, ...(name !== undefined && { name }) }),
    client_id_issued_at: Math.floor(Date.now() / 1000),
    redirect_uris: uris,
    ...(name !== undefined && { client_name: name }),
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}

/** @returns undefined for an id that is neither given here nor the URL of a client's metadata */
export const clientOf = async (
  id: string, seals: Seals, fetch: GuardedFetch,
): Promise<FacadeClient | undefined> => {
  if (isDocumentId(id)) return documentClient(id, fetch)
  const registration = await seals.open('client', id)
  return registration && { id: clientIdOf(id), name: registration.name, redirectUris: registration.uris }
}

/** Whether the id was given here, as far as this can be told without a request. */
export const isClientId = async (id: string, seals: Seals): Promise<boolean> =>
  isDocumentId(id) || (await seals.open('client', id)) !== undefined

export const clientIdOf = (clientId: string): string => digest(clientId).slice(0, 22)

/** The URL of a Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document, section 3). */
const isDocumentId = (id: string): boolean => {
  if (!/^https?:/.test(id) || !URL.canParse(id)) return false
  const { href, protocol, hostname, pathname, hash, username, password } = new URL(id)
  const isSafe = protocol === 'https:' || isLoopback(hostname)
  return isSafe && href === id && pathname !== '/' && hash === '' && username === '' && password === ''
}

const documentClient = async (id: string, fetch: GuardedFetch): Promise<FacadeClient | undefined> => {
  const response = await fetch(id, { method: 'GET', headers: { accept: 'application/json' } }).catch(() => undefined)
  const text = response?.status === 200 ? await response.text() : ''
  const metadata = text.length <= longestDocument ? parseData(text) : undefined
  // The document must name itself (section 4.1); this relay knows clients without credentials only.
  if (!isRecord(metadata) || field(metadata, 'client_id') !== id) return undefined
  const method = field(metadata, 'token_endpoint_auth_method')
  const uris = redirectUrisIn(metadata)
  if (uris === undefined || (method !== undefined && method !== 'none')) return undefined
  return { id: clientIdOf(id), name: nameIn(metadata), host: new URL(id).host, redirectUris: uris }
}

const nameIn = (metadata: DataObject): string | undefined => {
  const name = field(metadata, 'client_name')
  return isString(name) ? name.slice(0, longestName) : undefined
}

const redirectUrisIn = (metadata: DataObject): readonly string[] | undefined => {
  const listed = field(metadata, 'redirect_uris')
  if (!isList(listed) || listed.length === 0 || listed.length > maxUris) return undefined
  const uris = listed.filter(isString)
  const isFew = uris.length === listed.length && uris.join('').length <= longestUris
  return isFew && uris.every(isRedirectUri) ? uris : undefined
}

/**
 * Editors have schemes without a dot. Then comes the extension that gets the URL (PUBLISHER.NAME), or another
 * part of the editor: `vscode://file/…` opens a file. Cursor registers
 * `cursor://anysphere.cursor-mcp/oauth/callback`, and extensions of VS Code and Windsurf such as Cline the
 * like. VS Code itself uses loopback and https.
 */
const ofExtension =
  /^(?:cursor|vscode|vscode-insiders|windsurf):\/\/(?!vscode\.)[\w-]+\.[\w-]+\/[\w\/.-]*$/i

/** RFC 8252, sections 7 and 8.4: https, http on loopback, or a private-use scheme, which has a dot. */
const isRedirectUri = (text: string): boolean => {
  if (!URL.canParse(text) || !/^[\x21-\x7e]+$/.test(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (text.includes('#') || username !== '' || password !== '') return false
  if (protocol === 'http:') return isLoopback(hostname)
  return protocol === 'https:' || protocol.includes('.') || ofExtension.test(text)
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
