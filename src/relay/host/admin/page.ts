import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { textAnswer, type PageAnswer } from './listener.js'

interface PageOptions {
  /** Required in the query (`?token=…`). */
  readonly token: string
  /** The page itself. */
  readonly html: () => Promise<string>
  /** The source of the page's server-sent events. */
  readonly feed: Feed
}

/** The viewers of the page (see `report/live.ts`). */
interface Feed {
  readonly viewers: number
  add(viewer: PageViewer): void
  remove(viewer: PageViewer): void
  drained(viewer: PageViewer): void
}

export interface PageViewer {
  send(json: string): boolean
  cut(): void
}

/** Concurrent event streams. */
const maxViewers = 32
/** Interval of SSE comments, in milliseconds: they find dead connections. */
const keepAliveMs = 15_000

const headers = {
  'content-security-policy': 'frame-ancestors \'none\'',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export type PageRoutes =
  (request: IncomingMessage, response: ServerResponse) => Promise<PageAnswer | undefined> | undefined

/** A live page at `/`, and its events at `/events`. @returns undefined for other paths */
export const pageRoutes = ({ token, html, feed }: PageOptions): PageRoutes => {
  const wanted = digest(token)
  const routes: PageRoutes = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    if (pathname !== '/' && pathname !== '/events') return undefined
    if (!isOwn(request)) return Promise.resolve(textAnswer(403, 'this Origin is not allowed here'))
    const given = searchParams.get('token')
    if (given === null || !timingSafeEqual(digest(given), wanted)) {
      return Promise.resolve(textAnswer(401, 'the address that was printed has a token in it'))
    }
    if (pathname === '/events') return Promise.resolve(stream(request, response, feed))
    return html().then(body => ({ status: 200, type: 'text/html; charset=utf-8', body, headers }))
  }
  return routes
}

/** Requests of other pages are refused, even with the token. */
const isOwn = ({ headers: { origin, host } }: IncomingMessage): boolean =>
  origin === undefined || origin === `http://${host}` || origin === `https://${host}`

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const stream = (request: IncomingMessage, response: ServerResponse, feed: Feed): PageAnswer | undefined => {
  if (feed.viewers >= maxViewers) {
    return { ...textAnswer(503, 'too many look at this already'), headers: { 'retry-after': '10' } }
  }
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  if (request.method === 'HEAD') {
    response.end()
    return undefined
  }
  const viewer: PageViewer = {
    send: json => response.write(`data: ${json}\n\n`), cut: () => void response.destroy(),
  }
  const alive = setInterval(() => response.writableNeedDrain || response.write(':\n\n'), keepAliveMs)
  response.on('drain', () => feed.drained(viewer))
  response.on('close', () => {
    clearInterval(alive)
    feed.remove(viewer)
  })
  feed.add(viewer)
  return undefined
}
