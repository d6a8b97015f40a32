import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Log } from '#relay/audit/log.js'
import { messageOf } from '#relay/base/errors.js'
import { isSamePath } from '#relay/base/platform/machine.js'
import { type Metrics, noMetrics } from '#relay/telemetry/metrics.js'

/** Editors write a file in several steps: wait for the last of a burst. */
const quietMs = 200

/**
 * Reloads the configuration on SIGHUP and when its file changes. A configuration that cannot be read changes
 * nothing, and is logged.
 * @returns a function that stops it; its promise resolves when no configuration is being read
 */
export const onChange = (
  file: string, reload: () => Promise<void>, log: Log, metrics: Pick<Metrics, 'reloaded'> = noMetrics,
): (() => Promise<void>) => {
  let last: Promise<void> = Promise.resolve()
  let isStopped = false
  let hasFailed = false
  const run = (): void => {
    if (isStopped) return
    last = last.then(reload).then(
      () => {
        metrics.reloaded('ok')
        // Whoever was warned hears that it is over.
        log[hasFailed ? 'warn' : 'info']('the configuration was read again, and holds')
        hasFailed = false
      },
      (error: unknown) => {
        metrics.reloaded('failed')
        hasFailed = true
        log.warn(`the configuration was not read again, the old one stays: ${messageOf(error)}`)
      },
    )
  }
  let timer: NodeJS.Timeout | undefined
  const stopWatching = watchFile(resolve(file), () => {
    clearTimeout(timer)
    timer = setTimeout(run, quietMs)
  }, error => log.warn(`${file} is not watched, a change of it is read on SIGHUP only: ${messageOf(error)}`))
  // This listener is never removed: without one, SIGHUP would kill the process while it ends.
  process.on('SIGHUP', run)
  return () => {
    isStopped = true
    clearTimeout(timer)
    stopWatching()
    return last
  }
}

/**
 * Watches a file. Systems limit the number of watches, so failing is not fatal.
 * @param failed called when watching could not begin, or cannot go on
 */
const watchFile = (path: string, changed: () => void, failed: (error: unknown) => void): (() => void) => {
  let watcher: FSWatcher | undefined
  try {
    // The folder is watched because a file that is replaced (an editor's rename, a mounted ConfigMap's link)
    // is a new file.
    watcher = watch(dirname(path), (_event, name) => {
      if (name === null || isSamePath(name, basename(path)) || name === '..data') changed()
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
