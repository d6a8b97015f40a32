import { watch } from 'node:fs'
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
    admin: differ(before.admin, after.admin),
    tls: (before.tls === undefined) !== (after.tls === undefined),
    'tls.clientCa': (before.tls?.clientCa === undefined) !== (after.tls?.clientCa === undefined),
    'audit.file': before.audit.file !== after.audit.file,
  }).flatMap(([key, differs]) => (differs ? [key] : []))
}

/**
 * Reads the configuration again on SIGHUP and when its file changes. One that cannot be read changes nothing, and says so.
 * @returns what stops it
 */
export const onChange = (file: string | undefined, reload: () => Promise<void>, log: Log): (() => void) => {
  let last: Promise<void> = Promise.resolve()
  const run = (): void => {
    last = last.then(reload).then(
      () => log.info('the configuration was read again'),
      (error: unknown) => log.warn(`the configuration was not read again, the old one stays: ${error instanceof Error ? error.message : String(error)}`),
    )
  }
  process.on('SIGHUP', run)
  if (file === undefined) return () => process.off('SIGHUP', run)

  const path = resolve(file)
  let timer: NodeJS.Timeout | undefined
  // The folder is watched: a file that is replaced (an editor's rename, a mounted ConfigMap's link) is another file.
  const watcher = watch(dirname(path), (_event, name) => {
    if (name !== null && name !== basename(path) && name !== '..data') return
    clearTimeout(timer)
    timer = setTimeout(run, quietMs)
  })
  watcher.on('error', () => watcher.close())
  return () => {
    clearTimeout(timer)
    watcher.close()
    process.off('SIGHUP', run)
  }
}
