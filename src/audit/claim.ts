import { randomUUID } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { sha256 } from '../canonical.js'
import { codeOf } from '../errors.js'
import { isObject, isString, member, parseJson } from '../protocol/unmetered.js'
import { clip } from '../protocol/quote.js'
import { cannotAudit } from './log-file.js'

/** The right to write a file. */
export interface Claim {
  /** Shows that the owner lives: to be called once a second. @returns why the file is not ours any more */
  renew(): string | undefined
  release(): void
}

interface Owner {
  readonly pid: number
  readonly host: string
  /** Where process numbers mean the same as here. */
  readonly place: string
  /** Tells a process from a later one with its number; undefined where the system does not say. */
  readonly started: string | undefined
}

/** An owner that cannot be looked at is dead when it gives no sign for so long, in milliseconds. */
const patience = 5000
const pauseMs = 250

/** Our claims, by their files. */
const claims = new Map<string, string>()

// One for all: a gateway may hold more files than an emitter likes to have listeners.
process.once('exit', () => claims.forEach((_, lock) => giveBack(lock)))

/**
 * Takes a file for this process alone: two writers would tear its chain apart. The claim is a file beside it, `FILE.lock`, that
 * names the owner, and that the owner touches once a second. The claim of an owner that is dead is taken over: its process is gone
 * or, where its number says nothing here (another container, another host), it gives no sign.
 *
 * proper-lockfile (npm) was looked at instead: it knows no owner, so that a relay that a client starts again
 * would wait until the last one's claim is stale; it tells that by the wall clock, which may be set back; it removes a stale claim
 * without a look at whose it is by then; and its exit handler (signal-exit) answers the signals that are ours to pass on.
 * @throws CustomsError CANNOT_AUDIT while another owner lives; or what the system says, when the claim cannot be written
 */
export const claim = async (file: string): Promise<Claim> => {
  const text = JSON.stringify({ id: randomUUID(), ...self() })
  const lock = `${file}.lock`
  await take(file, lock, text)
  return { renew: () => renew(lock, text), release: () => giveBack(lock) }
}

const take = async (file: string, lock: string, text: string): Promise<void> => {
  while (!create(lock, text)) {
    const found = read(file, lock)
    if (found === undefined) continue
    const owner = ownerOf(found)
    if (await lives(lock, owner)) {
      const who = owner === undefined ? 'another relay' : `process ${owner.pid} on ${clip(owner.host)}`
      throw cannotAudit(file, `${who} is writing it, and a log that is named has one writer`)
    }
    // Who may remove this dead claim is itself claimed, so that nobody removes the one that comes after it.
    const burial = `${lock}.${sha256(found).slice(0, 16)}`
    await take(file, burial, text)
    if (read(file, lock) === found) rmSync(lock, { force: true })
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
    return lost
  }
}

function giveBack(lock: string): void {
  const text = claims.get(lock)
  if (claims.delete(lock) && read(lock, lock) === text) rmSync(lock, { force: true })
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

/** A claim is as long as its owner's name at most. */
const longest = 4096

/** Undefined when nobody holds it by now. @throws CustomsError CANNOT_AUDIT for what is no claim: a link that leads nowhere, a pipe */
const read = (file: string, lock: string): string | undefined => {
  const state = lstatSync(lock, { throwIfNoEntry: false })
  if (state === undefined) return undefined
  if (!state.isFile() || state.size > longest) throw cannotAudit(file, `${lock} is no claim of a relay: remove it`)
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

/** Undefined when it is being written at this moment, or is none of ours. */
const ownerOf = (text: string): Owner | undefined => {
  const value = parseJson(text)
  if (!isObject(value)) return undefined
  const [pid, host, where, started] = ['pid', 'host', 'place', 'started'].map(name => member(value, name))
  if (typeof pid !== 'number' || !isString(host) || !isString(where)) return undefined
  return { pid, host, place: where, started: isString(started) ? started : undefined }
}

const self = (): Owner => ({ pid: process.pid, host: hostname(), place: place(), started: startOf(process.pid) })

let known: string | undefined

const place = (): string => (known ??= process.platform === 'linux' ? namespace() : hostname())

/** The run of the kernel, and its namespace of process numbers: containers may share all but that. */
const namespace = (): string => {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return randomUUID()
  }
}

export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // Somebody else's process is not ours to signal, but it runs.
    return codeOf(cause) === 'EPERM'
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
