import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import type { Frame } from '#relay/protocol/frame.js'

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
