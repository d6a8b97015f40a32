import { randomUUID } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { sha256 } from '#canonical.js'
import { codeOf } from '#errors.js'
import { isObject, isString, member, parseJson } from '#protocol/unmetered.js'
import { clip } from '#protocol/quote.js'

/** Another process has the claim. */
export class Claimed extends Error {}

/** Something else has the name of the claim's file. */
export class Unclaimable extends Error {}

/** This process's exclusive right to write a file. */
export interface Claim {
  /** Called once a second, to show that the owner lives. @returns why this process has lost the claim */
  readonly renew: () => string | undefined
  readonly release: () => void
}

interface Owner {
  readonly pid: number
  readonly host: string
  /** The namespace of `pid`. */
  readonly place: string
  /** Distinguishes a process from a later one with the same number; undefined on systems that do not say. */
  readonly started: string | undefined
}

/** An owner in another namespace is dead when it has not touched its claim for so long, in milliseconds. */
const patience = 5000
const pauseMs = 250

/** The text of each claim of this process, by the claim's file. */
const claims = new Map<string, string>()

// One listener for all claims: an emitter warns of a leak when it has more than ten.
process.once('exit', () => claims.forEach((_, lock) => giveBack(lock)))

/**
 * Claims a file for this process: two writers would break its chain. The claim is a file beside it,
 * `FILE.lock`, that names the owner and that the owner touches once a second. A claim is taken over when its
 * owner's process is gone or, in another container or on another host, when the owner no longer touches it.
 *
 * proper-lockfile (npm) is not used. It stores no owner, so a relay that a client restarts would wait until
 * the old claim is stale. It decides that by the wall clock, which may be set back. It removes a stale claim
 * without reading whose it is by then. Its exit handler (signal-exit) acts on signals that the relay passes
 * on.
 * @throws Claimed while another owner lives; Unclaimable; the system's error when it cannot write
 */
export const claim = async (file: string): Promise<Claim> => {
  const text = JSON.stringify({ id: randomUUID(), ...self() })
  const lock = `${file}.lock`
  await take(lock, text)
  return { renew: () => renew(lock, text), release: () => giveBack(lock) }
}

const take = async (lock: string, text: string): Promise<void> => {
  while (!create(lock, text)) {
    const found = read(lock)
    if (found === undefined) continue
    const owner = ownerOf(found)
    if (await lives(lock, owner)) {
      const who = owner === undefined ? 'another relay' : `process ${owner.pid} on ${clip(owner.host)}`
      throw new Claimed(`${who} is writing it`)
    }
    // The right to remove this dead claim is claimed too, so that its successor is not removed by mistake.
    const burial = `${lock}.${sha256(found).slice(0, 16)}`
    await take(burial, text)
    if (read(lock) === found) rmSync(lock, { force: true })
    giveBack(burial)
  }
  claims.set(lock, text)
}

const renew = (lock: string, text: string): string | undefined => {
  const lost = 'another relay has taken it over'
  try {
    if (readFileSync(lock, 'utf8') !== text) return lost
    const now = new Date()
    utimesSync(lock, now, now)
    return undefined
  } catch {
    // Another relay may be replacing the claim at this moment.
    return lost
  }
}

function giveBack(lock: string): void {
  const text = claims.get(lock)
  if (claims.delete(lock) && read(lock) === text) rmSync(lock, { force: true })
}

const create = (lock: string, text: string): boolean => {
  try {
    writeFileSync(lock, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return false
    throw cause
  }
}

/** Longest claim, in bytes. */
const longest = 4096

/**
 * Undefined when the claim was released meanwhile.
 * @throws Unclaimable when the file is no claim, such as a dangling link or a pipe
 */
const read = (lock: string): string | undefined => {
  const state = lstatSync(lock, { throwIfNoEntry: false })
  if (state === undefined) return undefined
  if (!state.isFile() || state.size > longest) {
    throw new Unclaimable(`${lock} is no claim of a relay: remove it`)
  }
  try {
    return readFileSync(lock, 'utf8')
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined
    throw cause
  }
}

const lives = async (lock: string, owner: Owner | undefined): Promise<boolean> => {
  if (owner?.place === place()) {
    if (!isRunning(owner.pid)) return false
    const started = startOf(owner.pid)
    if (started !== undefined && owner.started !== undefined) return started === owner.started
  }
  const before = touchedAt(lock)
  for (let waited = 0; waited < patience; waited += pauseMs) {
    await pause(pauseMs)
    const now = touchedAt(lock)
    if (now !== before) return now !== undefined
  }
  return false
}

const touchedAt = (lock: string): number | undefined => statSync(lock, { throwIfNoEntry: false })?.mtimeMs

/** Undefined while the claim is being written, or when the file is no claim. */
const ownerOf = (text: string): Owner | undefined => {
  const value = parseJson(text)
  if (!isObject(value)) return undefined
  const [pid, host, where, started] = ['pid', 'host', 'place', 'started'].map(name => member(value, name))
  if (typeof pid !== 'number' || !isString(host) || !isString(where)) return undefined
  return { pid, host, place: where, started: isString(started) ? started : undefined }
}

const self = (): Owner =>
  ({ pid: process.pid, host: hostname(), place: place(), started: startOf(process.pid) })

let known: string | undefined

const place = (): string => (known ??= process.platform === 'linux' ? namespace() : hostname())

/** The kernel's boot and its process namespace: containers on one host differ only in the latter. */
const namespace = (): string => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    // Without /proc, no other process is known to share the namespace.
    return randomUUID()
  }
}

export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // The process runs, but belongs to another user.
    return codeOf(cause) === 'EPERM'
  }
}

/** The start time, field 22 of /proc/PID/stat (proc(5)). Field 2, in brackets, may contain any character. */
const startOf = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    // Only Linux has this file.
    return undefined
  }
}
