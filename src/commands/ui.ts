import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { createListener, text } from '../admin/listener.js'
import { stateFolder } from '../audit/place.js'
import { Follower } from '../audit/read/follow.js'
import { CustomsError } from '../errors.js'
import { textOf } from '../report/merge.js'
import { recordOfLine } from '../report/record.js'
import { Lifetime } from './lifetime.js'
import { openLivePage, type LivePage } from './live-page.js'
import { endAt } from './signals.js'
import type { UiFlags } from './ui-flags.js'

/** From one look at the files to the next, in milliseconds: what is written is seen within a second. */
const pollMs = 300

/**
 * `ui [FOLDER]`: a live page over the audit logs in a folder, and in those below it. It reads, and does nothing else.
 * @returns 0, when it was told to stop
 */
export const ui = async (folder: string | undefined, { port, windowMs }: UiFlags): Promise<number> => {
  // The folder where relays write comes to be with the first of them.
  const place = folder ?? stateFolder(process.env)
  if (folder !== undefined && (await stat(folder).catch(() => undefined)) === undefined) throw new CustomsError('CANNOT_AUDIT', `${folder}: is not there`)
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

const follow = async (place: string, windowMs: number, { take }: LivePage, stop: AbortSignal): Promise<void> => {
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
