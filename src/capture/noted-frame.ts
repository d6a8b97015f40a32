import { isUtf8 } from 'node:buffer'
import type { Envelope, Frame, FrameLimits, Message } from '#protocol/frame.js'
import { anonymousError, idOf } from '#protocol/message.js'
import { parseFrame } from '#protocol/parse.js'
import type { NotedFrame } from './line.js'

/**
 * The frame as a capture keeps it.
 * @param bytes the frame's bytes, redacted if the capture is
 * @param headers the headers that are kept
 */
export const noted = (
  { message, faults, otherKeys, envelope }: Frame, bytes: Buffer, headers: Readonly<Record<string, string>>,
): NotedFrame => ({
  ...(isUtf8(bytes) ? { text: bytes.toString() } : { base64: bytes.toString('base64') }),
  kind: message.kind,
  key: 'key' in message ? message.key : undefined,
  keys: message.kind === 'unusable' ? message.keys : otherKeys,
  faults: faults.length === 0 ? undefined : faults,
  status: envelope?.response?.status,
  headers: envelope?.headers && headers,
  sse: envelope?.event,
})

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
