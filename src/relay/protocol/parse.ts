import { isAscii, isUtf8 } from 'node:buffer'
import { countsOfShort, countTokens, stringsIn, strictScan, tooDeep } from './ambiguity.js'
import type { Facts, Fault, Frame, FrameLimits } from './frame.js'
import { isObject, isString, parseJson, type Json, type JsonObject } from './json.js'
import { keysAtEnds, keysIn, errorMessageOf } from './message.js'
import { parseInPieces, pieceBytes, type Parsed } from './pieces.js'
import { caseVariants } from './case-variants.js'
import { readFast } from './read-fast.js'
import { afterContainer, afterSpace, byte, deepest, eachChild, type Child } from './scan.js'
import { turns } from './turns.js'
import { unmetered } from './unmetered.js'

/** Up to this size `JSON.parse` is fast enough in the worst case, an object of very many keys. */
const largeBytes = 1536 * 1024

const isLarge = ({ length }: Buffer): boolean => length > largeBytes

/** Shorter messages are read without waiting for a turn. */
const shortBytes = 16 * 1024

/** In a shorter text quotation marks are counted one by one. */
const fewCharacters = 1024

/** With more opening brackets the nesting is measured before `JSON.parse`, which needs memory per level. */
const harmlessOpens = 100_000

/** Bytes kept of the beginning and of the end of a message that is too long. */
const kept = 4096

/** Members of the longest batch. */
const maxMembers = 10_000

/** Messages that this program has made, edited or read before are within every limit. */
const madeLimits: FrameLimits = { messageBytes: Infinity, depth: 1000, judgedBytes: 0 }

/** The frame of a message that this program has made, edited or read before. */
export const madeFrame = (text: string | Buffer): Frame =>
  parseFrame(isString(text) ? Buffer.from(text) : text, madeLimits)

/**
 * Reads one message strictly, with its faults (rules wire/json, wire/json-rpc, wire/ambiguous, wire/size).
 * Never throws. The members of a batch are frames with faults of their own, whose paths start at the member;
 * the caller decides whether a batch is allowed.
 * @param bytes one message, without the line end or the fields of the SSE event
 */
export const parseFrame = (bytes: Buffer, limits: FrameLimits): Frame => {
  const steps = stepsFor(bytes, limits)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Like `parseFrame`, but reads a large message or a batch in pieces, between which the caller may yield. A
 * message that is not short waits for its turn, so that its schema can be checked right after it was read.
 */
export const readFrame = (bytes: Buffer, limits: FrameLimits): Frame | FrameReading => {
  const steps = stepsFor(bytes, limits)
  if (!turns.isOpen && bytes.length >= shortBytes) return inOpenTurn(steps)
  const { done, value } = steps.next()
  return done === true ? value : steps
}

function* stepsFor(bytes: Buffer, limits: FrameLimits): FrameReading {
  if (bytes.length > limits.messageBytes) {
    return oversizedFrame(bytes.subarray(0, kept), bytes.subarray(-kept), bytes.length, limits)
  }
  return yield* bytes[afterSpace(bytes, 0)] === byte.openArray ? batch(bytes, limits) : single(bytes, limits)
}

function* inOpenTurn(steps: FrameReading): FrameReading {
  while (!turns.isOpen) yield
  return yield* steps
}

/** A message that is being read. */
export type FrameReading = Generator<void, Frame, void>

export const isReading = (frame: Frame | FrameReading): frame is FrameReading => !('bytes' in frame)

/**
 * A message over the limit, of which only the beginning and the end were kept.
 * @param size of the whole message, in bytes
 */
export const oversizedFrame = (head: Buffer, tail: Buffer, size: number, limits: FrameLimits): Frame => ({
  bytes: head,
  message: { kind: 'unusable', keys: keysAtEnds(head, tail) },
  faults: [fault('size', `${size} bytes long, over the limit of ${limits.messageBytes}`)],
})

function* single(bytes: Buffer, limits: FrameLimits): FrameReading {
  const fine = readFast(bytes, limits)
  if (fine !== undefined) return framed(bytes, fine.value, [], fine, yield* caseVariants(fine.value))
  const ascii = isAscii(bytes)
  if (!ascii && !isUtf8(bytes)) return unusable(bytes, fault('json', 'not UTF-8'))
  const { value, faults, unescaped } =
    isLarge(bytes) ? yield* parseInPieces(bytes, ascii, limits) : parseAtOnce(bytes, ascii, limits)
  if (value === undefined) return faults.length > 0 ? unusable(bytes, ...faults) : notJson(bytes, limits)
  const plain = ascii && unescaped && !bytes.includes(byte.delete)
  const variants = yield* caseVariants(value)
  // Judging the message has a turn of its own.
  if (isLarge(bytes)) yield
  return framed(bytes, value, faults, { plain }, variants)
}

const parseAtOnce = (bytes: Buffer, ascii: boolean, limits: FrameLimits): Parsed => {
  // Latin-1 is the cheapest encoding from ASCII bytes to a string.
  const text = bytes.toString(ascii ? 'latin1' : 'utf8')
  const isShort = text.length < fewCharacters && !text.includes('\\')
  const { quotes, opens, unicodeEscapes, controlEscapes } = isShort ? countsOfShort(text) : countTokens(bytes)
  const unescaped = !unicodeEscapes && !controlEscapes
  if (opens > harmlessOpens && deepest(bytes) > limits.depth) {
    return { value: undefined, faults: [tooDeep(limits)], unescaped }
  }
  const value = parseJson(text)
  if (value === undefined || 2 * stringsIn(value, limits.depth, unicodeEscapes) === quotes) {
    return { value, faults: [], unescaped }
  }
  const faults = strictScan(bytes, limits)
  return { value: faults.some(({ kind }) => kind === 'size') ? undefined : value, faults, unescaped }
}

const framed = (
  bytes: Buffer, value: Json, found: readonly Fault[], { plain, repeats }: Pick<Facts, 'plain' | 'repeats'>,
  variants: readonly Fault[],
): Frame => {
  const faults = variants.length === 0 ? found : [...found, ...variants]
  const message = errorMessageOf(bytes, value)
  if (isString(message)) return unusable(bytes, ...faults, fault('json-rpc', message))
  if (faults.length === 0) {
    const onlyContainer = isObject(value) && hasOneContainer(value)
    return { bytes, message, faults, facts: { plain, onlyContainer, ...(repeats && { repeats }) } }
  }
  const own = 'key' in message ? message.key : undefined
  const otherKeys = keysIn(bytes).filter(key => key !== own)
  const facts = { plain, onlyContainer: false }
  return { bytes, message, faults, facts, ...(otherKeys.length > 0 && { otherKeys }) }
}

const hasOneContainer = (message: JsonObject): boolean => {
  let containers = 0
  for (const key in unmetered(message)) {
    if (typeof message[key] === 'object' && message[key] !== null) containers++
  }
  return containers === 1
}

/** Reads each member by itself, and checks the bytes between the members. */
function* batch(bytes: Buffer, limits: FrameLimits): FrameReading {
  const start = afterSpace(bytes, 0)
  const children: Child[] = []
  eachChild(bytes, start, child => children.push(child) > maxMembers)
  const tooMany = fault('size', `a batch of more than ${maxMembers} messages`)
  if (children.length > maxMembers) return unusable(bytes, tooMany)
  if (!isList(bytes, start, children)) return notJson(bytes, limits)
  if (children.length === 0) return unusable(bytes, fault('json-rpc', 'an empty batch'))
  const members: Frame[] = []
  // The batch is a level of nesting itself.
  const inside = { ...limits, depth: limits.depth - 1 }
  let since = 0
  for (const { value, to } of children) {
    const bytesOfOne = bytes.subarray(value, to)
    const member = yield* single(bytesOfOne, inside)
    const spoilt = member.faults.find(({ kind }) => kind === 'json' || kind === 'size')
    if (spoilt !== undefined) return spoilt.kind === 'size' ? unusable(bytes, spoilt) : notJson(bytes, limits)
    members.push(member)
    if ((since += bytesOfOne.length) < pieceBytes) continue
    since = 0
    yield
  }
  return { bytes, message: { kind: 'batch', members }, faults: [] }
}

/** Whether the text of an array holds only its elements, the commas between them, and white space. */
const isList = (bytes: Buffer, start: number, elements: readonly Child[]): boolean => {
  let at = start + 1
  for (const [index, { value, to }] of elements.entries()) {
    if (index > 0) {
      at = afterSpace(bytes, at)
      if (bytes[at++] !== byte.comma) return false
    }
    if (afterSpace(bytes, at) !== value) return false
    at = to
  }
  at = afterSpace(bytes, at)
  return bytes[at] === byte.closeArray && afterSpace(bytes, at + 1) === bytes.length
}

const unusable = (bytes: Buffer, ...faults: readonly Fault[]): Frame => ({
  bytes,
  message: { kind: 'unusable', keys: keysIn(bytes) },
  faults,
})

const fault = (kind: Fault['kind'], message: string): Fault => ({ kind, path: '', message })

const notJson = (bytes: Buffer, limits: FrameLimits): Frame =>
  unusable(bytes, deepest(bytes) > limits.depth ? tooDeep(limits) : fault('json', whyNotJson(bytes)))

const whyNotJson = (bytes: Buffer): string => {
  if (bytes.toString('latin1', 0, 3) === '\u00ef\u00bb\u00bf') {
    return 'not JSON: a byte order mark at the beginning'
  }
  if (bytes.includes(0)) return 'not JSON: a NUL byte'
  const start = afterSpace(bytes, 0)
  const opens = bytes[start] === byte.openObject || bytes[start] === byte.openArray
  if (!opens) return bytes.includes(byte.openObject) ? 'not JSON: something before the message' : 'not JSON'
  const end = afterContainer(bytes, start)
  if (end === undefined) return 'not JSON: cut off'
  return afterSpace(bytes, end) < bytes.length ? 'not JSON: something after the message' : 'not JSON'
}
