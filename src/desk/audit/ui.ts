import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { createAdminListener, type Listener, textAnswer } from '#relay/host/admin/listener.js'
import { pageRoutes } from '#relay/host/admin/page.js'
import { logFolders } from '#relay/audit/place.js'
import { thisMachine } from '#relay/base/platform/machine.js'
import { LogFollower } from '#relay/audit/read/follow.js'
import { CustomsError } from '#relay/base/errors.js'
import { livePage } from '#desk/report/html.js'
import { Live } from '#desk/report/live.js'
import { readAll } from '#desk/report/reading.js'
import { recordOfLine } from '#relay/audit/read/record.js'
import { summaryParts, partsOfReading, type ReadingProgress } from '#desk/report/summary.js'
import { Window } from '#desk/report/totals/window.js'
import { endAt, Lifetime } from '#relay/host/lifetime.js'
import type { DecisionPage } from '#relay/host/serve.js'
import type { UiFlags } from '#cli/flags/audit.js'

/** Interval between reads of the files, in milliseconds. */
const pollMs = 300

/**
 * `ui [FOLDER]`: serves a live, read-only page over the audit logs in a folder and its subfolders.
 * @returns 0, when it was told to stop
 */
export const ui = async (folder: string | undefined, { port, windowMs }: UiFlags): Promise<number> => {
  // The default folder may not exist yet: the first relay creates it.
  const places = folder === undefined ? logFolders(thisMachine()) : [folder]
  if (folder !== undefined && (await stat(folder).catch(() => undefined)) === undefined) {
    throw new CustomsError('CANNOT_AUDIT', `${folder}: is not there`)
  }
  const page = openLivePage(windowMs, places)
  const listenerAt = (at: number) => createAdminListener({
    name: 'the page', host: '127.0.0.1', port: at, allowHosts: () => [],
    answer: (request, response) => page.routes(request, response) ?? Promise.resolve(textAnswer(404, 'not found')),
  })
  const lifetime = new Lifetime()
  lifetime.add(() => page.close())
  endAt({ SIGINT: 1, SIGTERM: 1, SIGHUP: 1, SIGBREAK: 1 }, lifetime)
  try {
    const [listener, url] = await listening(listenerAt, port)
    lifetime.add(() => listener.close())
    process.stdout.write(`mcp-customs ui on ${url}/${page.query}\n`)
    const stop = new AbortController()
    lifetime.add(() => stop.abort())
    void follow(places, windowMs, page, stop.signal).catch((error: unknown) => lifetime.fail(error))
  } catch (error) {
    lifetime.fail(error)
  }
  await lifetime.ended
  return 0
}

/** A browser keeps what it knows of a page, such as when it was looked at last, by its address and port. */
const usualPort = 7411

const listening = async (
  at: (port: number) => Listener, port: number | undefined,
): Promise<readonly [Listener, string]> => {
  const listener = at(port ?? usualPort)
  try {
    return [listener, await listener.listen()]
  } catch (error) {
    if (port === undefined) return listening(at, 0)
    throw error
  }
}

/** Reads of more bytes take long enough to show how far they are. */
const longRead = 1_000_000

const follow = async (
  places: readonly string[], windowMs: number, page: LivePage, stop: AbortSignal,
): Promise<void> => {
  const { take, changed } = page
  const follower = new LogFollower(places)
  await readFirst(follower, windowMs, page)
  for (;;) {
    const total = await follower.unread()
    let done = 0
    for await (const { lines, size } of follower.poll()) {
      for (const bytes of lines) {
        const record = recordOfLine(bytes.toString())
        if (record !== undefined) take(record)
      }
      done += size
      if (total > longRead) changed({ done, total })
    }
    if (done > 0) changed()
    await pause(pollMs, undefined, { signal: stop }).catch(() => undefined)
    if (stop.aborted) return
  }
}

/** Reads what the files hold already. */
const readFirst = async (
  follower: LogFollower, windowMs: number, { merge, changed }: LivePage,
): Promise<void> => {
  const now = Date.now()
  const old = new Set<string>()
  const ends = await follower.skip((modified, file) => {
    if (modified < now - windowMs) old.add(file)
    return true
  })
  const logs = [...ends].filter(([file]) => !old.has(file)).map(([file, end]) => ({ files: [file], end }))
  const total = logs.reduce((sum, { end }) => sum + end, 0)
  let done = 0
  const parts = await readAll(logs, { windowMs, now }, bytes => changed({ done: done += bytes, total }))
  for (const { totals } of parts) merge(totals)
  changed()
}

/** A page that shows records as they arrive. */
export interface LivePage extends DecisionPage {
  /** Takes the totals of many records. */
  readonly merge: (totals: Window['state']) => void
  /**
   * Sends what was taken to the viewers.
   * @param reading until a call without it, no total is sent, because it would be one of a part
   */
  readonly changed: (reading?: Omit<ReadingProgress, 'places'>) => void
}

/** Interval at which records older than the window are dropped, in milliseconds. */
const forgetMs = 60_000

/**
 * @param windowMs how far back it goes, in milliseconds
 * @param places files and folders that its records are read from; none for a relay's own decisions
 */
export const openLivePage = (windowMs: number, places: readonly string[] = []): LivePage => {
  const window = new Window(windowMs)
  let reading: Omit<ReadingProgress, 'places'> | undefined = places.length === 0 ? undefined : { done: 0, total: 0 }
  const live = new Live({
    parts: () => (reading === undefined
      ? summaryParts(window.summary(Date.now(), places))
      : partsOfReading({ ...reading, places })),
  })
  const token = randomBytes(24).toString('base64url')
  const html = livePage()
  // Avoids an unhandled rejection before the first request, which reports the error.
  html.catch(() => undefined)
  const timer = setInterval(() => {
    window.forget(Date.now())
    live.changed()
  }, forgetMs).unref()
  return {
    routes: pageRoutes({ token, html: () => html, feed: live }),
    query: `?token=${token}`,
    take: record => window.take(record, Date.now()),
    merge: totals => window.merge(totals),
    changed: progress => {
      reading = progress
      live.changed()
    },
    close: () => {
      clearInterval(timer)
      live.close()
    },
  }
}
