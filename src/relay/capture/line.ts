import type { Side, Verdict } from '#relay/core/vocabulary.js'
import type { ToolSetting } from '#relay/core/options.js'
import type { Fault, Message } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { readKey } from '#relay/protocol/message.js'
import { isRevision, type Revision } from '#relay/protocol/revisions/index.js'
import { misshapen, type Read, readAs, shape } from '#relay/base/own-json.js'
import { isRecord, isString, type DataObject, field, parseData } from '#relay/protocol/unmetered.js'

const { text, number, flag, object, json, oneOf, maybe, list, record, fields } = shape

const key: Read<IdKey> = value => readKey(text(value)) ?? misshapen()
const schema: Read<DataObject | boolean> = value => (typeof value === 'boolean' ? value : object(value))
const id: Read<string | number> = value => (typeof value === 'number' ? value : text(value))

const side = oneOf<Side>('client', 'server')

const toolMembers = fields({
  denied: flag, title: maybe(text), description: maybe(text), annotations: maybe(object),
  scopes: maybe(list(text)), structured: maybe(oneOf('from-text')), outputSchema: maybe(schema),
  resultSchema: maybe(schema), inputSchema: maybe(fields({ properties: record(record(json)) })),
  timeoutMs: maybe(number), callsPerMinute: maybe(number), resultBytes: maybe(number),
})

const revision: Read<Revision> = value => (isString(value) && isRevision(value) ? value : misshapen())

const tool: Read<ToolSetting> = value =>
  ({ outputSchema: undefined, annotations: undefined, ...toolMembers(value) })

const patterns = { allow: maybe(list(text)), deny: maybe(list(text)) }

const match = fields({
  name: maybe(text), token: maybe(text),
  subject: maybe(fields({ issuer: maybe(text), subject: text })),
})

const names = fields({ ...patterns, clients: maybe(list(list(fields({ match, ...patterns })))) })

/** The settings that may change while a session runs: the action of each rule, and the settings of tools. */
const changing = {
  policy: record(text), tools: record(tool), names: maybe(names), profiles: maybe(list(text)),
}
const ruling = fields(changing)

/** The limits of messages and schemas that applied to a session. */
const limits = fields({
  messageBytes: number, depth: number, schemaBytes: number, schemaDepth: number, subschemas: number,
  validationMs: number, listMs: number, requestMs: number, tools: number,
})

const lock = fields({
  /** The lock file. */
  text,
  isTrusted: flag,
  isFrozen: flag,
  /** The action for each class of change. */
  actions: record(text),
  /** How the program differed from the accepted one; undefined where it did not. */
  program: maybe(fields({ classes: text, isMinor: flag })),
})

const opening = fields({
  /** Version of this format. */
  capture: oneOf(1),
  session: text,
  /** ISO 8601. */
  time: text,
  server: text,
  /** The source of the ids that the relay makes. */
  nonce: text,
  stateless: flag,
  /** Undefined when the session began in this relay. */
  joined: maybe(flag),
  agreed: maybe(object),
  /** Undefined where replicas share no state. */
  shared: maybe(fields({})),
  sharedCounts: maybe(flag),
  payloads: oneOf('redacted', 'full'),
  /** The settings that the session was judged by. A replay may use others. */
  settings: fields({
    ...changing,
    minRevision: maybe(revision),
    trusted: flag,
    limits,
    intent: flag,
    mostFindings: maybe(number),
    /** Undefined without a lock. */
    lock: maybe(lock),
  }),
})

const fault = fields({
  kind: oneOf<Fault['kind']>('json', 'json-rpc', 'ambiguous', 'size', 'http'), path: text, message: text,
})

/** Bytes as text or, if they are no UTF-8, as base64. */
const bytes = { text: maybe(text), base64: maybe(text) }

const withBytes = <Held extends { readonly text?: string | undefined; readonly base64?: string | undefined }>(
  held: Held,
): Held => (held.text === undefined && held.base64 === undefined ? misshapen() : held)

/** The bytes of a frame, and the part of its reading that does not follow from them. */
const frame = fields({
  ...bytes,
  /**
   * The kind that the transport found. The bytes may not show it: an HTTP response may lack the id of its
   * request, and a long frame is not kept whole.
   */
  kind: oneOf<Message['kind']>('request', 'notification', 'result', 'error', 'batch', 'unusable', 'page'),
  key: maybe(key),
  keys: maybe(list(key)),
  faults: maybe(list(fault)),
  status: maybe(number),
  headers: maybe(record(text)),
  sse: maybe(text),
  translatedFrom: maybe(text),
  isRepeated: maybe(flag),
  modernHeaders: maybe(record(text)),
})

/** An event of the core, with its frame as it is captured. The results of checks are computed anew. */
const events = {
  'frame-received': fields({
    type: oneOf('frame-received'), from: side, exchange: text, frame: value => withBytes(frame(value)),
  }),
  checked: fields({ type: oneOf('checked'), check: number }),
  shared: fields({
    type: oneOf('shared'), share: number,
    reply: value => (isString(value) ? oneOf('none', 'used', 'unreachable')(value) : object(value)),
  }),
  resumable: fields({ type: oneOf('resumable'), exchange: text }),
  'timer-fired': fields({ type: oneOf('timer-fired'), timer: text }),
  'request-lost': fields({
    type: oneOf('request-lost'), exchange: text, key, reason: text, isElsewhere: maybe(flag),
  }),
  'exchange-ended': fields({ type: oneOf('exchange-ended'), exchange: text }),
  'server-renewed': fields({ type: oneOf('server-renewed') }),
  'server-gone': fields({ type: oneOf('server-gone'), reason: text }),
  'session-ended': fields({ type: oneOf('session-ended'), reason: text }),
}

const readersOfEvents: ReadonlyMap<unknown, Read<CapturedEvent>> = new Map(Object.entries(events))

const event: Read<CapturedEvent> = value =>
  (readersOfEvents.get(field(object(value), 'type')) ?? misshapen)(value)

/** A frame that was sent: unchanged from the event of this number, or with bytes of its own. */
const sent = fields({ to: side, exchange: text, number: maybe(number), ...bytes })

/** A decision as in the audit log. Another version may have had other rules. */
const decision = fields({
  event: text, tool: maybe(text), id: maybe(id),
  verdict: oneOf<Verdict>('pass', 'log', 'mend', 'demote', 'block'),
  findings: list(fields({
    rule: text, path: text, message: text, mended: maybe(text), tool: maybe(text), prompt: maybe(text),
    resource: maybe(text),
  })),
})

const captured = fields({
  session: text,
  time: text,
  /** Counted from 0, within the session. */
  number,
  /** By the clock of the core, in milliseconds. */
  at: number,
  /** If it has changed: the ruling for this event and those that follow. */
  ruling: maybe(ruling),
  event,
  /** Numbers, within this event, of the questions that the schema engine did not answer at once. */
  late: maybe(list(number)),
  /** The numbers of the checks that the core asked for. */
  checks: maybe(list(number)),
  sent: maybe(list(value => {
    const one = sent(value)
    return one.number === undefined ? withBytes(one) : one
  })),
  decisions: maybe(list(decision)),
})

export type CaptureLimits = ReturnType<typeof limits>
export type CapturedRuling = ReturnType<typeof ruling>
export type CapturedLock = ReturnType<typeof lock>
export type CapturedFrame = ReturnType<typeof frame>
export type CapturedEvent = ReturnType<(typeof events)[keyof typeof events]>
export type Sent = ReturnType<typeof sent>
export type CapturedDecision = ReturnType<typeof decision>
/** The first line of a session. */
export type Opening = ReturnType<typeof opening>
/** Every other line of a session: an event, and the effects that it had. */
export type Captured = ReturnType<typeof captured>
export type CaptureLine = Opening | Captured

export const isOpening = (line: CaptureLine): line is Opening => 'capture' in line

/**
 * @returns undefined for a text that is no line of a capture, such as the half of a line that a crash cut
 * short
 * @throws Error for a capture of another version
 */
export const parseLine = (line: string): CaptureLine | undefined => {
  const value = parseData(line)
  if (!isRecord(value) || !isString(field(value, 'session'))) return undefined
  const version = field(value, 'capture')
  if (version !== undefined && version !== 1) {
    throw new Error(`it is a capture of version ${JSON.stringify(version)}, which this relay does not know`)
  }
  return version === 1 ? readAs(opening, value) : readAs<CaptureLine>(captured, value)
}
