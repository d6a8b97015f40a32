export { CustomsError } from '#relay/base/errors.js'
export { guard, type GuardOptions } from '#library/guard.js'
export {
  createRelay, createSchemaChecker, parseFrame, type Effect, type Event, type Relay, type RelayOptions,
} from '#library/relay.js'
export type { GuardedTransport, SdkTransport } from '#library/sdk-transport.js'
export type { JudgeOptions, ToolOptions } from '#library/options.js'

export type { Checked, SchemaChecker, SchemaProblem, Subject } from '#relay/core/vocabulary.js'
export type { Entry } from '#relay/core/vocabulary.js'
export type { Action, Verdict } from '#relay/core/vocabulary.js'
export type { Finding, RuleName } from '#relay/core/vocabulary.js'
export type { Frame } from '#relay/protocol/frame.js'
