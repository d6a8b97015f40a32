export { CustomsError } from './errors.js'
export { guard, type GuardOptions } from './library/guard.js'
export {
  createRelay, createSchemaChecker, parseFrame, type Effect, type Event, type Relay, type RelayOptions,
} from './library/relay.js'
export type { GuardedTransport, SdkTransport } from './library/sdk-transport.js'
export type { JudgeOptions, ToolOptions } from './library/options.js'

export type { Checked, SchemaChecker, SchemaProblem, Subject } from './core/check.js'
export type { Entry } from './core/event.js'
export type { Action, Verdict } from './core/findings.js'
export type { Finding, RuleName } from './core/rule.js'
export type { Frame } from './protocol/frame.js'
