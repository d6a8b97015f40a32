import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'

/** Gives the file back. */
export type Release = () => void

interface Owner {
  readonly pid: number
  readonly host: string
  /** Tells a process from a later one with the same id; undefined where the system does not say. */
  readonly started: string | undefined
}

/** What this process holds: a lock with our own id that is not here was left by another life of the same id. */
const held = new Set<string>()

// One for all: a gateway may hold more files than an emitter likes to have listeners.
process.once('exit', () => held.forEach(giveBack))

/**
 * Takes a file for this process alone: two writers would tear the chain apart. The claim is a file beside it, `FILE.lock`,
 * that names the owner; one whose owner is dead is taken over. An owner on another host (a shared volume) counts as alive.
 * @returns undefined while another owner holds the file
 * @throws when the claim cannot be written
 */
export const claim = (file: string): Release | undefined => {
  const lock = `${file}.lock`
  if (held.has(lock) || !(create(lock) || takeOver(lock))) return undefined
  held.add(lock)
  return () => giveBack(lock)
}

function giveBack(lock: string): void {
  if (held.delete(lock)) rmSync(lock, { force: true })
}

const create = (lock: string): boolean => {
  try {
    const handle = openSync(lock, 'wx', 0o600)
    try {
      writeSync(handle, JSON.stringify(self()))
    } catch (cause) {
      rmSync(lock, { force: true })
      throw cause
    } finally {
      closeSync(handle)
    }
    return true
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
    throw cause
  }
}

/** Only one of several that see a dead owner may remove its lock: the next to look might remove the successor's. */
const takeOver = (lock: string): boolean => {
  if (!isDead(lock)) return false
  const turn = `${lock}.turn`
  if (!create(turn)) return false
  try {
    if (!isDead(lock)) return false
    rmSync(lock, { force: true })
    return create(lock)
  } finally {
    rmSync(turn, { force: true })
  }
}

const isDead = (lock: string): boolean => {
  const owner = ownerOf(lock)
  if (owner === undefined || owner.host !== hostname()) return false
  if (owner.pid === process.pid) return true
  return !isRunning(owner.pid) || (owner.started !== undefined && owner.started !== startOf(owner.pid))
}

/** Undefined when it is being written at this moment, or is none of ours. */
const ownerOf = (lock: string): Owner | undefined => {
  try {
    const owner: unknown = JSON.parse(readFileSync(lock, 'utf8'))
    if (typeof owner !== 'object' || owner === null || !('pid' in owner) || !('host' in owner)) return undefined
    const started = 'started' in owner && typeof owner.started === 'string' ? owner.started : undefined
    return typeof owner.pid === 'number' && typeof owner.host === 'string' ? { pid: owner.pid, host: owner.host, started } : undefined
  } catch {
    return undefined
  }
}

const self = (): Owner => ({ pid: process.pid, host: hostname(), started: startOf(process.pid) })

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // Somebody else's process is not ours to signal, but it runs.
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM'
  }
}

/** The 22nd field of /proc/PID/stat (proc(5)); the second, a name in brackets, may hold anything. */
const startOf = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
