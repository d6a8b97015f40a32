import type { Operation, Side } from '../core/event.js'
import type { Frame, Trace } from '../protocol/frame.js'
import type { Request } from '../protocol/json-rpc.js'

/** Looks on, for metrics and traces. Nothing of it throws, and nothing waits for it. */
export interface Observer {
  /** A message crosses; bytes as received. */
  readonly moved?: (from: Side, bytes: number) => void
  /** A request of the client's has come. @param headers of the HTTP request by which it came, by lower-case name */
  readonly begun?: (request: Request, headers: ReadonlyMap<string, string> | undefined) => Trace | undefined
  /** A request of the client's is over. */
  readonly done: (operation: Operation) => void
  /** The session is over. @param failed the relay could not go on with it */
  readonly ended?: (failed: boolean) => void
}

/** The frame of a client's, with each request in it followed. */
export const followed = (frame: Frame, begun: NonNullable<Observer['begun']>, headers = frame.envelope?.headers): Frame => {
  const { message } = frame
  if (message.kind === 'batch') return { ...frame, message: { ...message, members: message.members.map(one => followed(one, begun, headers)) } }
  return message.kind === 'request' ? { ...frame, envelope: { ...frame.envelope, trace: begun(message, headers) } } : frame
}
