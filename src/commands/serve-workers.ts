import { openLog } from '../audit/log.js'
import type { Configuration } from '../config/configuration.js'
import type { LogRecord } from '../report/record.js'
import type { AddedUp } from '../telemetry/added-up.js'
import { Workers } from '../workers/primary.js'
import { tellOfCapture } from './capture.js'
import { doubtsAbout } from './doubts.js'
import type { SharedFlags } from './flags.js'
import { closingMs } from './gateway.js'
import { Lifetime } from './lifetime.js'
import type { LivePage } from './live-page.js'
import { needRestart, onChange, restartFor } from './reload.js'
import type { Setup } from './setup.js'
import { checkShareable } from './share.js'
import { endAt } from './signals.js'

/** What the workers may take for their end beyond what they allow themselves, in milliseconds. */
const patienceMs = 60_000

/** `serve` by several processes: this one serves nothing itself, and speaks for them all. */
export const serveByWorkers = async (flags: SharedFlags, read: () => Promise<Setup>, setup: Setup): Promise<number> => {
  let { configuration } = setup
  const { admin, listen, workers: count, sessions } = configuration
  checkShareable(configuration)
  const doubts = doubtsAbout(setup)
  const log = openLog(flags.logLevel)
  for (const doubt of doubts) log.warn(doubt)
  const page = admin && (await import('./gateway-page.js').then(({ gatewayPage }) => gatewayPage()))
  const counts = admin && (await import('../telemetry/added-up.js').then(({ addedUp }) => addedUp()))
  const lifetime = new Lifetime()
  const workers = new Workers({
    count, listen,
    warn: message => log.warn(message),
    failed: error => lifetime.fail(error),
    records: records => takeAll(page, records),
    gone: number => counts?.retire(number),
  })
  const adminListener = counts && page && (await adminOf(configuration, workers, counts, page, () => configuration.allowHosts))

  lifetime.add(() => log.close())
  lifetime.add(() => adminListener?.close())
  lifetime.add(() => page?.close())
  lifetime.add(() => workers.kill())
  lifetime.add(urgency => workers.stop(urgency), sessions.graceMs + closingMs + patienceMs)
  const { config } = flags
  endAt({ SIGTERM: 1, SIGINT: 1, ...(config === undefined && { SIGHUP: 1 }) }, lifetime)
  const reload = async () => {
    const changed = await read()
    checkShareable(changed.configuration)
    const [doubts, late] = [doubtsAbout(changed), needRestart(configuration, changed.configuration)]
    await workers.reload()
    configuration = changed.configuration
    for (const doubt of doubts) log.warn(doubt)
    if (late.length > 0) log.warn(restartFor(late))
  }
  const start = async () => {
    const adminUrl = await adminListener?.listen()
    const url = await workers.start()
    if (config !== undefined) lifetime.add(onChange(config, reload, log))
    tellOfCapture(flags, configuration)
    process.stderr.write(`mcp-customs listening on ${url}\n`)
    if (page) process.stderr.write(`mcp-customs page on ${adminUrl}/${page.query}\n`)
  }
  start().catch((error: unknown) => lifetime.fail(error))
  await lifetime.ended
  return 0
}

// What a worker sends is what its own `recordsFor` has made.
const takeAll = (page: LivePage | undefined, records: readonly object[]): void => {
  for (const record of records) page?.take(record as LogRecord)
}

const adminOf = async ({ admin }: Configuration, workers: Workers, counts: AddedUp & { readonly contentType: string }, page: LivePage, allowHosts: () => readonly string[]) => {
  if (!admin) return undefined
  const { adminServer } = await import('../admin/server.js')
  const text = async () => counts.text(await workers.ask('counted'))
  const state = { ready: () => readyAtAll(workers), exposition: { contentType: counts.contentType, text } }
  return adminServer({ ...admin, allowHosts, state, page: page.routes })
}

/** A server can be reached where each worker reaches it. @throws Error while there is no worker */
const readyAtAll = async (workers: Workers): Promise<ReadonlyMap<string, boolean>> => {
  const answers = await workers.ask('servers')
  if (answers.size === 0) throw new Error('no worker accepts connections')
  const servers = new Map<string, boolean>()
  for (const [name, isReady] of [...answers.values()].flat()) servers.set(name, isReady && servers.get(name) !== false)
  return servers
}
