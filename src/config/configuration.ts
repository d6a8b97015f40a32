import type { ToolSetting } from '../core/options.js'
import type { Address } from './address.js'
import type { Limits, SessionLimits } from './limits.js'
import type { BasePolicy, Rules } from './policy.js'
import type { TrustEntry } from './trust-list.js'

/** What an operator's file says (contract section 3): checked, paths made absolute, `${env:NAME}` replaced, frozen. */
export interface Configuration {
  /** As it was named. */
  readonly file: string
  readonly listen: Address | undefined
  /** Undefined: standard. With `rules`, a layer for `resolvePolicy`. */
  readonly policy: BasePolicy | undefined
  readonly rules: Rules
  readonly limits: Limits
  readonly trust: readonly TrustEntry[]
  /** In the order of the file. */
  readonly servers: ReadonlyMap<string, ServerConfiguration>
  /** Bearer tokens, one of which clients must show; undefined: the door is open. */
  readonly tokens: readonly string[] | undefined
  readonly audit: AuditConfiguration
  /** Undefined: plain HTTP. */
  readonly tls: Certificate | undefined
  /** Values of `Host` and `Origin` that are accepted besides the loopback ones. */
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
}

export interface ProcessServer extends AnyServer {
  readonly command: readonly string[]
  /** Added to the relay's own environment. */
  readonly env: ReadonlyMap<string, string>
  readonly cwd: string | undefined
}

export interface RemoteServer extends AnyServer {
  readonly url: string
  /** Sent with every request; the names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly tls: ServerTls | undefined
}

/** Paths of PEM files. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** `ca`: instead of the built-in authorities. */
export interface ServerTls {
  readonly ca: string | undefined
  readonly client: Certificate | undefined
}

export const payloadKinds = ['none', 'digest', 'redacted', 'full'] as const

export type Payloads = (typeof payloadKinds)[number]

export const periods = ['never', 'hourly', 'daily'] as const

export type Period = (typeof periods)[number]

export interface AuditConfiguration {
  /** A path; `-`: the standard stream that the command has to spare; `none`: no log; undefined: the default file. */
  readonly file: string | undefined
  readonly payloads: Payloads
  /** A call goes on record before it goes to the server. */
  readonly intent: boolean
  /** A file that has grown to so many bytes is followed by the next; undefined: it grows on. */
  readonly maxBytes: number | undefined
  /** When the next file begins at the latest. */
  readonly rotate: Period
  /** How many files stay beside the current one; undefined: all. */
  readonly keep: number | undefined
  /** The file of the key that signs checkpoints. */
  readonly signKey: string | undefined
}

export const defaultAudit: AuditConfiguration = {
  file: undefined, payloads: 'digest', intent: false, maxBytes: undefined, rotate: 'never', keep: undefined, signKey: undefined,
}
