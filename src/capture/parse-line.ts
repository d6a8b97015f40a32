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

/** Reads an object of known members. */
const fields = <Shape>(read: (of: (name: string) => Given) => Shape) => (value: Given): Shape => {
  const held = object(value)
  return read(name => member(held, name))
}

const sides: readonly Side[] = ['client', 'server']
const verdicts: readonly Verdict[] = ['pass', 'log', 'mend', 'demote', 'block']
const kinds: readonly Message['kind'][] = ['request', 'notification', 'result', 'error', 'batch', 'unusable', 'page']
const faults: readonly Fault['kind'][] = ['json', 'json-rpc', 'ambiguous', 'size', 'http']

const openingIn = fields((of): Opening => ({
  capture: 1,
  session: text(of('session')),
  time: text(of('time')),
  server: text(of('server')),
  nonce: text(of('nonce')),
  stateless: flag(of('stateless')),
  joined: maybe(of('joined'), flag),
  payloads: oneOf(of('payloads'), ['redacted', 'full']),
  settings: settingsIn(of('settings')),
}))

const settingsIn = fields((of): Settings => ({
  policy: record(text)(of('policy')),
  tools: record(toolIn)(of('tools')),
  trusted: flag(of('trusted')),
  limits: limitsIn(of('limits')),
  intent: flag(of('intent')),
  mostFindings: maybe(of('mostFindings'), number),
  lock: maybe(of('lock'), lockIn),
}))

const rulingIn = fields((of): Ruling => ({ policy: record(text)(of('policy')), tools: record(toolIn)(of('tools')) }))

const toolIn = fields((of): ToolSetting => ({
  denied: flag(of('denied')),
  outputSchema: maybe(of('outputSchema'), schema),
  resultSchema: maybe(of('resultSchema'), schema),
  structured: maybe(of('structured'), one => oneOf(one, ['from-text'])),
  annotations: maybe(of('annotations'), object),
}))

const lockIn = fields((of): CapturedLock => ({
  text: text(of('text')),
  isTrusted: flag(of('isTrusted')),
  isFrozen: flag(of('isFrozen')),
  actions: record(text)(of('actions')),
}))

const limitsIn = fields((of): CaptureLimits => ({
  messageBytes: number(of('messageBytes')),
  depth: number(of('depth')),
  schemaBytes: number(of('schemaBytes')),
  schemaDepth: number(of('schemaDepth')),
  subschemas: number(of('subschemas')),
  validationMs: number(of('validationMs')),
  listMs: number(of('listMs')),
  requestMs: number(of('requestMs')),
  tools: number(of('tools')),
}))

const happeningIn = fields((of): Happening => ({
  session: text(of('session')),
  time: text(of('time')),
  number: number(of('number')),
  at: number(of('at')),
  ruling: maybe(of('ruling'), rulingIn),
  event: eventIn(of('event')),
  late: maybe(of('late'), list(number)),
  checks: maybe(of('checks'), list(number)),
  sent: maybe(of('sent'), list(sentIn)),
  decisions: maybe(of('decisions'), list(decisionIn)),
}))

const eventIn = fields((of): Happened => {
  const given = text(of('type'))
  switch (given) {
    case 'frame-received':
      return {
        type: given, from: oneOf(of('from'), sides), exchange: text(of('exchange')), frame: frameIn(of('frame')),
      }
    case 'checked':
      return { type: given, check: number(of('check')) }
    case 'timer-fired':
      return { type: given, timer: text(of('timer')) }
    case 'request-lost':
      return { type: given, exchange: text(of('exchange')), key: key(of('key')), reason: text(of('reason')) }
    case 'undelivered':
      return { type: given, key: key(of('key')) }
    case 'exchange-ended':
      return { type: given, exchange: text(of('exchange')) }
    case 'server-gone':
    case 'session-ended':
      return { type: given, reason: text(of('reason')) }
    default:
      return misshapen()
  }
})

const frameIn = (value: Given): NotedFrame => fields((of): NotedFrame => ({
  ...bytesIn(value),
  kind: oneOf(of('kind'), kinds),
  key: maybe(of('key'), key),
  keys: maybe(of('keys'), list(key)),
  faults: maybe(of('faults'), list(faultIn)),
  status: maybe(of('status'), number),
  headers: maybe(of('headers'), record(text)),
  sse: maybe(of('sse'), text),
}))(value)

const bytesIn = fields((of): { readonly text: string } | { readonly base64: string } => {
  const written = of('text')
  return written === undefined ? { base64: text(of('base64')) } : { text: text(written) }
})

const faultIn = fields((of): Fault =>
  ({ kind: oneOf(of('kind'), faults), path: text(of('path')), message: text(of('message')) }))

const sentIn = (value: Json): Sent => fields((of): Sent => {
  const where = { to: oneOf(of('to'), sides), exchange: text(of('exchange')) }
  const from = of('number')
  return from === undefined ? { ...where, ...bytesIn(value) } : { ...where, number: number(from) }
})(value)

const decisionIn = fields((of): Decision => ({
  event: text(of('event')),
  tool: maybe(of('tool'), text),
  id: maybe(of('id'), name),
  verdict: oneOf(of('verdict'), verdicts),
  findings: list(findingIn)(of('findings')),
}))

const findingIn = fields((of): Decision['findings'][number] => {
  const words = { rule: text(of('rule')), path: text(of('path')), message: text(of('message')) }
  const mended = maybe(of('mended'), text)
  return mended === undefined ? words : { ...words, mended }
})
