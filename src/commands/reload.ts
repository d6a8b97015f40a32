import { watch, type FSWatcher } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Configuration } from '../config/configuration.js'
import type { Log } from '../audit/log.js'

/** Editors write a file in several steps: the last of a burst is the one to read. */
const quietMs = 200

/** The settings of which only a new process takes notice, as they are called in the file. */
export const needRestart = (before: Configuration, after: Configuration): readonly string[] => {
  const differ = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other)
  return Object.entries({
    listen: differ(before.listen, after.listen),
    workers: before.workers !== after.workers,
    admin: differ(before.admin, after.admin),
    tls: (before.tls === undefined) !== (after.tls === undefined),
    'tls.clientCa': (before.tls?.clientCa === undefined) !== (after.tls?.clientCa === undefined),
    'audit.file': before.audit.file !== after.audit.file,
    'audit.targets': differ(before.audit.targets, after.audit.targets),
    'audit.onFailure': before.audit.onFailure !== after.audit.onFailure,
    telemetry: differ(before.telemetry, after.telemetry) || differ([...before.telemetry.headers], [...after.telemetry.headers]),
  }).flatMap(([key, differs]) => (differs ? [key] : []))
}

/** @param late settings by their names in the file */
export const restartFor = (late: readonly string[]): string => `${late.join(', ')}: changed, which takes a restart`

/**
 * Reads the configuration again on SIGHUP and when its file changes. One that cannot be read changes nothing, and says so.
 * @returns what stops it; it resolves when nothing is being read any more
 */
export const onChange = (file: string, reload: () => Promise<void>, log: Log): (() => Promise<void>) => {
  let last: Promise<void> = Promise.resolve()
  let isStopped = false
  const run = (): void => {
    if (isStopped) return
    last = last.then(reload).then(
      () => log.info('the configuration was read again'),
      (error: unknown) => log.warn(`the configuration was not read again, the old one stays: ${reasonOf(error)}`),
    )
  }
  let timer: NodeJS.Timeout | undefined
  const stopWatching = watchFile(resolve(file), () => {
    clearTimeout(timer)
    timer = setTimeout(run, quietMs)
  }, error => log.warn(`${file} is not watched, a change of it is read on SIGHUP only: ${reasonOf(error)}`))
  // It stays: without a listener the signal would end us in the middle of our end.
  process.on('SIGHUP', run)
  return () => {
    isStopped = true
    clearTimeout(timer)
    stopWatching()
    return last
  }
}

/**
 * Watching is a convenience, of which a system has a limited supply.
 * @param failed it could not begin, or cannot go on
 */
const watchFile = (path: string, changed: () => void, failed: (error: unknown) => void): (() => void) => {
  let watcher: FSWatcher | undefined
  try {
    // The folder is watched: a file that is replaced (an editor's rename, a mounted ConfigMap's link) is another file.
    watcher = watch(dirname(path), (_event, name) => {
      if (name === null || name === basename(path) || name === '..data') changed()
    })
    watcher.on('error', error => {
      watcher?.close()
      failed(error)
    })
  } catch (error) {
    failed(error)
  }
  return () => watcher?.close()
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
