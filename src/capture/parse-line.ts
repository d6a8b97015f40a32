import type { Side } from '../core/event.js'
import type { ToolSetting } from '../core/options.js'
import type { Verdict } from '../core/findings.js'
import type { Fault, Message } from '../protocol/frame.js'
import { readKey } from '../protocol/message.js'
import type { IdKey } from '../protocol/json-rpc.js'
import {
  isArray, isObject, isString, type Json, type JsonObject, member, parseJson,
} from '../protocol/unmetered.js'
import type {
  CapturedLock, CaptureLimits, Decision, Happened, Happening, Line, Opening, Ruling, Sent, Settings,
} from './line.js'
import type { NotedFrame } from './noted-frame.js'

/**
 * @returns undefined for what is no line of a capture: the half of one that a crash left
 * @throws Error for a capture of another version
 */
export const parseLine = (text: string): Line | undefined => {
  const value = parseJson(text)
  if (!isObject(value) || !isString(member(value, 'session'))) return undefined
  const version = member(value, 'capture')
  if (version !== undefined && version !== 1) throw new Error(`it is a capture of version ${JSON.stringify(version)}, which this relay does not know`)
  try {
    return version === 1 ? openingIn(value) : happeningIn(value)
  } catch (error) {
    if (error instanceof Misshapen) return undefined
    throw error
  }
}

class Misshapen extends Error {}

const misshapen = (): never => {
  throw new Misshapen()
}

type Given = Json | undefined

const text = (value: Given): string => (isString(value) ? value : misshapen())
const key = (value: Given): IdKey => readKey(text(value)) ?? misshapen()
const number = (value: Given): number => (typeof value === 'number' ? value : misshapen())
const flag = (value: Given): boolean => (typeof value === 'boolean' ? value : misshapen())
const object = (value: Given): JsonObject => (value !== undefined && isObject(value) ? value : misshapen())
const schema = (value: Json): JsonObject | boolean => (typeof value === 'boolean' ? value : object(value))
const name = (value: Json): string | number => (typeof value === 'number' ? value : text(value))
const oneOf = <One extends string>(value: Given, all: readonly One[]): One => all.find(one => one === value) ?? misshapen()
const maybe = <One>(value: Given, read: (value: Json) => One): One | undefined => (value === undefined ? undefined : read(value))
const list = <One>(read: (value: Json) => One) => (value: Given): readonly One[] => (value !== undefined && isArray(value) ? value.map(read) : misshapen())
const record = <One>(read: (value: Json) => One) => (value: Given): Readonly<Record<string, One>> =>
  Object.fromEntries(Object.entries(object(value)).map(([key, held = null]) => [key, read(held)]))

const sides: readonly Side[] = ['client', 'server']
const verdicts: readonly Verdict[] = ['pass', 'log', 'mend', 'demote', 'block']
const kinds: readonly Message['kind'][] = ['request', 'notification', 'result', 'error', 'batch', 'unusable', 'page']
const faults: readonly Fault['kind'][] = ['json', 'json-rpc', 'ambiguous', 'size', 'http']

const openingIn = (line: JsonObject): Opening => ({
  capture: 1,
  session: text(member(line, 'session')),
  time: text(member(line, 'time')),
  server: text(member(line, 'server')),
  nonce: text(member(line, 'nonce')),
  stateless: flag(member(line, 'stateless')),
  joined: maybe(member(line, 'joined'), flag),
  payloads: oneOf(member(line, 'payloads'), ['redacted', 'full']),
  settings: settingsIn(object(member(line, 'settings'))),
})

const settingsIn = (settings: JsonObject): Settings => ({
  ...rulingIn(settings),
  trusted: flag(member(settings, 'trusted')),
  limits: limitsIn(object(member(settings, 'limits'))),
  intent: flag(member(settings, 'intent')),
  mostFindings: maybe(member(settings, 'mostFindings'), number),
  lock: maybe(member(settings, 'lock'), lockIn),
})

const rulingIn = (value: Json): Ruling => {
  const ruling = object(value)
  return { policy: record(text)(member(ruling, 'policy')), tools: record(toolIn)(member(ruling, 'tools')) }
}

const toolIn = (value: Json): ToolSetting => {
  const tool = object(value)
  return {
    denied: flag(member(tool, 'denied')),
    outputSchema: maybe(member(tool, 'outputSchema'), schema),
    resultSchema: maybe(member(tool, 'resultSchema'), schema),
    structured: maybe(member(tool, 'structured'), one => oneOf(one, ['from-text'])),
    annotations: maybe(member(tool, 'annotations'), object),
  }
}

const lockIn = (value: Json): CapturedLock => {
  const lock = object(value)
  return {
    text: text(member(lock, 'text')),
    isTrusted: flag(member(lock, 'isTrusted')),
    isFrozen: flag(member(lock, 'isFrozen')),
    actions: record(text)(member(lock, 'actions')),
  }
}

const limitsIn = (limits: JsonObject): CaptureLimits => ({
  messageBytes: number(member(limits, 'messageBytes')),
  depth: number(member(limits, 'depth')),
  schemaBytes: number(member(limits, 'schemaBytes')),
  schemaDepth: number(member(limits, 'schemaDepth')),
  subschemas: number(member(limits, 'subschemas')),
  validationMs: number(member(limits, 'validationMs')),
  listMs: number(member(limits, 'listMs')),
  requestMs: number(member(limits, 'requestMs')),
  tools: number(member(limits, 'tools')),
})

const happeningIn = (line: JsonObject): Happening => ({
  session: text(member(line, 'session')),
  time: text(member(line, 'time')),
  number: number(member(line, 'number')),
  at: number(member(line, 'at')),
  ruling: maybe(member(line, 'ruling'), rulingIn),
  event: eventIn(object(member(line, 'event'))),
  late: maybe(member(line, 'late'), list(number)),
  checks: maybe(member(line, 'checks'), list(number)),
  sent: maybe(member(line, 'sent'), list(sentIn)),
  decisions: maybe(member(line, 'decisions'), list(decisionIn)),
})

const eventIn = (event: JsonObject): Happened => {
  const given = text(member(event, 'type'))
  switch (given) {
    case 'frame-received':
      return {
        type: given, from: oneOf(member(event, 'from'), sides), exchange: text(member(event, 'exchange')), frame: frameIn(object(member(event, 'frame'))),
      }
    case 'checked':
      return { type: given, check: number(member(event, 'check')) }
    case 'timer-fired':
      return { type: given, timer: text(member(event, 'timer')) }
    case 'request-lost':
      return { type: given, exchange: text(member(event, 'exchange')), key: key(member(event, 'key')), reason: text(member(event, 'reason')) }
    case 'undelivered':
      return { type: given, key: key(member(event, 'key')) }
    case 'exchange-ended':
      return { type: given, exchange: text(member(event, 'exchange')) }
    case 'server-gone':
    case 'session-ended':
      return { type: given, reason: text(member(event, 'reason')) }
    default:
      return misshapen()
  }
}

const frameIn = (frame: JsonObject): NotedFrame => ({
  ...bytesIn(frame),
  kind: oneOf(member(frame, 'kind'), kinds),
  key: maybe(member(frame, 'key'), key),
  keys: maybe(member(frame, 'keys'), list(key)),
  faults: maybe(member(frame, 'faults'), list(faultIn)),
  status: maybe(member(frame, 'status'), number),
  headers: maybe(member(frame, 'headers'), record(text)),
  sse: maybe(member(frame, 'sse'), text),
})

const bytesIn = (held: JsonObject): { readonly text: string } | { readonly base64: string } => {
  const written = member(held, 'text')
  return written === undefined ? { base64: text(member(held, 'base64')) } : { text: text(written) }
}

const faultIn = (value: Json): Fault => {
  const fault = object(value)
  return { kind: oneOf(member(fault, 'kind'), faults), path: text(member(fault, 'path')), message: text(member(fault, 'message')) }
}

const sentIn = (value: Json): Sent => {
  const sent = object(value)
  const where = { to: oneOf(member(sent, 'to'), sides), exchange: text(member(sent, 'exchange')) }
  const from = member(sent, 'number')
  return from === undefined ? { ...where, ...bytesIn(sent) } : { ...where, number: number(from) }
}

const decisionIn = (value: Json): Decision => {
  const decision = object(value)
  return {
    event: text(member(decision, 'event')),
    tool: maybe(member(decision, 'tool'), text),
    id: maybe(member(decision, 'id'), name),
    verdict: oneOf(member(decision, 'verdict'), verdicts),
    findings: list(findingIn)(member(decision, 'findings')),
  }
}

const findingIn = (value: Json): Decision['findings'][number] => {
  const finding = object(value)
  const words = { rule: text(member(finding, 'rule')), path: text(member(finding, 'path')), message: text(member(finding, 'message')) }
  const mended = maybe(member(finding, 'mended'), text)
  return mended === undefined ? words : { ...words, mended }
}
