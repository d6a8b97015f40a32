import type { Frame } from '../../../protocol/frame.js'
import { agreedBy, versionBy, type Agreed, type HttpHandshake } from './handshake.js'
import { bodyKind, type Between } from '../messages.js'
import { discard, type HttpReply } from '../pool.js'

/** Longest wait for a new session, in milliseconds. */
const renewMs = 30_000

export interface Renewal {
  readonly handshake: HttpHandshake
  readonly lost: Agreed
  readonly closing: AbortSignal
  readonly messagesOf: (reply: HttpReply) => AsyncIterable<Frame | Between>
  /** Whatever else than the answer comes with it. */
  readonly told: (frame: Frame) => void
}

/**
 * Begins a new session by the client's own `initialize` and `notifications/initialized`, after the server has lost the one before
 * (2025-11-25, session management). The client has its answer already, and does not get this one.
 * @returns false when there is no new session, or not one that the client could go on in
 */
export const renew = async ({ handshake, lost, closing, messagesOf, told }: Renewal): Promise<boolean> => {
  const { initialize, initialized, version } = lost
  const signal = AbortSignal.any([closing, AbortSignal.timeout(renewMs)])
  const reply = await handshake.post(initialize, signal)
  if (reply.status >= 300 || bodyKind(reply) === 'other') {
    discard(reply)
    return false
  }
  const agreed = agreedBy(initialize, reply)
  for await (const heard of messagesOf(reply)) {
    if (!('bytes' in heard)) continue
    agreed.version = versionBy(agreed, heard)
    if (agreed.version !== undefined) break
    if (heard.message.kind === 'notification' || heard.message.kind === 'request') told(heard)
  }
  // The client goes on in the revision that was agreed on with it, and in no other.
  if (agreed.version === undefined || agreed.version !== version) return false
  if (initialized) {
    const accepted = await handshake.post(initialized, signal, agreed)
    discard(accepted)
    if (accepted.status >= 300) return false
    agreed.initialized = initialized
  }
  handshake.enter(agreed)
  return true
}
