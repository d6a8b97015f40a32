/** So many wait at a time: those beyond are left out, for nothing depends on them. */
const most = 10_000

/** Sends things some at a time: those of a turn together, and the next when the last have arrived. */
export const inBatches = <One>(send: (batch: readonly One[]) => Promise<unknown>): ((one: One) => void) => {
  let waiting: One[] = []
  let isSending = false
  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await send(batch).catch(() => undefined)
    }
    isSending = false
  }
  return one => {
    if (waiting.length < most) waiting.push(one)
    if (isSending) return
    isSending = true
    setImmediate(() => void sendAll())
  }
}
