import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { IdKey } from '../../protocol/json-rpc.js'

/** As much of an HTTP request as its endpoint uses: Node's own, or one that came over the channel from the front. */
export interface FrontRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly httpVersion: string
  /** The body was received to its end. */
  readonly complete: boolean
  readonly socket: { readonly destroyed: boolean; readonly remoteAddress?: string | undefined }
  /** The front has kept a place for the process of a session that the request may begin. Undefined: places are counted here. */
  readonly place?: ProcessPlace
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'end' | 'close' | 'error', listener: () => void): unknown
  once(event: 'end', listener: () => void): unknown
  off(event: 'data', listener: (chunk: Buffer) => void): unknown
  pause(): unknown
  resume(): unknown
  destroy(): unknown
}

export interface ProcessPlace {
  /** @returns what gives the place back; undefined when there was none */
  take(): (() => void) | undefined
}

/** The response to it. */
export interface FrontResponse {
  readonly headersSent: boolean
  readonly destroyed: boolean
  readonly writableLength: number
  readonly writableNeedDrain: boolean
  readonly socket: { cork(): void; uncork(): void } | null
  readonly req: Pick<FrontRequest, 'headers'>
  writeHead(status: number, headers?: OutgoingHttpHeaders | (string | string[])[]): unknown
  /** Sends the head now; undefined: `write` of no bytes does that. */
  sendHead?(): void
  write(chunk: Buffer | string): boolean
  end(chunk?: Buffer): unknown
  destroy(): unknown
  writeContinue(): void
  hasHeader(name: string): boolean
  setHeader(name: string, value: string | string[]): unknown
  appendHeader(name: string, values: readonly string[]): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
  /** The one request that is owed an answer; undefined: none, or several. Whoever answers in the place of a relay process needs it. */
  owes?(key: IdKey | undefined): void
  /**
   * Called when the connection is gone before the client has sent another request on it: it may not have got
   * the response.
   */
  onUnread?: (() => void) | undefined
}
