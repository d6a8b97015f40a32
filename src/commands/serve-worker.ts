import cluster from 'node:cluster'
import { createHash } from 'node:crypto'
import { rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { openLog } from '../audit/log.js'
import { CustomsError } from '../errors.js'
import { noMetrics } from '../telemetry/metrics.js'
import { Handover, type Claim, type Siblings } from '../transport/front/handover.js'
import { inBatches } from '../workers/batches.js'
import type { PrimaryCalls, Role, SessionName, WorkerCalls } from '../workers/calls.js'
import { Channel, type Message } from '../workers/channel.js'
import { Ownership } from '../workers/ownership.js'
import type { SharedFlags } from './flags.js'
import { openGateway, type Gateway } from './gateway.js'
import { Lifetime } from './lifetime.js'
import { recordsFor } from './records-for.js'
import type { Setup } from './setup.js'
import { shareOf } from './share.js'
import { endAt } from './signals.js'

/**
 * One of the workers of `serve`: it is told by the primary process to read the configuration again and to end, and does neither by itself. Signals to a
 * group reach it as well.
 */
export const serveAsWorker = async (flags: SharedFlags, readAll: () => Promise<Setup>, role: Role): Promise<number> => {
  const lifetime = new Lifetime()
  const told = { toEnd: false, isAlone: false }
  lifetime.add(() => told.isAlone && removeEmpty(role.folder))
  let gateway: Gateway | undefined
  const read = async (): Promise<Setup> => {
    const setup = await readAll()
    return { ...setup, configuration: shareOf(setup.configuration, role) }
  }
  const hurry = () => {
    told.toEnd = true
    lifetime.hurry()
  }
  const calls: WorkerCalls = {
    holds: session => (gateway?.front.holds(session.path, session.session) === true ? 'held' : ownership.isGranted(keyOf(session)) && 'granted'),
    servers: async () => [...((await gateway?.offers.ready()) ?? [])],
    counted: async () => {
      await gateway?.measure()
      return counted?.snapshot() ?? []
    },
    reload: async () => gateway?.reload(await read()),
    hurry,
  }
  const channel = new Channel<PrimaryCalls>(message => void process.send?.(message, undefined, undefined, () => undefined), calls)
  const ownership = new Ownership(role.number, key => channel.call('whose', sessionOf(key)))
  process.on('message', (message: Message) => channel.heard(message))
  endAt({ SIGTERM: 0, SIGINT: 0, SIGHUP: 0 }, lifetime)
  // Nobody is left to tell it anything. Node would exit at once, without a word to sessions and logs.
  process.prependOnceListener('disconnect', () => {
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    channel.close()
    told.isAlone = true
    hurry()
    hurry()
  })

  let counted: Awaited<ReturnType<typeof countedFor>>
  let isReady = false
  try {
    const setup = await read()
    const log = openLog(flags.logLevel)
    lifetime.add(() => log.close())
    counted = await countedFor(setup)
    const followers = setup.configuration.admin ? [recordsFor(inBatches(records => channel.call('records', records)))] : []
    const siblings = siblingsOf(role, ownership, () => gateway)
    gateway = await openGateway({ flags, setup, log, metrics: counted?.metrics ?? noMetrics, followers, handover: receive => new Handover(siblings, receive) }, lifetime)
    const url = await gateway.listen()
    isReady = true
    await channel.call('ready', url)
    await lifetime.ended
    return 0
  } catch (error) {
    // Who ends in the middle of its work is replaced.
    if (isReady && !told.toEnd) throw error
    const failure = { code: error instanceof CustomsError ? error.code : undefined, message: error instanceof Error ? error.message : String(error) }
    await channel.call('failed', failure).catch(() => undefined)
    return error instanceof CustomsError ? error.exitCode : 70
  }
}

const countedFor = async ({ configuration: { admin } }: Setup) => admin && (await import('../telemetry/prometheus.js')).prometheusMetrics()

/** Whoever ends last takes it away. */
const removeEmpty = (folder: string): void => {
  try {
    rmdirSync(folder)
  } catch {
    // Others still have their sockets in it.
  }
}

const keyOf = ({ path, session }: SessionName): string => `${path} ${session}`

const sessionOf = (key: string): SessionName => ({ path: key.slice(0, key.indexOf(' ')), session: key.slice(key.indexOf(' ') + 1) })

const siblingsOf = ({ number, count, folder }: Role, ownership: Ownership, gateway: () => Gateway | undefined): Siblings => {
  const socketAt = (owner: number) => join(folder, `${owner}.sock`)
  const socketTo = (owner: number) => (owner === number ? undefined : socketAt(owner))
  const key = ({ path, session = '' }: Claim) => keyOf({ path, session })
  return {
    socket: socketAt(number),
    socketOf: claim => {
      const { path, session } = claim
      if (session === undefined) return socketTo(homeOf(gateway()?.offers.nameAt(path) ?? '', count))
      if (gateway()?.front.holds(path, session) === true) return undefined
      const owner = ownership.ownerOf(key(claim))
      return typeof owner === 'number' ? socketTo(owner) : owner.then(socketTo)
    },
    forget: claim => ownership.forget(key(claim)),
  }
}

/** The process that all clients without a session share is one for all workers, too: it is at one of them, the same for as long as the server has its name. */
const homeOf = (server: string, count: number): number => (createHash('sha256').update(server).digest().readUInt32BE() % count) + 1
