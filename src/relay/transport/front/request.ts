import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { JsonObject } from '#relay/protocol/json.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'

/** An HTTP request, as far as its endpoint uses it: Node's own, or one received over the channel. */
export interface FrontRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly httpVersion: string
  /** The body was received to its end. */
  readonly complete: boolean
  readonly socket: { readonly destroyed: boolean; readonly remoteAddress?: string | undefined }
  /**
   * The front has reserved a place for the process of a session that the request may begin. Undefined: this
   * process counts the places.
   */
  readonly processSlot?: ProcessSlot
  /** What the handshake of its session has agreed, as another process of this gateway knows (`termsData`). */
  readonly agreed?: JsonObject | undefined
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'end' | 'close' | 'error', listener: () => void): unknown
  once(event: 'end', listener: () => void): unknown
  off(event: 'data', listener: (chunk: Buffer) => void): unknown
  off(event: 'end', listener: () => void): unknown
  pause(): unknown
  resume(): unknown
  destroy(): unknown
}

export interface ProcessSlot {
  /** @returns a function that gives the place back; undefined when all places are taken */
  reserve(): (() => void) | undefined
}

/** The response to a `FrontRequest`. */
export interface FrontResponse {
  /** Once it is over: the client's connection got the head. */
  readonly headersSent: boolean
  readonly destroyed: boolean
  /** It is over: complete, or the client has left. Set before `close` is emitted. */
  readonly closed: boolean
  readonly writableLength: number
  readonly writableNeedDrain: boolean
  /** True when the operating system has all bytes, unless `isWrittenLater`. */
  readonly writableFinished?: boolean
  /** Its bytes may be written after it is over: they must not be freed then (channel). */
  readonly isWrittenLater?: true
  readonly socket: { cork(): void; uncork(): void } | null
  readonly req: Pick<FrontRequest, 'headers'>
  writeHead(status: number, headers?: OutgoingHttpHeaders | (string | string[])[]): unknown
  /** Sends the head now. Undefined: a `write` of no bytes does that. */
  sendHead?(): void
  write(chunk: Buffer | string, taken?: () => void): boolean
  end(chunk?: Buffer): unknown
  destroy(): unknown
  writeContinue(): void
  hasHeader(name: string): boolean
  setHeader(name: string, value: string | string[]): unknown
  appendHeader(name: string, values: readonly string[]): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
  /**
   * Names requests that need a response. The front answers those that have none when the relay process dies.
   */
  setPending?(keys: readonly IdKey[]): void
  /** Their responses are written. */
  setAnswered?(keys: readonly IdKey[]): void
}

/**
 * The client has left, or has its whole response. This is a state: it is asked after each `await`, because
 * `close`, an event, may have been emitted meanwhile.
 */
export const hasLeft = ({ closed, destroyed }: Pick<FrontResponse, 'closed' | 'destroyed'>): boolean =>
  closed || destroyed

/** Acts when the response is over: at once where it is over already. */
export const onceOver = (response: Pick<FrontResponse, 'closed' | 'once'>, act: () => void): void => {
  if (response.closed) act()
  else response.once('close', act)
}

/** A header's value; a header that Node keeps as a list is joined. */
export const headerText = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'object' ? value.join(', ') : value
