import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { createListener, text } from '../../admin/listener.js'
import { pageRoutes, type PageRoutes } from '../../admin/page.js'
import { stateFolder } from '../../audit/place.js'
import { Follower } from '../../audit/read/follow.js'
import { CustomsError } from '../../errors.js'
import { livePage } from '../../report/html.js'
import { Live } from '../../report/live.js'
import { textOf } from '../../report/merge.js'
import { type LogRecord, recordOfLine } from '../../report/record.js'
import { Window } from '../../report/totals/window.js'
import { endAt, Lifetime } from '../relay/lifetime.js'
import type { UiFlags } from './flags.js'

/** From one look at the files to the next, in milliseconds: what is written is seen within a second. */
const pollMs = 300

/**
 * `ui [FOLDER]`: a live page over the audit logs in a folder, and in those below it. It reads, and does
 * nothing else.
 * @returns 0, when it was told to stop
 */
export const ui = async (folder: string | undefined, { port, windowMs }: UiFlags): Promise<number> => {
  // The folder where relays write comes to be with the first of them.
  const place = folder ?? stateFolder(process.env)
  if (folder !== undefined && (await stat(folder).catch(() => undefined)) === undefined) {
    throw new CustomsError('CANNOT_AUDIT', `${folder}: is not there`)
  }
  const page = openLivePage(windowMs)
  const listener = createListener({
    name: 'the page', host: '127.0.0.1', port, allowHosts: () => [],
    answer: (request, response) => page.routes(request, response) ?? Promise.resolve(text(404, 'not found')),
  })
  const lifetime = new Lifetime()
  lifetime.add(() => listener.close())
  lifetime.add(() => page.close())
  endAt({ SIGINT: 1, SIGTERM: 1, SIGHUP: 1 }, lifetime)
  try {
    const url = await listener.listen()
    process.stdout.write(`mcp-customs ui on ${url}/${page.query}\n`)
    const stop = new AbortController()
    lifetime.add(() => stop.abort())
    void follow(place, windowMs, page, stop.signal).catch((error: unknown) => lifetime.fail(error))
  } catch (error) {
    lifetime.fail(error)
  }
  await lifetime.ended
  return 0
}

const follow = async (
  place: string, windowMs: number, { take }: LivePage, stop: AbortSignal,
): Promise<void> => {
  const follower = new Follower([place])
  await follower.skip(modified => modified < Date.now() - windowMs)
  while (!stop.aborted) {
    for await (const { bytes } of follower.poll()) {
      const record = recordOfLine(textOf(bytes))
      if (record !== undefined) take(record)
    }
    await pause(pollMs, undefined, { signal: stop }).catch(() => undefined)
  }
}

/** A page over records as they come. */
export interface LivePage {
  readonly routes: PageRoutes
  /** What stands behind the address of the listener: whoever has it may look. */
  readonly query: string
  readonly take: (record: LogRecord) => void
  readonly close: () => void
}

/** What has left the window is let go of so often, in milliseconds. */
const forgetMs = 60_000

/** @param windowMs how far back it goes, in milliseconds */
export const openLivePage = (windowMs: number): LivePage => {
  const window = new Window(windowMs)
  const live = new Live({ summary: () => window.summary(Date.now()) })
  const token = randomBytes(24).toString('base64url')
  const html = livePage()
  // Asked for by nobody yet: who asks is told what went wrong.
  html.catch(() => undefined)
  const timer = setInterval(() => {
    window.forget(Date.now())
    live.changed()
  }, forgetMs).unref()
  return {
    routes: pageRoutes({ token, html: () => html, feed: live }),
    query: `?token=${token}`,
    take: record => {
      window.take(record, Date.now())
      live.changed()
    },
    close: () => {
      clearInterval(timer)
      live.close()
    },
  }
}
