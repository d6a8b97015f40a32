import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { totalmem } from 'node:os'
import type { Duplex } from 'node:stream'
import { hasProc } from '#relay/base/platform/machine.js'

/** Marks a relay process; removed there, so that servers do not inherit it. */
const roleVariable = 'MCP_CUSTOMS_RELAY'
/** File descriptor of the channel in a relay process. */
const descriptor = 3

const mebibyte = 1024 * 1024
const heapFlag = '--max-old-space-size'
/**
 * Garbage is collected on the main thread. V8's helper threads cost a tenth of the CPU time of calls with
 * long results, and in a process whose heap is filling up they would take the processors of other relay
 * processes.
 */
const oneThreadFlag = '--single-threaded-gc'

/** A relay process's heap in MiB: the operator's flag for Node, or else 1024, at most half of the memory. */
const heapOf = (): number => {
  const flags = `${process.env['NODE_OPTIONS'] ?? ''} ${process.execArgv.join(' ')}`
  const configured = new RegExp(`${heapFlag.replaceAll('-', '[-_]')}=(\\d+)`).exec(flags)?.[1]
  if (configured !== undefined) return Number(configured)
  const memory = process.constrainedMemory()
  const available = memory > 0 && memory < totalmem() ? memory : totalmem()
  return Math.min(1024, Math.floor(available / 2 / mebibyte))
}

export interface RelayChild {
  readonly pid: number | undefined
  readonly channel: Duplex
  /** Limit of its resident memory, in bytes: twice its heap. */
  readonly maxBytes: number
  /** @returns undefined where only the process itself knows */
  residentBytes(): number | undefined
  /** @param gone called once, when it has ended and its last messages were read */
  onGone(gone: (how: string) => void): void
  /** Ends it by force. */
  kill(): void
}

/** Starts this program as a relay process that inherits one end of a socket pair. */
export const spawnRelay = (): RelayChild => {
  const heap = heapOf()
  const script = process.argv[1] ?? ''
  const flags = [`${heapFlag}=${heap}`, oneThreadFlag, ...process.execArgv]
  const child = spawn(process.execPath, [...flags, script, 'serve'], {
    env: { ...process.env, [roleVariable]: '1' },
    // On Windows a plain pipe would let a write wait until a read has ended (nodejs/node#43936).
    stdio: ['ignore', 'ignore', 'inherit', 'overlapped'],
    windowsHide: true,
  })
  const channel = child.stdio[descriptor]
  if (!(channel instanceof Socket)) throw new Error('it has no channel')
  return {
    pid: child.pid, channel, maxBytes: 2 * heap * mebibyte,
    residentBytes: () => (child.pid === undefined ? undefined : residentBytes(child.pid)),
    onGone: gone => {
      // A process that failed to start has no `close` event.
      child.on('error', error => {
        if (child.pid === undefined) gone(error.message)
      })
      // Not `exit`: its last messages are read by `close`.
      child.on('close', (code, signal) =>
        gone(signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`))
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

/** @returns the channel to the front; undefined when this is not a relay process */
export const inheritedChannel = (): Duplex | undefined => {
  const isRelay = process.env[roleVariable] !== undefined
  Reflect.deleteProperty(process.env, roleVariable)
  return isRelay ? new Socket({ fd: descriptor, readable: true, writable: true }) : undefined
}

/** Resident memory of another process, in bytes; known on Linux only. */
const residentBytes = (pid: number): number | undefined => {
  if (!hasProc()) return undefined
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024
  } catch {
    return undefined
  }
}
