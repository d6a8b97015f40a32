import type { ToolSetting } from '../core/options.js'
import type { Address, SocketAddress } from './address.js'
import type * as Written from './generated/types.js'
import type { Limits, SessionLimits } from './limits.js'
import type { BasePolicy, Rules } from './policy.js'
import type { TrustEntry } from './trust-list.js'

/**
 * What an operator's file says (contract section 3): checked, paths made absolute, `${env:NAME}` replaced, defaults filled in, frozen.
 * A key is described in `config/customs.schema.json`, of which the types in `generated/` are made; here stands what the program makes of it.
 */
export interface Configuration {
  /** As it was named; undefined: nothing but defaults. */
  readonly file: string | undefined
  readonly listen: Address | SocketAddress
  /** How many relay processes stand in front of each server. */
  readonly workers: number
  /** Undefined: standard. With `rules`, a layer for `resolvePolicy`. */
  readonly policy: BasePolicy | undefined
  readonly rules: Rules
  readonly limits: Limits
  readonly trust: readonly TrustEntry[]
  /** Of every server that names none of its own; undefined: nothing is locked. */
  readonly lock: LockSetting | undefined
  /** In the order of the file. */
  readonly servers: ReadonlyMap<string, ServerConfiguration>
  /** Bearer tokens, one of which clients must show; none: the door is open. */
  readonly tokens: readonly string[]
  readonly audit: AuditConfiguration
  readonly telemetry: TelemetryConfiguration
  /** Undefined: plain HTTP. */
  readonly tls: ListenerTls | undefined
  /** Hosts (without ports) and origins that are accepted besides the loopback ones, as clients spell them. */
  readonly allowHosts: readonly string[]
  readonly allowOrigins: readonly string[]
  /** Where health and metrics are served; undefined: nowhere. */
  readonly admin: Address | undefined
  readonly sessions: SessionLimits
}

export type ServerConfiguration = ProcessServer | RemoteServer

interface AnyServer {
  readonly name: string
  /** Over the configuration's: a layer for `resolvePolicy`. */
  readonly policy: BasePolicy | undefined
  readonly rules: Rules
  readonly tools: ReadonlyMap<string, ToolSetting>
  readonly lock: LockSetting | undefined
  /** How many relay processes stand in front of it; undefined: as many as in front of each. */
  readonly workers?: number | undefined
}

/** Where it is written what was accepted, and what a change of it means where that is not as usual. */
export interface LockSetting {
  readonly file: string
  readonly isFrozen: boolean
  /** Accepted annotations are trusted also where no person accepted them. */
  readonly trustAccepted: boolean
  /** By the classes of the schema. */
  readonly actions: Readonly<Partial<Record<LockClass, 'log' | 'block'>>>
}

export type LockClass = Exclude<keyof Exclude<Written.Lock, string>, 'file' | 'frozen' | 'trustAccepted'>

export interface ProcessServer extends AnyServer {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]]
  /** Added to what it inherits. */
  readonly env: ReadonlyMap<string, string>
  /** What it gets of the relay's own environment: all of it, or PATH, HOME and the like and the variables of these names. Undefined: the command decides. */
  readonly inheritEnv: true | readonly string[] | undefined
  readonly cwd: string | undefined
}

export interface RemoteServer extends AnyServer {
  readonly url: string
  /** Sent with every request; the names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** Headers of its responses that pass to clients though they act on what stands in front of the relay. */
  readonly passHeaders?: readonly string[] | undefined
  readonly tls: ServerTls | undefined
}

/** Paths of PEM files. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** `clientCa`: the path of those who vouch for clients; undefined: no client needs a certificate. */
export interface ListenerTls extends Certificate {
  readonly clientCa: string | undefined
}

/** `ca`: instead of the built-in authorities. */
export interface ServerTls {
  readonly ca: string | undefined
  readonly client: Certificate | undefined
}

type WrittenAudit = NonNullable<Written.ConfigurationFile['audit']>

export interface AuditConfiguration
  extends Readonly<Required<Pick<WrittenAudit, 'payloads' | 'intent' | 'keepDays' | 'keepBytes' | 'onFailure'>>>,
    Readonly<Pick<WrittenAudit, 'maxBytes' | 'rotate' | 'keep' | 'signKey'>> {
  /** A path; `-`: the standard stream that the command has to spare; `none`: no log; undefined: the default file. */
  readonly file: string | undefined
  readonly targets: readonly AuditTarget[]
}

/** A pino transport. */
export interface AuditTarget {
  /** A package, or an absolute path. */
  readonly target: string
  readonly options: Readonly<Record<string, unknown>>
  /** The file that names it, from which a package is looked up. */
  readonly from: string
}

/** OpenTelemetry, where the environment does not say it. */
export interface TelemetryConfiguration {
  /** Of the collector, for every signal; undefined: as the environment says. */
  readonly endpoint: string | undefined
  /** The names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly payloads: 'none' | 'redacted' | 'full'
}
