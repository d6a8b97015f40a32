import { randomBytes } from 'node:crypto'
import { pageRoutes, type PageRoutes } from '../admin/page.js'
import { livePage } from '../report/html.js'
import { Live } from '../report/live.js'
import type { LogRecord } from '../report/record.js'
import { Window } from '../report/totals/window.js'

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
