import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { sha256 } from './canonical.js'
import { codeOf } from './errors.js'
import { isHeldOpen } from './platform/files.js'
import { isWindows } from './platform/machine.js'
import { clip } from '#relay/protocol/quote.js'
import { isRecord, isString, field, parseData } from '#relay/protocol/unmetered.js'

/** Another process has the claim. */
export class Claimed extends Error {}

/** Something else has the name of the claim's file. */
export class Unclaimable extends Error {}

/** This process's exclusive right to write a file. */
export interface Claim {
  /** Shows that the owner lives; done every second by itself. @returns why the claim is lost */
  readonly renew: () => string | undefined
  readonly release: () => void
}

/** The owner touches its claim at this interval, in milliseconds. */
const touchMs = 1000
/** Time between two attempts of a process that waits, in milliseconds. */
export const attemptMs = 100
/**
 * The attempts without a touch in between after which the owner counts as dead. Attempts are counted, and not
 * the time, because a process that was suspended would take every owner for dead.
 */
const patience = 50
/**
 * As `patience`, on Windows, for an owner whose process runs on this host: its event loop may stand still
 * there, while a pipe or `taskkill` makes it wait, and nothing stops processes for longer.
 */
const patienceWithBusy = 600
/** Longest claim, in bytes. */
const longest = 4096

/** The text of each claim of this process, by the claim's file. */
const claims = new Map<string, string>()

// One listener for all claims: an emitter warns of a leak when it has more than ten.
process.once('exit', () => claims.forEach((_, lock) => giveBack(lock)))

/**
 * Claims a file for this process: two writers would break it. @throws Claimed while another owner lives;
 * Unclaimable; the system's error when it cannot write
 */
export const claim = async (file: string): Promise<Claim> => {
  const contest = new Contest(file)
  for (;;) {
    const owned = contest.attempt()
    if (owned !== undefined) return owned
    if (contest.rival !== undefined) throw new Claimed(`${contest.rival} is writing it`)
    await pause(attemptMs)
  }
}

/**
 * The attempts of this process to claim a file. The claim is a file beside it, `FILE.lock`, which its owner
 * touches every second. Whoever sees it stay untouched takes it over, whether the owner was killed or only
 * stopped, here or on another host: an owner that goes on later finds that it has lost the claim.
 *
 * proper-lockfile (npm) is not used. It decides by the wall clock, which may be set back. It removes a stale
 * claim without reading whose it is by then. Its exit handler (signal-exit) acts on signals that the relay
 * passes on.
 */
export class Contest {
  readonly #lock: string
  readonly #text = JSON.stringify({ id: randomUUID(), pid: process.pid, host: hostname() })
  /** Who was seen to touch the claim. */
  rival: string | undefined
  #seen: string | undefined
  #quiet = 0
  #burial: Contest | undefined

  constructor(file: string) {
    this.#lock = `${file}.lock`
  }

  /** To be called every `attemptMs`. @returns undefined while another process has the claim */
  attempt(): Claim | undefined {
    const [lock, text] = [this.#lock, this.#text]
    if (create(lock, text)) return owned(lock, text)
    const found = read(lock)
    if (found === undefined) return undefined
    if (found.stamp !== this.#seen) {
      if (this.#seen !== undefined) this.rival = nameOf(found.text)
      this.#seen = found.stamp
      this.#quiet = 0
      this.#burial = undefined
    }
    this.#quiet += 1
    if (this.#quiet < patienceWith(found.text)) return undefined
    // The right to remove this dead claim is claimed too, so that its successor is not removed by mistake.
    this.#burial ??= new Contest(`${lock}.${sha256(found.text).slice(0, 16)}`)
    const right = this.#burial.attempt()
    if (right === undefined) return undefined
    if (read(lock)?.stamp === found.stamp) rmSync(lock, { force: true })
    right.release()
    return create(lock, text) ? owned(lock, text) : undefined
  }
}

const lost = 'another relay has taken it over'

const owned = (lock: string, text: string): Claim => {
  claims.set(lock, text)
  const renew = (): string | undefined => {
    try {
      if (readFileSync(lock, 'utf8') !== text) return lost
      utimesSync(lock, new Date(), new Date())
      return undefined
    } catch {
      // Another relay may be replacing the claim at this moment.
      return lost
    }
  }
  const timer = setInterval(renew, touchMs).unref()
  return {
    renew,
    release: () => {
      clearInterval(timer)
      giveBack(lock)
    },
  }
}

function giveBack(lock: string): void {
  const text = claims.get(lock)
  if (claims.delete(lock) && read(lock)?.text === text) rmSync(lock, { force: true })
}

const create = (lock: string, text: string): boolean => {
  try {
    writeFileSync(lock, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (cause) {
    // Windows refuses the name of a removed file that somebody still reads.
    if (codeOf(cause) === 'EEXIST' || (isHeldOpen(cause) && existsSync(lock))) return false
    throw cause
  }
}

/** @param stamp differs after each touch @throws Unclaimable for a dangling link, a pipe and the like */
const read = (lock: string): { readonly text: string; readonly stamp: string } | undefined => {
  const state = lstatSync(lock, { throwIfNoEntry: false })
  if (state === undefined) return undefined
  if (!state.isFile() || state.size > longest) {
    throw new Unclaimable(`${lock} is no claim of a relay: remove it`)
  }
  try {
    const text = readFileSync(lock, 'utf8')
    return { text, stamp: `${text} ${state.mtimeMs}` }
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT' || isHeldOpen(cause)) return undefined
    throw cause
  }
}

const ownerIn = (text: string): { readonly pid: number; readonly host: string } | undefined => {
  const value = parseData(text)
  const [pid, host] = isRecord(value) ? [field(value, 'pid'), field(value, 'host')] : []
  return typeof pid === 'number' && isString(host) ? { pid, host } : undefined
}

const nameOf = (text: string): string => {
  const owner = ownerIn(text)
  return owner === undefined ? 'another relay' : `process ${owner.pid} on ${clip(owner.host)}`
}

const patienceWith = (text: string): number => {
  const owner = isWindows() ? ownerIn(text) : undefined
  return owner?.host === hostname() && isRunning(owner.pid) ? patienceWithBusy : patience
}

export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // The process runs, but belongs to another user.
    return codeOf(cause) === 'EPERM'
  }
}
