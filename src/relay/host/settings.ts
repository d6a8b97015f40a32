import { CustomsError } from '#relay/base/errors.js'
import type { Translate } from '#relay/eras/index.js'
import type { ConfigurationProblem } from '#relay/config/source.js'
import type { DataObject } from '#relay/protocol/unmetered.js'

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]

/** The settings of a relay that have no key in the configuration, or stand above it. */
export interface RelaySettings {
  /** Path of the configuration file. */
  readonly config: string | undefined
  /** The server of the file that is wanted, or the name of the one that the arguments name. */
  readonly server: string | undefined
  /** `NAME=VALUE` of headers, and of variables of the command. */
  readonly header: readonly string[]
  readonly env: readonly string[]
  readonly ca: string | undefined
  readonly policy: string | undefined
  /** `ID=ACTION` of rules. */
  readonly rule: readonly string[]
  readonly profile: readonly string[]
  /** Which eras of MCP are translated: see `Translate`. */
  readonly translate: Translate | undefined
  /** Tools that are relaxed; `*` stands for all. */
  readonly relax: readonly string[]
  readonly trust: boolean
  readonly trustList: string | undefined
  readonly audit: string | undefined
  readonly logLevel: LogLevel
  readonly capture: string | undefined
  readonly lock: string | undefined
  readonly frozen: boolean
  readonly trustAccepted: boolean
  /** File of the tokens of clients. */
  readonly tokenFile: string | undefined
  /** What sets a key, as a configuration would write it. */
  readonly settings: WrittenSettings
}

/** Of a command line without options. */
export const noSettings: RelaySettings = {
  config: undefined, server: undefined, header: [], env: [], ca: undefined, policy: undefined, rule: [],
  profile: [], translate: undefined, relax: [], trust: false, trustList: undefined, audit: undefined, logLevel: 'warn', capture: undefined,
  lock: undefined, frozen: false, trustAccepted: false, tokenFile: undefined,
  settings: { written: {}, refusal: ({ reason }) => new CustomsError('BAD_USAGE', reason) },
}

export interface WrittenSettings {
  readonly written: DataObject
  /** Reports a problem of the configuration at the flag that set the key. */
  readonly refusal: (problem: ConfigurationProblem) => CustomsError
}
