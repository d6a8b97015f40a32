import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import type { Frame } from '../../../dist/protocol/frame.js'
import type { Transport, TransportEvent } from '../../../dist/transport/transport.js'

type Of<Type extends TransportEvent['type']> = Extract<TransportEvent, { type: Type }>

/** Starts a transport and keeps what it tells; each wait is for what it told already or is still to tell. */
export const listen = (transport: Transport) => {
  const events: TransportEvent[] = []
  const waiting = new Set<() => void>()
  transport.start(event => {
    events.push(event)
    for (const wake of waiting) wake()
  })
  const until = <Value>(find: () => Value | undefined) =>
    new Promise<Value>(resolve => {
      const look = () => {
        const found = find()
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  const all = <Type extends TransportEvent['type']>(type: Type) => events.filter((event): event is Of<Type> => event.type === type)
  const lines = () => all('frame').map(({ frame }) => frame.bytes.toString())
  return {
    events,
    all,
    /** The frames until now, as text. */
    lines,
    /** The first so many frames. */
    frames: (count: number) => until(() => (all('frame').length < count ? undefined : all('frame').slice(0, count).map(({ frame }) => frame.bytes))),
    /** The frame of that number, as text. */
    line: (index: number) => until(() => lines()[index]),
    first: <Type extends TransportEvent['type']>(type: Type) => until(() => all(type)[0]),
  }
}

/** Any line that is not blank: text or not, without its line end. */
export const anyLine = fc
  .uint8Array({ minLength: 1, maxLength: 100 })
  .map(bytes => Buffer.from(bytes.map(byte => (byte === 10 ? 11 : byte))))
  .filter(line => line.toString('latin1').trim() !== '')

/** A frame of which only the bytes count. */
export const raw = (bytes: Buffer | string): Frame => ({
  bytes: Buffer.from(bytes),
  message: { kind: 'unusable', keys: [] },
  faults: [],
})

/** A request of which only the id counts. */
export const request = (id: number): Frame => ({
  bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })),
  message: { kind: 'request', id, key: JSON.stringify(id), method: 'ping', params: undefined },
  faults: [],
})

/** Whether a process runs: one that has ended, and that nobody has reaped yet, does not. */
export const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
