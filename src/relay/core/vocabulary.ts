/*
 * The vocabulary of the core, types alone: events and effects, findings and verdicts, the subjects of rules,
 * and what the lock, the profiles and the schema engine give to it.
 */
import type { Frame, ResponseHead, Trace } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import type { Json, JsonObject, Meter } from '#relay/protocol/json.js'
import type { Link, Part } from '#relay/protocol/places.js'
import type { Revision } from '#relay/protocol/revisions/index.js'
import type { Implementation } from './terms.js'

/** The core knows few rules by name. The table of all rules is in `rules/index.ts`. */
export type RuleName =
  `${'wire' | 'tool' | 'list' | 'resource' | 'call' | 'result' | 'content' | 'server' | 'advice'}/${string}`

/** The element of a list that a finding is about: a tool or prompt by name, a resource or template by URI. */
export interface About {
  readonly tool?: string | undefined
  readonly prompt?: string | undefined
  readonly resource?: string | undefined
}

/** One problem. Text from the wire must be quoted by `quote` or `clip`. */
export interface Problem extends About {
  /** JSON Pointer into the frame. */
  readonly path: string
  readonly message: string
  /** True when this problem alone stops nothing, whatever the policy says. */
  readonly isMinor?: boolean
  /** What stands there, and what the schema declares for it: for the record, which redacts them. */
  readonly value?: Json
  readonly declared?: Json
}

export interface Finding extends Problem {
  readonly rule: RuleName
  /** Describes the change that mended it. */
  readonly mended?: string
}

/** A frame as it arrives. */
export interface Arrival {
  readonly frame: Frame
  readonly from: Side
  /** The revision of the session or request. */
  readonly revision: Revision
}

/** A request id that is in flight already or exceeds a limit, or an id or a token without a request. */
export interface IdUse {
  /** `progress`: a progress token that no request of the client gave. */
  readonly use: 'repeated' | 'unasked' | 'no-room' | 'unknown' | 'progress'
  readonly from: Side
}

/** A revision older than the operator allows. */
export interface OldRevision {
  /** Who speaks it. */
  readonly from: Side
  readonly revision: Revision
  /** The oldest that is allowed. */
  readonly least: Revision
  /** JSON Pointer of the revision in the frame. */
  readonly path: string
}

/** An element of `result.tools`: untrusted, and possibly no tool. */
export interface ListedTool {
  /** The server's definition; undefined when it is no object. */
  readonly sent: JsonObject | undefined
  /** The same without its output schema if the operator replaces that. */
  readonly definition: JsonObject | undefined
  /** JSON Pointer of the definition in the frame, such as `/result/tools/3`. */
  readonly path: string
  readonly revision: Revision
  readonly trusted: boolean
  /** The problems of its schemas (tool/schema, tool/external-ref, tool/schema-cost). */
  readonly schemas: Checked
  /** True when the name is in the list twice, on any pages. */
  readonly repeated: boolean
  /** The first definition of the name in this session. */
  readonly first: JsonObject | undefined
  /** True when it differs from the first definition of the name, which another replica has seen. */
  readonly isChanged?: boolean
  /** True when the session has seen a whole list, so that a new name was added. */
  readonly settled: boolean
  /** True when the operator denies the tool. */
  readonly denied: boolean
}

/** A tool as its client gets it, or what the core itself changes for the client. */
export interface Shown {
  /** With the mends and the operator's words. */
  readonly definition: JsonObject | undefined
  /** The core's changes, where there is no definition. */
  readonly changes: readonly Problem[]
  readonly path: string
  readonly shape: ClientShape
}

/** A difference from the lock. */
export interface Drifted {
  /** The kind of the definition, for people. */
  readonly kind: string
  readonly drift: Drift
  readonly path: string
  readonly about?: About
}

/** Tools of a page beyond the limits. */
export interface ToolsOverLimit {
  readonly count: number
  readonly reason: string
}

/** The result of a method that lists something. */
export interface List {
  readonly method: string
  readonly result: JsonObject
  readonly revision: Revision
  /** Its cursor for the next page came before. */
  readonly repeats?: boolean
}

/** A `tools/call` on its way to the server. */
export interface Call {
  readonly name: string
  readonly arguments: JsonObject | undefined
  /** Undefined when the tool is in no list. */
  readonly tool: Tool | undefined
  /** True when the operator denies the tool. */
  readonly denied: boolean
  /** False when the relay could not get a list, so that an undefined `tool` may exist. */
  readonly listed: boolean
  readonly revision: Revision
  /** The difference between the HTTP headers and the call, if any. */
  readonly mismatch: string | undefined
  /** The limit that it exceeds, if any, and the milliseconds until the client may make it. */
  readonly rate: { readonly perMinute: number; readonly waitMs: number } | undefined
}

/** The arguments of a call against `inputSchema`. */
export interface CheckedArguments {
  readonly checked: Checked
}

/** Text that a model reads: tool results, prompts, resources, instructions, errors, server requests. */
export interface Reading {
  readonly method: string
  /** The members that are read. */
  readonly value: JsonObject
  /** JSON Pointer of the value in the frame, such as `/result`. */
  readonly path: string
  /** Its pieces of content. */
  readonly parts: readonly Part[]
  /** Its icons, websites and URIs. */
  readonly links: readonly Link[]
  readonly revision: Revision
  /** True when no string of the frame holds a character that may be hidden. */
  readonly plain: boolean
}

/** The result of a `tools/call`, also that of a task. */
export interface CallResult extends Reading {
  readonly name: string
  readonly tool: Tool | undefined
  /** `structuredContent` against `outputSchema`; undefined when either is missing. */
  readonly checked: Checked | undefined
  /** The whole result against the operator's `resultSchema`; undefined without one. */
  readonly contract: Checked | undefined
  /** The length of the result, in bytes, and the limit that it exceeds, if any. */
  readonly size: { readonly bytes: number; readonly limit: number } | undefined
  /** The JSON text of `structuredContent` on the wire. */
  readonly structuredText: () => string | undefined
  /** Indices of text blocks that are known to repeat it. */
  readonly repeats: readonly number[]
  /** The structured content that its text holds, if any. */
  readonly promotion: () => Promotion | undefined
}

/** A server request, or one embedded in a result, an error or a notification. */
export interface ServerRequest {
  readonly method: string
  readonly params: JsonObject | undefined
  /** From `initialize`, or from `_meta` of the answered request; undefined when not seen. */
  readonly clientCapabilities: JsonObject | undefined
  /** JSON Pointers into the frame; equal when only params were embedded. */
  readonly methodPath: string
  readonly paramsPath: string
}

/** The subject of each power of a rule. */
export interface Subjects {
  onFrame: Arrival
  onId: IdUse
  onRevision: OldRevision
  onTool: ListedTool
  onShown: Shown
  onDrift: Drifted
  onOverLimit: ToolsOverLimit
  onList: List
  onCall: Call
  onArguments: CheckedArguments
  onResult: CallResult
  /** Any other text that a model reads. */
  onReading: Reading
  onServerRequest: ServerRequest
}

export type Power = keyof Subjects

/** A rule has the powers that it needs. It pays the meter for loops over wire data. */
export type Powers = {
  readonly [Asked in Power]?: (subject: Subjects[Asked], meter: Meter) => readonly Problem[]
}

/** The powers whose values can be mended. */
export type MendPower = 'onTool' | 'onShown' | 'onList' | 'onResult' | 'onReading'

/** The mend of a rule: the value with the smallest change; undefined when it cannot be mended. */
export interface Mend {
  readonly onTool?: (tool: ListedTool, meter: Meter) => JsonObject | undefined
  readonly onShown?: (shown: Shown, meter: Meter) => JsonObject | undefined
  readonly onList?: (list: List, meter: Meter) => JsonObject | undefined
  readonly onResult?: (result: CallResult, meter: Meter) => JsonObject | undefined
  readonly onReading?: (reading: Reading, meter: Meter) => JsonObject | undefined
  /** Further attempts while the finding remains: each time, the rule sees a part of what is wrong. */
  readonly rounds?: number
  /** The client is shown the tool without its output schema; the relay goes on checking by it. */
  readonly hidesSchema?: true
  /** The action when it cannot be mended. Default: block. */
  readonly otherwise?: 'log' | 'demote'
  /** The action `block` mends too: it removes the problem from the tool, and the tool stays. */
  readonly isBlock?: true
  /** Rules whose findings have the same cause, and may disappear. */
  readonly heals?: readonly RuleName[]
}

/** A rule reports problems and knows no actions. A rule that throws is a finding of its own. */
export interface Rule extends Powers {
  readonly name: RuleName
  readonly mend?: Mend
  /** Results are validated by their schema only if such a rule is on. */
  readonly needsCheck?: true
  /** Mended for a tool or server that the operator has relaxed: honest servers break it, and work. */
  readonly relaxed?: true
}

export const actions = ['off', 'log', 'demote', 'mend', 'block'] as const

export type Action = (typeof actions)[number]

export type Verdict = 'pass' | 'log' | 'mend' | 'demote' | 'block'

export type Policy = ReadonlyMap<RuleName, Action>

export type Schema = JsonObject | boolean

/** A tool as the client may call it: the server's definition with the operator's schemas in it. */
export interface Tool {
  readonly name: string
  /** As the server sent it. */
  readonly definition: JsonObject
  /** Schemas of all variants (see `Variant`), the newest first. */
  readonly inputSchemas: readonly Schema[]
  readonly outputSchemas: readonly Schema[]
}

/** How one client is shown the tools of a server: by the profiles of what it accepts (src/relay/profiles). */
export interface ClientShape {
  /** The profiles' names. */
  readonly name: string
  /** Most tools; undefined: any number. */
  readonly tools: number | undefined
  /**
   * Why the client refuses a definition. What cannot be adapted is withheld, unless the problem is minor.
   * @returns paths within the definition
   */
  readonly refusals: (definition: JsonObject, meter: Meter) => readonly Problem[]
  /** The definition as the client accepts it; the same where it is accepted as it is. */
  readonly adapted: (definition: JsonObject, meter: Meter) => JsonObject
  /**
   * The arguments of a call without nulls that may stand for an argument left out, if any. Undefined for a
   * client that can leave arguments out.
   * @param refused the paths at which the schema refuses the arguments as they are
   */
  readonly withoutNulls: undefined | ((
    given: JsonObject, inputSchema: JsonObject, refused: ReadonlySet<string>, meter: Meter,
  ) => readonly JsonObject[])
}

/** The profiles that the operator chose for a server. */
export interface Shapes {
  readonly names: readonly string[]
  /** The tools are shown by the client's name. */
  readonly isPersonal: boolean
  /** @param client as it calls itself; undefined where that was not seen */
  readonly of: (client: Implementation | undefined) => ClientShape | undefined
}

/** How something differs from what was accepted. */
export interface Drift {
  /** The classes of its changes, in words for people. */
  readonly classes: string
  /** True when no class among them can stop it. */
  readonly isMinor: boolean
  /** The texts among its changes. */
  readonly texts?: Pick<Problem, 'declared' | 'value'>
}

export type AcceptedPart =
  'serverInfo' | 'instructions' | 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

/** The accepted definitions for clients of one era. `serverInfo` and `instructions` have the name ''. */
export interface AcceptedOffer {
  /** By name, with numbers as doubles. */
  readonly definitions: Readonly<Record<AcceptedPart, ReadonlyMap<string, Json>>>
  /** The JSON text of a definition, with all digits of its numbers. */
  readonly textOf: (part: AcceptedPart, name: string) => string | undefined
  /** @param sent parsed by `exactResult` @returns undefined when nothing differs */
  readonly drift: (
    part: AcceptedPart, name: string, sent: Json | undefined, meter: Meter,
  ) => Drift | undefined
}

/** The lock of a server, which its messages are compared with (docs/lock.md). */
export interface Accepted {
  readonly legacy: AcceptedOffer
  readonly modern: AcceptedOffer
  /** Keeps the annotations of unchanged tools, because the operator has read them. */
  readonly isTrusted: boolean
  /** How the server's program differs from the accepted one, where it may run all the same. */
  readonly program?: Drift | undefined
  /** Judges calls by the lock alone, without asking the server for its tools. */
  readonly isFrozen: boolean
  /** The result of a message with all digits of its numbers; undefined when doubles hold all of them. */
  readonly exactResult: (bytes: Buffer) => JsonObject | undefined
  /** The action for each class of change. */
  readonly actions: Readonly<Record<string, string>>
  /** The text of the lock file. */
  readonly written: () => string
}

/** A check for `schema/`: pure data, so that the engine may run in another thread. */
export type Subject =
  /** Whether this schema is usable: checked when a tool is listed. */
  | { readonly kind: 'schema'; readonly schema: Json; readonly path: string }
  | ValueSubject

/** Whether the value matches the schema. */
export interface ValueSubject {
  readonly kind: 'value'
  readonly schema: JsonObject | boolean
  readonly value: Json
  readonly path: string
  /** Where a frame has the value, so that another thread can read it there. */
  readonly source?: Source | undefined
}

/** A JSON text, and the steps that lead to a value in it. */
export interface Source {
  readonly bytes: Uint8Array
  readonly path: readonly (string | number)[]
}

export interface SchemaProblem {
  /**
   * schema: not valid in its dialect, dialect unknown, `$ref` unresolved; external-ref: a `$ref` to a file or
   * the network; cost: over the limits; mismatch: the value breaks the schema; format: the value breaks only
   * `format` assertions; unchecked: no verdict was possible (does not compile, budget spent, the engine
   * failed).
   */
  readonly kind: 'schema' | 'external-ref' | 'cost' | 'mismatch' | 'format' | 'unchecked'
  /** JSON Pointer into the frame, at or below the subject's path; parts from the wire are quoted. */
  readonly path: string
  /** Names the keyword; holds no text from the wire. */
  readonly message: string
}

/** The problems that a check found: none, or at most 20. */
export type Checked = readonly SchemaProblem[]

/** The schema engine. The result comes at once when the check is provably cheap, else as a promise. */
export interface SchemaChecker {
  /** @param session checks of different sessions take turns: none waits for all checks of another session */
  check(subject: Subject, session?: string): Checked | Promise<Checked>
  /** The schema in the form in which the reader of frames checks by it (`FrameLimits`), if it has one. */
  tableOf?(schema: JsonObject | boolean, length: number): Buffer | undefined
  close(): Promise<void>
}

export interface SchemaLimits {
  /** Longest JSON text of a schema. */
  readonly schemaBytes: number
  readonly schemaDepth: number
  readonly subschemas: number
  /** Longest validation, in milliseconds of an idle machine. */
  readonly validationMs: number
}

/**
 * What replicas keep of a session for one another: what its handshake agreed; the server's open requests;
 * requests whose response may come at another replica; tasks; the digests of the first definitions, and of
 * the newest list. Never arguments or results.
 */
export type SharedPart = 'session' | 'asked' | 'request' | 'task' | 'tools' | 'list'

/**
 * `take`: find and forget, at once; `age`: forget soon.
 * @property name within its session and part; it may be an id from the wire
 */
export type SharedAsk =
  | { readonly kind: 'keep'; readonly part: SharedPart; readonly name: string; readonly value: JsonObject }
  | { readonly kind: 'find' | 'take' | 'age' | 'forget'; readonly part: SharedPart; readonly name: string }

/** Counts a call of a tool by a client, over all replicas. The reply's `waitMs` is 0 where it may be made. */
export interface CountAsk {
  readonly kind: 'count'
  readonly part: 'calls'
  /** The tool's. */
  readonly name: string
  readonly client: string
  readonly perMinute: number
  /** A call over the limit is not made, and so does not count. */
  readonly isHeld: boolean
}

/** `none`: nothing is kept, or it is done; `used`: it was taken before; `unreachable`: it is not known. */
export type SharedReply = JsonObject | 'none' | 'used' | 'unreachable'

/** The shared state of one session. */
export interface SharedSession {
  /** The server has chosen the session's id. Nothing is kept before. */
  named(id: string): void
  /** Never rejects. */
  ask(ask: SharedAsk): Promise<SharedReply>
  /** The session is in use: its state is kept longer. */
  touch(): void
}

/** How the core uses the shared state of its session. */
export interface SharedOptions {
  /** Tells definitions apart. */
  readonly digestOf: (definition: JsonObject) => string
}

export type Side = 'client' | 'server'

/**
 * Made by a transport for one HTTP request with its response, or for a whole stdio connection; the core
 * echoes it. Exchanges are compared by identity.
 */
export interface Exchange {
  /** For captures and logs; unique within a session. */
  readonly name: string
  /** Equal for exchanges whose HTTP requests have the same credentials; absent on stdio. */
  readonly context?: string | undefined
  /** The client resumes a stream (`Last-Event-ID`): the server may send messages again. */
  readonly resumed?: boolean
}

export type Timer = string

/** The input of the relay. */
export type Event =
  | {
    readonly type: 'frame-received'; readonly from: Side; readonly exchange: Exchange
    readonly frame: Frame
  }
  /** The results of a `check` effect; one for each subject. */
  | { readonly type: 'checked'; readonly check: number; readonly results: readonly Checked[] }
  /** The response to a `share` effect. */
  | { readonly type: 'shared'; readonly share: number; readonly reply: SharedReply }
  /** The client has an event id of this exchange, and may fetch its responses at another replica. */
  | { readonly type: 'resumable'; readonly exchange: Exchange }
  | { readonly type: 'timer-fired'; readonly timer: Timer }
  /**
   * The transport knows that this request will get no response from the server on this exchange.
   * @property isElsewhere the response may come on another stream of the session
   */
  | {
    readonly type: 'request-lost'; readonly exchange: Exchange; readonly key: IdKey
    readonly reason: string; readonly isElsewhere?: boolean | undefined
  }
  /** The client closed the exchange, and reads no more responses on it. */
  | { readonly type: 'exchange-ended'; readonly exchange: Exchange }
  | HttpEvent
  /** The frame before was the complete HTTP response, without `head` or `stream-ended`. */
  | { readonly type: 'whole'; readonly exchange: Exchange }
  /** Another process or session of the server answers from now on. */
  | { readonly type: 'server-renewed' }
  /** @property isFailure true when the relay failed, and not the server */
  | { readonly type: 'server-gone'; readonly reason: string; readonly isFailure?: boolean }
  /** The client is gone, or the relay is stopping: the session is over. */
  | { readonly type: 'session-ended'; readonly reason: string }

/** The events that the core decides about. The others only keep their place among them. */
export type DecidedEvent = Exclude<Event, HttpEvent | { readonly type: 'whole' }>

/** The part of an HTTP server's response that is no message. It keeps its place among the messages. */
export type HttpEvent =
  /**
   * The server's HTTP response has begun (server-facing): its status and end-to-end headers, without those
   * about the length or the encoding of its body. Reported before its frames, unless no response may pass:
   * then the client's transport chooses the status.
   */
  | {
    readonly type: 'head'; readonly exchange: Exchange; readonly status: number
    readonly headers: ResponseHead['headers']
  }
  /** An event without a message (`id` and `retry`) or a comment, encoded anew. */
  | { readonly type: 'between'; readonly exchange: Exchange; readonly lines: string }
  /**
   * The server's HTTP response is over (server-facing).
   * @property resumable the client can fetch the rest with `Last-Event-ID`: unanswered requests are not lost
   */
  | { readonly type: 'stream-ended'; readonly exchange: Exchange; readonly resumable: boolean }

/** The same with the exchange's name in its place, for captures and embedders. */
export type Named<One> = One extends { readonly exchange: Exchange }
  ? Omit<One, 'exchange'> & { readonly exchange: string }
  : One

/** The output of the relay, to be performed in order. */
export type Effect =
  /** @property cause the side whose message led to this, which is paused when `to` does not read */
  | {
    readonly type: 'send'; readonly to: Side; readonly exchange: Exchange; readonly frame: Frame
    readonly cause: Side
  }
  /** The client gave up this request: the transport need not wait for the response. */
  | { readonly type: 'abandon'; readonly exchange: Exchange; readonly key: IdKey }
  /** To be followed by `checked`. */
  | { readonly type: 'check'; readonly check: number; readonly subjects: readonly Subject[] }
  /** A question to the shared state. @property share undefined: no `shared` has to follow */
  | { readonly type: 'share'; readonly share: number | undefined; readonly ask: SharedAsk | CountAsk }
  | { readonly type: 'audit'; readonly entry: Entry }
  /** A client request is over; only with the option `observed`. */
  | { readonly type: 'observe'; readonly operation: Operation }
  | { readonly type: 'start-timer'; readonly timer: Timer; readonly ms: number }
  | { readonly type: 'stop-timer'; readonly timer: Timer }
  /** A part of the server's HTTP response, for the client. */
  | { readonly type: 'hand'; readonly exchange: Exchange; readonly event: HttpEvent }
  /**
   * No message follows on this exchange.
   * @property failed its message, without an id, had no effect
   * @property isAtServer the server has its message: a server over HTTP ends the response by itself
   */
  | {
    readonly type: 'complete'; readonly exchange: Exchange; readonly failed?: true
    readonly isAtServer?: true | undefined
  }
  /** An exception was contained: its requests got an error, and the session goes on. */
  | { readonly type: 'failed'; readonly cause: unknown }
  /** The core failed: all requests got an error, and the session must end. @property cause the exception */
  | { readonly type: 'close'; readonly reason: string; readonly cause: unknown }
  /** The session is over. */
  | { readonly type: 'end'; readonly reason: string }

/**
 * What happened to a server. `exit`: its process ended by itself; `refusal`: it could not be started or
 * reached; `silence`: it gave no response in time; `relay`: its relay process failed and was replaced;
 * `restored`: it answers again.
 */
export const healthKinds = ['exit', 'refusal', 'silence', 'relay', 'restored'] as const

export type Health = (typeof healthKinds)[number]

/**
 * Who a client is, by the token that it presented: the claims of a JWT (RFC 9068, section 2.2) or of an
 * introspected token, or the name of a configured token. Never the token itself.
 */
export interface Identity {
  readonly issuer?: string | undefined
  readonly subject?: string | undefined
  readonly client?: string | undefined
  /** Of a configured token. */
  readonly name?: string | undefined
  readonly scopes: readonly string[]
}

/** One decision, for the audit log; `audit/` adds time, sequence, digests and chain (docs/audit.md). */
export interface Entry {
  /** An MCP method, `method:NAME` for any other, `session/start`, `session/end`, `wire` or `http/refused`. */
  readonly event: string
  /** The sender of the request or frame. */
  readonly from: Side | 'relay'
  /** `sent`: written before the call is sent; the full record follows with the response. */
  readonly phase?: 'sent' | undefined
  readonly server: string
  readonly session: string
  readonly client: { readonly name: string; readonly version: string } | undefined
  /** The network peer that began the session or was refused, and the index of its token. */
  readonly peer?: {
    readonly address: string
    readonly token: number | undefined
    readonly subject?: Identity | undefined
  } | undefined
  /** Who the client is, where its token says so. */
  readonly subject?: Identity | undefined
  readonly revision: string | undefined
  /** The client's revision, where the relay translates between it and `revision`. */
  readonly clientRevision?: string | undefined
  readonly tool?: string | undefined
  /** The name of the called tool at the merged endpoint, where there is one. */
  readonly shown?: string | undefined
  /** The tools that the client gets, of `tools/list`. */
  readonly tools?: readonly string[] | undefined
  /** Their names at the merged endpoint, where there is one. */
  readonly shownTools?: readonly string[] | undefined
  /** Name and version that the server gives itself, of `tools/list`. */
  readonly serverInfo?: { readonly name: string; readonly version: string } | undefined
  readonly id?: string | number | undefined
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  /** The number of findings that were not kept. */
  readonly more?: number | undefined
  /** From arrival to the response's departure. The session adds the time after the core's handling. */
  ms?: number | undefined
  /** The server's part of `ms`; undefined when the request was not sent. */
  readonly serverMs?: number | undefined
  readonly bytes?:
    { readonly request?: number | undefined; readonly response?: number | undefined } | undefined
  /** The JSON texts of `params.arguments` and `result` on the wire, for digests and payloads. */
  readonly arguments?: Buffer | undefined
  readonly result?: Buffer | undefined
  /** The called tool. What it declares stays in redacted payloads; not part of the record. */
  readonly called?: Pick<Tool, 'inputSchemas' | 'outputSchemas'> | undefined
  /** The code of the JSON-RPC error that the client got. */
  readonly error?: number | undefined
  /** Why a session ended, or what happened to the server. */
  readonly reason?: string | undefined
  /** Of `server/health` only. */
  readonly health?: Health | undefined
  /** The last lines that the server wrote to stderr before its process ended. */
  readonly stderr?: readonly string[] | undefined
  /** The trace of its request; not part of the record. */
  readonly trace?: Trace | undefined
}

/** A finished client request, for metrics and traces. */
export interface Operation {
  /** Its record, even if none is written: most methods have one only with findings. */
  readonly entry: Entry & { readonly ms: number }
  /** True when the server lists the tool; any other name is the client's free choice. */
  readonly isListed: boolean
  /** Milliseconds from arrival to sending, and from sending to the response; undefined when not sent. */
  readonly atServer: { readonly afterMs: number; readonly ms: number } | undefined
  /** The server's response, if there was one. */
  readonly response: Frame | undefined
  /** The client's response; undefined when it got none. */
  readonly sent: Frame | undefined
}

/** Structured content made from text: the value and its JSON text. */
export interface Promotion {
  readonly value: Json
  readonly text: string
}
