import type { LoginSettings } from '#relay/auth/client/settings.js'
import type { ClientPatterns, NamePatterns, ToolSetting } from '#relay/core/options.js'
import type { Revision } from '#relay/protocol/revisions/index.js'
import type { Translate } from '#relay/eras/index.js'
import { readAddress, type Address, type SocketAddress } from './address.js'
import type { MergeConfiguration } from './merge.js'
import { defaults } from './generated/defaults.js'
import type * as Written from './generated/types.js'
import type { BasePolicy, Rules } from './policy.js'
import type { TrustEntry } from './trust.js'

export { limitBounds } from './generated/defaults.js'

/**
 * What a peer may use up (docs/configuration.md). Sizes in bytes, times in milliseconds; the schema describes
 * each.
 */
export type Limits = Readonly<Required<Written.Limits>>

/**
 * How many sessions `serve` keeps, for how long, and how long it waits for running requests at its end, in
 * ms.
 */
export type SessionLimits = Readonly<Required<Omit<Written.Sessions, 'replica'>>> & {
  /** The name of this replica, which session ids begin with. */
  readonly replica?: string | undefined
}

/**
 * A configuration (docs/configuration.md): checked, paths made absolute, `${env:NAME}` replaced, defaults
 * filled in, frozen. `config/customs.schema.json` describes the keys as they are written.
 */
export interface Configuration {
  /** The path of the file, as the operator gave it; undefined: no file, only defaults and flags. */
  readonly file: string | undefined
  readonly listen: Address | SocketAddress
  /** Relay processes for each server. */
  readonly workers: number
  /** Undefined: standard. With `rules`, a layer for `resolvePolicy`. */
  readonly policy: BasePolicy | undefined
  readonly rules: Rules
  /** The names of profiles, by which clients are shown tools. */
  readonly profiles: readonly string[]
  readonly limits: Limits
  readonly trust: readonly TrustEntry[]
  /** For every server without a lock of its own; undefined: none. */
  readonly lock: LockSetting | undefined
  /** In the order of the file. */
  readonly servers: ReadonlyMap<string, ServerConfiguration>
  /** Undefined: no endpoint of several servers. */
  readonly merge: MergeConfiguration | undefined
  /**
   * Bearer tokens, one of which a client must send, unless it has a token of `issuer` or `facade`. Without
   * all three, any client may connect.
   */
  readonly tokens: readonly ClientToken[]
  /** The issuer whose tokens are accepted besides `tokens`; undefined: none. */
  readonly issuer: IssuerConfiguration | undefined
  /** For users who log in at the upstream servers through this relay; undefined: they do not. */
  readonly facade: FacadeConfiguration | undefined
  readonly audit: AuditConfiguration
  readonly telemetry: {
    /** Of the OTLP collector, for every signal; undefined: the environment decides. */
    readonly endpoint: string | undefined
    /** The names in lower case. */
    readonly headers: ReadonlyMap<string, string>
    readonly payloads: 'none' | 'redacted' | 'full'
  }
  /** Undefined: plain HTTP. */
  readonly tls: ListenerTls | undefined
  /** Accepted hosts (without ports) and origins besides those of loopback, as clients send them. */
  readonly allowHosts: readonly string[]
  readonly allowOrigins: readonly string[]
  /** Where health and metrics are served; undefined: nowhere. */
  readonly admin: Address | undefined
  readonly sessions: SessionLimits
  /** The oldest revision that clients and servers may speak; undefined: any. */
  readonly minRevision: Revision | undefined
  readonly translate: Translate
  /** Patterns of tools' names for the clients of every server. */
  readonly clients: readonly ClientPatterns[]
  /** What replicas share; undefined: nothing. */
  readonly state: StateConfiguration | undefined
}

export interface StateConfiguration {
  readonly url: string
  readonly prefix: string
  readonly ttlMs: number
  /** A secret that all replicas have. */
  readonly key: string
}

export type ServerConfiguration = ProcessServer | RemoteServer

interface AnyServer {
  readonly name: string
  /** Overrides the configuration's: a layer for `resolvePolicy`. */
  readonly policy: BasePolicy | undefined
  readonly rules: Rules
  /** Undefined: the configuration's. */
  readonly profiles?: readonly string[] | undefined
  readonly tools: ReadonlyMap<string, ToolSetting>
  /** Which tools clients may see and call, by patterns of their names. */
  readonly names?: NamePatterns | undefined
  /** Over the configuration's. */
  readonly minRevision?: Revision | undefined
  readonly translate?: Translate | undefined
  readonly lock: LockSetting | undefined
  /** Scopes that a token needs for this server. */
  readonly scopes?: readonly string[] | undefined
  /** Relay processes; undefined: the configuration's number. */
  readonly workers?: number | undefined
}

/** The lock file, and the actions on changes that differ from the defaults. */
export interface LockSetting {
  readonly file: string
  readonly isFrozen: boolean
  /** Accepted annotations are trusted even if no person accepted them. */
  readonly trustAccepted: boolean
  /** By the schema's classes of changes. */
  readonly actions: Readonly<Partial<Record<LockClass, 'log' | 'block'>>>
}

type LockClass = Exclude<keyof Exclude<Written.Lock, string>, 'file' | 'frozen' | 'trustAccepted'>

export interface ProcessServer extends AnyServer {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]]
  /** Added to the inherited environment. */
  readonly env: ReadonlyMap<string, string>
  /**
   * What the process inherits. true: the relay's whole environment; names: these variables, and PATH, HOME
   * and the like. Undefined: the command decides.
   */
  readonly inheritEnv: true | readonly string[] | undefined
  readonly cwd: string | undefined
}

export interface RemoteServer extends AnyServer {
  readonly url: string
  /** Sent with every request; the names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** Response headers that are forwarded although they affect intermediaries in front of the relay. */
  readonly passHeaders?: readonly string[] | undefined
  readonly tls: ServerTls | undefined
  /** OAuth towards the server; undefined: a user logs in where the server asks for it. */
  readonly login?: ServerLogin | undefined
  /**
   * Where the Authorization header of requests to the server comes from. Undefined: from `headers`; else
   * from the client, unless clients must show a token for this relay; else from a login.
   */
  readonly upstream?: NonNullable<Written.Server['upstream']> | undefined
}

export interface ServerLogin extends LoginSettings {
  /** `serve`: one login for all clients. */
  readonly shared: boolean
}

/** Clients must show a token that is for this relay. */
export const asksForTokens = (
  { tokens, issuer, facade }: Pick<Configuration, 'tokens' | 'issuer' | 'facade'>,
): boolean => tokens.length > 0 || issuer !== undefined || facade !== undefined

/** Paths of PEM files. */
interface Certificate {
  readonly cert: string
  readonly key: string
}

/** `clientCa`: the authorities for client certificates; undefined: no client needs a certificate. */
export interface ListenerTls extends Certificate {
  readonly clientCa: string | undefined
}

/** `ca`: replaces the built-in authorities. */
export interface ServerTls {
  readonly ca: string | undefined
  readonly client: Certificate | undefined
}

type WrittenAudit = NonNullable<Written.ConfigurationFile['audit']>

type WithDefault = 'payloads' | 'intent' | 'keepDays' | 'keepBytes' | 'onFailure'

export interface AuditConfiguration
  extends Readonly<Required<Pick<WrittenAudit, WithDefault>>>,
  Readonly<Pick<WrittenAudit, 'maxBytes' | 'rotate' | 'keep' | 'signKey'>> {
  /**
   * A path; `-`: the standard stream that the command does not use; `none`: no log; undefined: the default
   * file.
   */
  readonly file: string | undefined
  readonly targets: readonly AuditTarget[]
}

/** A pino transport. */
export interface AuditTarget {
  /** A package, or an absolute path. */
  readonly target: string
  readonly options: Readonly<Record<string, unknown>>
  /** The configuration file, from which a package is resolved. */
  readonly from: string
}

export const defaultLimits: Limits = defaults.limits

export const defaultSessionLimits: SessionLimits = defaults.sessions

export interface ClientToken {
  readonly token: string
  /** For records; undefined where it has none. */
  readonly name: string | undefined
}

/** See `auth` in docs/configuration.md. */
export interface IssuerConfiguration {
  readonly issuer: string
  /** Without a slash at its end. */
  readonly audience: string
  readonly scopes: readonly string[]
  readonly jwks: string | undefined
  readonly introspection:
    { readonly url: string; readonly clientId: string; readonly clientSecret: string } | undefined
}

/** See docs/auth.md, "When users must log in at the server behind". */
export interface FacadeConfiguration {
  /** The public URL of this relay; undefined: the address that it listens on. */
  readonly audience: string | undefined
}

/** The configuration without a file and without flags. */
export const usual: Configuration = {
  file: undefined,
  listen: readAddress(defaults.listen, ['listen']),
  workers: defaults.workers,
  policy: undefined,
  rules: new Map(),
  profiles: [],
  limits: defaultLimits,
  trust: [],
  lock: undefined,
  servers: new Map(),
  merge: undefined,
  tokens: [],
  issuer: undefined,
  facade: undefined,
  audit: { ...defaults.audit, file: undefined, targets: [] },
  telemetry: { ...defaults.telemetry, endpoint: undefined, headers: new Map() },
  tls: undefined,
  allowHosts: [],
  allowOrigins: [],
  admin: undefined,
  sessions: defaultSessionLimits,
  minRevision: undefined,
  translate: 'auto',
  clients: [],
  state: undefined,
}
