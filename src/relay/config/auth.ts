import { isLoopback } from '#relay/base/addresses.js'
import { CustomsError } from '#relay/base/errors.js'
import { readServerUrl } from './address.js'
import { checked } from './check.js'
import {
  asksForTokens, type Configuration, type FacadeConfiguration, type IssuerConfiguration,
  type ServerConfiguration,
} from './configuration.js'
import { readText } from './file.js'
import { isTokens } from './generated/checks.js'
import type * as Written from './generated/types.js'
import { fail, ConfigurationProblem, refusePlaceholder, type Keys } from './source.js'

type WrittenAuth = Exclude<NonNullable<Written.ConfigurationFile['auth']>, string>

export const clientTokens = (written: Written.Tokens): Configuration['tokens'] =>
  Array.isArray(written)
    ? written.map(token => ({ token, name: undefined }))
    : Object.entries(written).map(([name, token]) => ({ token, name }))

export const readIssuer = (
  { issuer, audience, scopes, jwks, introspection }: WrittenAuth,
  listen: Configuration['listen'], isTls: boolean,
): IssuerConfiguration | undefined => {
  if (issuer === undefined) return undefined
  const url = (text: string, ...keys: Keys): string => readServerUrl(text, ['auth', ...keys])
  const host = 'socket' in listen || !listen.host.includes(':') ? '' : `[${listen.host}]`
  const here = 'socket' in listen || listen.port === 0
    ? undefined
    : `http${isTls ? 's' : ''}://${host || listen.host}:${listen.port}`
  const ours = audience === undefined ? here : url(audience, 'audience')
  if (ours === undefined) return fail(['auth', 'issuer'], 'needs auth.audience: the public URL of this relay')
  return {
    issuer: url(issuer, 'issuer'),
    audience: ours.replace(/\/$/, ''),
    scopes: scopes ?? [],
    jwks: jwks === undefined ? undefined : url(jwks, 'jwks'),
    introspection: introspection && { ...introspection, url: url(introspection.url, 'introspection', 'url') },
  }
}

/** Codes and tokens are sent to the public URL, and browsers come back to it (OAuth 2.1, section 1.5). */
export const readFacade = ({ facade, issuer, audience }: WrittenAuth): FacadeConfiguration | undefined => {
  if (facade === undefined) {
    if (audience === undefined || issuer !== undefined) return undefined
    return fail(['auth', 'audience'], 'goes only with issuer or facade')
  }
  if (audience === undefined) return { audience }
  const { protocol, hostname, origin } = new URL(readServerUrl(audience, ['auth', 'audience']))
  const isAllowed = protocol === 'https:' || isLoopback(hostname)
  return isAllowed ? { audience: origin } : fail(['auth', 'audience'], 'must be https')
}

/** Refuses settings that contradict how clients show who they are. */
export const refuseContradictions = (
  { clients, servers: ofServers = {} }: Written.ConfigurationFile,
  { tokens, issuer, facade }: Pick<Configuration, 'tokens' | 'issuer' | 'facade'>,
  servers: ReadonlyMap<string, ServerConfiguration>,
): void => {
  if (facade !== undefined && issuer !== undefined)
    fail(['auth', 'facade'], 'stands beside issuer: give one of them')
  if (issuer === undefined && facade === undefined) servers.forEach(refuseScopes)
  if (asksForTokens({ tokens, issuer, facade })) servers.forEach(refusePassthrough)
  if (facade !== undefined)
    servers.forEach((server, name) => refuseBesideFacade(server, name, tokens.length > 0))
  refuseMatches(clients, ['clients'], tokens, issuer)
  for (const [name, server] of Object.entries(ofServers))
    refuseMatches(server.clients, ['servers', name, 'clients'], tokens, issuer)
}

/** Refuses an entry of `clients` that can never match: it would restrict no client. */
const refuseMatches = (
  written: readonly Written.ClientRules[number][] = [], keys: Keys, tokens: Configuration['tokens'],
  issuer: IssuerConfiguration | undefined,
): void => {
  for (const [index, { match: { token, subject } }] of written.entries()) {
    const at = [...keys, index, 'match']
    if (token !== undefined && !tokens.some(({ name }) => name === token))
      return fail([...at, 'token'], `auth.tokens has no token named ${JSON.stringify(token)}`)
    if (subject !== undefined && issuer === undefined) return fail([...at, 'subject'], 'needs auth.issuer')
  }
}

/** Only a server with a URL has an issuer at which users log in. */
const refuseBesideFacade = (server: ServerConfiguration, name: string, hasTokens: boolean): void => {
  const why = 'goes not with auth.facade: the server gets the token of each user'
  if ('url' in server && server.upstream !== undefined) fail(['servers', name, 'upstream'], why)
  if ('url' in server && server.headers.has('authorization')) {
    fail(['servers', name, 'headers'], `Authorization ${why}`)
  }
  if ('command' in server && !hasTokens) {
    fail(
      ['servers', name, 'command'],
      'has no login, and auth.facade asks for one: add auth.tokens, or give it a url',
    )
  }
}

/** Refuses `scopes` where no issuer gives clients tokens: only such tokens have scopes. */
const refuseScopes = ({ scopes, tools }: ServerConfiguration, name: string): void => {
  const needsIssuer = (...keys: Keys) =>
    fail(['servers', name, ...keys, 'scopes'], 'needs auth.issuer or auth.facade')
  if (scopes !== undefined) needsIssuer()
  for (const [tool, setting] of tools) if (setting.scopes !== undefined) needsIssuer('tools', tool)
}

/** A token for this relay must not reach a server (2026-07-28, authorization, access token privilege). */
const refusePassthrough = (server: ServerConfiguration, name: string): void => {
  if ('command' in server || server.upstream !== 'passthrough') return
  fail(['servers', name, 'upstream'], 'cannot be passthrough beside auth: the client\'s token is for this ' +
    'relay, and the specification forbids to pass it on. Send a token of your own (static), or none')
}

/**
 * A file of bearer tokens, one per line; empty lines are skipped.
 * @throws CustomsError BAD_CONFIG: `FILE:LINE: reason`
 */
export const readTokens = async (file: string): Promise<Configuration['tokens']> => {
  const lines = (await readText(file)).split(/\r?\n/)
  const tokens = lines.filter(line => line !== '')
  if (tokens.length === 0) throw new CustomsError('BAD_CONFIG', `${file}: holds no token`)
  try {
    tokens.forEach((token, index) => void refusePlaceholder(token, [index]))
    return clientTokens(checked(isTokens, tokens, tokens))
  } catch (cause) {
    if (!(cause instanceof ConfigurationProblem)) throw cause
    const line = lines.indexOf(tokens[Number(cause.keys[0])] ?? '') + 1
    throw new CustomsError('BAD_CONFIG', `${file}:${line}: ${cause.reason}`, { cause })
  }
}
