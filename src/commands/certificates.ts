import { statSync } from 'node:fs'
import type { Log } from '../audit/log.js'
import { realTimers, type Timers } from '../transport/timers.js'

/** So often the files are looked at, in milliseconds. They may be links to links in other folders, which cannot all be watched. */
const lookMs = 10_000

/**
 * Certificates are renewed by others, who tell nobody. Files that cannot be used, such as one that came before its key, change nothing,
 * and say so.
 * @param files which they are now
 * @returns what stops it
 */
export const onRenewal = (files: () => readonly string[], renew: () => void, log: Log, timers: Timers = realTimers): (() => void) => {
  let known = stampOf(files())
  return timers.every(lookMs, () => {
    const stamp = stampOf(files())
    if (stamp === known) return
    known = stamp
    try {
      renew()
      log.info('the certificates were read again')
    } catch (error) {
      log.warn(`the certificates were not read again, the old ones stay: ${error instanceof Error ? error.message : String(error)}`)
    }
  })
}

/** Differs when one of the files is another, or was written to. */
const stampOf = (files: readonly string[]): string => JSON.stringify(files.map(file => {
  try {
    const { ino, mtimeMs, size } = statSync(file)
    return [file, ino, mtimeMs, size]
  } catch {
    return [file]
  }
}))
