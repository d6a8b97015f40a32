/** Where a stream stands: what is needed to ask for the rest of it. */
export interface Cursor {
  lastEventId: string | undefined
  /** The server's `retry:`, in milliseconds. */
  retryMs: number | undefined
  /** Events so far, those without a message too. */
  events: number
}

export const cursor = (): Cursor => ({ lastEventId: undefined, retryMs: undefined, events: 0 })
