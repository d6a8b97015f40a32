import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { totalmem } from 'node:os'
import type { Duplex } from 'node:stream'

/** By it a process knows that it is a relay process; no server is to see it. */
const roleVariable = 'MCP_CUSTOMS_RELAY'
/** Of the channel, in a relay process. */
const descriptor = 3

const mebibyte = 1024 * 1024
const heapFlag = '--max-old-space-size'
/**
 * Garbage is collected by the thread that made it. V8's helper threads cost a tenth of all CPU time for calls with long results, and those of
 * a process whose heap is being filled up would take the processors that other relay processes need.
 */
const oneThreadFlag = '--single-threaded-gc'

/** The heap of a relay process, in MiB: what the operator says of Node's, else 1 GiB, or half of the machine's memory where that is less. */
const heapOf = (): number => {
  const said = new RegExp(`${heapFlag.replaceAll('-', '[-_]')}=(\\d+)`).exec(`${process.env['NODE_OPTIONS'] ?? ''} ${process.execArgv.join(' ')}`)?.[1]
  const memory = process.constrainedMemory()
  const own = memory > 0 && memory < totalmem() ? memory : totalmem()
  return said === undefined ? Math.min(1024, Math.floor(own / 2 / mebibyte)) : Number(said)
}

export interface RelayChild {
  readonly child: ChildProcess
  readonly channel: Duplex
  /** Resident memory that it may have, in bytes: its heap, and as much beside it. */
  readonly mostBytes: number
}

/** Starts this program once more, as a relay process that inherits one end of a socket pair. */
export const spawnRelay = (): RelayChild => {
  const heap = heapOf()
  const script = process.argv[1] ?? ''
  const child = spawn(process.execPath, [`${heapFlag}=${heap}`, oneThreadFlag, ...process.execArgv, script, 'serve'], {
    env: { ...process.env, [roleVariable]: '1' },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    windowsHide: true,
  })
  const channel = child.stdio[descriptor]
  if (!(channel instanceof Socket)) throw new Error('it has no channel')
  return { child, channel, mostBytes: 2 * heap * mebibyte }
}

/** @returns the channel to the front; undefined in a process that is no relay process */
export const inheritedChannel = (): Duplex | undefined => {
  const isRelay = process.env[roleVariable] !== undefined
  Reflect.deleteProperty(process.env, roleVariable)
  return isRelay ? new Socket({ fd: descriptor, readable: true, writable: true }) : undefined
}

/** Resident memory of another process, in bytes, where the system tells of it while that process is busy (Linux). */
export const residentBytes = (pid: number): number | undefined => {
  if (process.platform !== 'linux') return undefined
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024
  } catch {
    return undefined
  }
}
