import { isUtf8 } from 'node:buffer'
import type { Envelope, Frame, FrameLimits, Message } from '#relay/protocol/frame.js'
import { anonymousError, idOf } from '#relay/protocol/message.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { CapturedFrame } from './line.js'
import { capturedHeaders, keyInCapture, type Redaction } from './redaction.js'

/** The frame as a capture keeps it. */
export const capturedFrame = (frame: Frame, redaction: Redaction): CapturedFrame => {
  const { message, faults, otherKeys, envelope } = frame
  const keys = message.kind === 'unusable' ? message.keys : otherKeys
  return {
    ...capturedText(frame, redaction),
    kind: message.kind,
    key: 'key' in message && message.key !== undefined ? keyInCapture(message.key, redaction) : undefined,
    keys: keys?.map(key => keyInCapture(key, redaction)),
    faults: faults.length === 0 ? undefined : faults.map(({ kind, path, message }) =>
      ({ kind, path: redaction.path(path), message: redaction.message(message) })),
    status: envelope?.response?.status,
    headers: envelope?.headers && capturedHeaders(envelope, redaction),
    sse: envelope?.event && redaction.text(envelope.event),
    translatedFrom: envelope?.translatedFrom,
    isRepeated: envelope?.isRepeated,
    modernHeaders: envelope?.modernHeaders && capturedHeaders({ headers: envelope.modernHeaders }, redaction),
  }
}

/** The bytes of a frame as text or, if they are no UTF-8, as base64. */
export const capturedText = (
  frame: Frame, redaction: Redaction,
): { readonly text: string } | { readonly base64: string } => {
  const bytes = redaction.bytes(frame)
  return isUtf8(bytes) ? { text: bytes.toString() } : { base64: bytes.toString('base64') }
}

export const bytesOf = ({ text, base64 }: Pick<CapturedFrame, 'text' | 'base64'>): Buffer =>
  text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)

/** Restores the frame that the core received. If the limits are lower now, the frame may exceed them. */
export const restoredFrame = (frame: CapturedFrame, limits: FrameLimits): Frame => {
  const bytes = bytesOf(frame)
  const read = parseFrame(bytes, limits)
  const envelope = envelopeOf(frame)
  if (read.faults.some(({ kind }) => kind === 'size')) return { ...read, ...(envelope && { envelope }) }
  const message = messageOf(frame, read)
  const { keys = [], faults = [] } = frame
  return {
    bytes, message, faults,
    ...(message.kind === read.message.kind && { facts: read.facts }),
    ...(message.kind !== 'unusable' && keys.length > 0 && { otherKeys: keys }),
    ...(envelope && { envelope }),
  }
}

// The kind comes from the capture, where the transport chose it, and not from the text: the text of an HTTP
// response may lack an id, and a long frame is cut (line.ts).
const messageOf = ({ kind, key, keys = [] }: CapturedFrame, read: Frame): Message => {
  const { message, bytes } = read
  if (kind === 'unusable') return { kind, keys }
  if (kind === 'page') return { kind, key, text: bytes.toString() }
  if (message.kind === kind) {
    const isSameId = !('id' in message) || key === undefined || message.key === key
    return isSameId ? message : { ...message, key, id: idOf(key) }
  }
  const error = kind === 'error' ? anonymousError(read) : undefined
  return error === undefined || key === undefined ? message : { kind: 'error', id: idOf(key), key, error }
}

const envelopeOf = (
  { status, headers, sse, translatedFrom, isRepeated, modernHeaders }: CapturedFrame,
): Envelope | undefined => {
  const all = [status, headers, sse, translatedFrom, isRepeated, modernHeaders]
  if (all.every(one => one === undefined)) return undefined
  return {
    ...(translatedFrom !== undefined && { translatedFrom }),
    ...(isRepeated !== undefined && { isRepeated }),
    ...(modernHeaders && { modernHeaders: new Map(Object.entries(modernHeaders)) }),
    ...(status !== undefined && { response: { status, headers: new Map() } }),
    ...(headers && { headers: new Map(Object.entries(headers)) }),
    ...(sse !== undefined && { event: sse }),
  }
}
