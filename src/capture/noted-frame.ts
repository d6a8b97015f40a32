import { isUtf8 } from 'node:buffer'
import type { Envelope, Frame, FrameLimits, Message } from '#protocol/frame.js'
import { anonymousError, idOf } from '#protocol/message.js'
import { parseFrame } from '#protocol/parse.js'
import type { NotedFrame } from './line.js'
import { headersOf, keyIn, type Payload } from './payload.js'

/** The frame as a capture keeps it. */
export const noted = (frame: Frame, payload: Payload): NotedFrame => {
  const { message, faults, otherKeys, envelope } = frame
  const keys = message.kind === 'unusable' ? message.keys : otherKeys
  return {
    ...textOf(frame, payload),
    kind: message.kind,
    key: 'key' in message && message.key !== undefined ? keyIn(message.key, payload) : undefined,
    keys: keys?.map(key => keyIn(key, payload)),
    faults: faults.length === 0 ? undefined : faults.map(({ kind, path, message }) =>
      ({ kind, path: payload.text(path), message: payload.text(message) })),
    status: envelope?.response?.status,
    headers: envelope?.headers && headersOf(envelope, payload),
    sse: envelope?.event && payload.text(envelope.event),
  }
}

/** The bytes of a frame as text or, if they are no UTF-8, as base64. */
export const textOf = (
  frame: Frame, payload: Payload,
): { readonly text: string } | { readonly base64: string } => {
  const bytes = payload.bytes(frame)
  return isUtf8(bytes) ? { text: bytes.toString() } : { base64: bytes.toString('base64') }
}

export const bytesOf = ({ text, base64 }: Pick<NotedFrame, 'text' | 'base64'>): Buffer =>
  text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)

/** The frame as the core received it. Under lower limits than at its capture, it may now exceed them. */
export const revived = (frame: NotedFrame, limits: FrameLimits): Frame => {
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

const messageOf = ({ kind, key, keys = [] }: NotedFrame, read: Frame): Message => {
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

const envelopeOf = ({ status, headers, sse }: NotedFrame): Envelope | undefined => {
  if (status === undefined && headers === undefined && sse === undefined) return undefined
  return {
    ...(status !== undefined && { response: { status, headers: new Map() } }),
    ...(headers && { headers: new Map(Object.entries(headers)) }),
    ...(sse !== undefined && { event: sse }),
  }
}
