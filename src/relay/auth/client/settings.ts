import type { WantedAccess } from '#relay/transport/http/challenge.js'
import type { Discovered } from './discovery.js'
import type { RegisteredClient, GivenClient } from './registration.js'

/** What the operator says of logins at one server (docs/auth.md). */
export interface LoginSettings {
  /** Whose tokens these are: the user's, who logs in, or the client's own. */
  readonly grant: 'user' | 'client'
  /** Undefined: the one that the server names first, which each login keeps. */
  readonly issuer?: string | undefined
  /** Undefined: the relay registers itself. */
  readonly client?: GivenClient | undefined
  readonly scopes?: readonly string[] | undefined
  /** The port of the redirect URI, for issuers that know it; undefined: any. */
  readonly callbackPort?: number | undefined
  /** How long a request waits for the user, in milliseconds. */
  readonly loginMs: number
}

/** What a login is for. */
export interface Purpose {
  readonly wanted: WantedAccess
  /** The access token that the server has refused. */
  readonly refused: string | undefined
  /** Scopes to ask for besides those that the challenge names. */
  readonly scopes: readonly string[]
}

/** A client of `serve` that has a login of its own: a subject of an issuer, or a configured token. */
export interface Holder {
  /** Empty for a configured token. */
  readonly issuer: string
  /** The `sub`, or the name of the token; empty where a client has neither: it has no login. */
  readonly name: string
}

/** Distinguishes the logins at one server: those of two clients, at two issuers, or of two holders. */
export const loginKeyOf = ({ client, issuer = '' }: LoginSettings, holder?: Holder): string =>
  JSON.stringify([client?.id ?? '', issuer, ...(holder ? [holder.issuer, holder.name] : [])])

/** The issuer to log in at: a server cannot send the user, or a token of the relay, to another one later. */
export const issuerFor = (
  { issuer }: LoginSettings, login: { readonly server: { readonly issuer: string } } | undefined,
): string | undefined => issuer ?? login?.server.issuer

/** The operator's secrets are in the configuration, not in the file of the login. */
export const withSecrets = (client: RegisteredClient, { client: given }: LoginSettings): RegisteredClient =>
  (given !== undefined && isSame(client, given) ? given : client)

export const withoutSecrets = (
  client: RegisteredClient, { client: given }: LoginSettings,
): RegisteredClient =>
  (given !== undefined && isSame(client, given) ? { issuer: client.issuer, id: client.id } : client)

const isSame = (
  one: RegisteredClient, other: RegisteredClient,
): boolean => one.issuer === other.issuer && one.id === other.id

/**
 * The scopes to ask for: those of the challenge and of the operator; if neither names any, those of the
 * resource; in a step-up also those that were asked for before (2026-07-28, scope selection strategy).
 */
export const scopesFor = (
  { server, scopes }: Discovered, { wanted, scopes: more }: Purpose, settings: LoginSettings,
  requested: readonly string[] = [],
): readonly string[] => {
  const challenged = wanted.scopes ?? (settings.scopes === undefined ? scopes : undefined) ?? []
  const before = wanted.error === 'insufficient_scope' ? requested : []
  const all = new Set([...before, ...(settings.scopes ?? []), ...challenged, ...more])
  const isOffered = server.scopes_supported?.includes('offline_access') === true
  if (settings.grant === 'user' && isOffered) all.add('offline_access')
  return [...all]
}
