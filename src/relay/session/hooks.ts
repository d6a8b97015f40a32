import type { Flush } from '#relay/audit/audit.js'
import type { Effect, Entry, Event, Operation, Side } from '#relay/core/vocabulary.js'
import type { Frame, Trace } from '#relay/protocol/frame.js'
import type { Request } from '#relay/protocol/json-rpc.js'
import type { ServerHealth } from './health.js'

/** The hooks by which the audit log, telemetry and captures see a session. */
export interface Hooks {
  /**
   * Writes or queues a record. @returns a function that writes the queued record; undefined: it is written
   * already. Both throw on failure
   */
  readonly audit: (entry: Entry) => Flush | undefined
  /** Called before `audit`. @returns resolves when the record can be written without delay; undefined: now */
  readonly prepare?: ((entry: Entry) => Promise<unknown> | undefined) | undefined
  readonly observer?: Observer | undefined
  readonly recorder?: Recorder | undefined
  /** Called for each contained exception; the session goes on. */
  readonly failed?: ((cause: unknown) => void) | undefined
  /** Told whether the server answers. */
  readonly health?: Pick<ServerHealth, 'failed' | 'answered'> | undefined
}

/** Hooks for metrics and traces. They must not throw, and are not awaited. */
export interface Observer {
  /** A message was received. */
  readonly moved?: (from: Side, bytes: number) => void
  /** A client request has arrived. @param headers of its HTTP request, by lower-case name */
  readonly begun?: (request: Request, headers: ReadonlyMap<string, string> | undefined) => Trace | undefined
  /** A client request is over. */
  readonly done: (operation: Operation) => void
  /** The session is over. @param failed true when the relay failed */
  readonly ended?: (failed: boolean) => void
}

/** The hook for captures: sees all events and effects. */
export interface Recorder {
  /** The engine was asked. @param isLate true when it did not answer at once */
  asked(isLate: boolean): void
  handled(event: Event, now: number, effects: readonly Effect[]): void
}

/** The client's frame with a trace for each request in it. */
export const traced = (
  frame: Frame, begun: NonNullable<Observer['begun']>, headers = frame.envelope?.headers,
): Frame => {
  const { message } = frame
  if (message.kind === 'batch')
    return {
      ...frame, message: { ...message, members: message.members.map(one => traced(one, begun, headers)) },
    }
  return message.kind === 'request'
    ? { ...frame, envelope: { ...frame.envelope, trace: begun(message, headers) } }
    : frame
}
