import { constants } from 'node:os'
import { openAudit } from '#audit/sink.js'
import type { Configuration, ServerConfiguration } from '#config/configuration.js'
import { CustomsError } from '#errors.js'
import type { OpenServer } from '#gateway/open.js'
import { offerOf } from '#inspect/catalogue.js'
import { inspect, type ToCall } from '#inspect/inspect.js'
import { type Inspection, problemsOf } from '#inspect/inspection.js'
import type { Link, ServerEnd } from '#inspect/link.js'
import { plain } from '#inspect/plain.js'
import { type Saved, SavedServer } from '#inspect/saved.js'
import { spinner } from '#inspect/terminal.js'
import type { Listed } from '#lock/lock.js'
import type { FrameLimits } from '#protocol/frame.js'
import type { Profile } from '#profiles/profile.js'
import { nearest, traitsOf } from '#protocol/revisions/index.js'
import { createSchemaChecker } from '#schema/index.js'
import { stdioServer } from '#transport/stdio/server.js'
import { LastLines } from '#transport/stdio/stderr.js'
import type { Authorizer } from '#transport/upstream/authorized.js'
import type { SharedFlags } from '../flags.js'
import { identityOf } from '../lock/identity.js'
import { authorizerOf } from '../server/login.js'
import type { ServerSetup } from '../server/setup.js'
import { commandLineOf, targetOf, tlsOf } from '../server/upstream.js'
import { version } from '../version.js'

interface ToInspect {
  /** What the report calls the server; undefined: its command or URL. */
  readonly target?: string | undefined
  /** True when the operator gave the server its name. */
  readonly isNamed: boolean
  /** The saved responses that are read in place of a server. */
  readonly saved?: Saved | undefined
  readonly call?: ToCall | undefined
  readonly profiles?: readonly Profile[]
  readonly timeoutMs: number
  /** Only `initialize` is tried. */
  readonly legacy?: boolean | undefined
  /** Numbers have all their digits, to be compared. */
  readonly exact?: boolean | undefined
  /** Shows no progress, because the caller does. */
  readonly isQuiet?: boolean | undefined
}

/**
 * Connects to one server, lists and judges what it offers, and shows its progress on a terminal.
 * @returns the exit code when it was interrupted
 * @throws CustomsError
 */
export const inspectServer = async (
  { server, policy, trusted }: ServerSetup, { limits, audit }: Configuration,
  flags: Pick<SharedFlags, 'audit' | 'logLevel'>, { saved, target, isQuiet, ...own }: ToInspect,
): Promise<Inspection | number> => {
  // The file's log belongs to the relay that runs by it.
  const log = await openAudit({ ...audit, file: flags.audit ?? 'none', server: server.name })
  const checker = createSchemaChecker(limits)
  const tail = new LastLines()
  const waiting = isQuiet ? undefined : spinner(process.stderr, process.env)
  const interruption = interruptible()
  const warn = (message: string) => process.stderr.write(`mcp-customs: ${server.name}: ${message}\n`)
  try {
    const authorizer = 'url' in server && !saved ? await authorizerOf(server, warn) : undefined
    const inspection = await inspect({
      ...own,
      name: server.name,
      target: target ?? targetOf(server),
      version: version(),
      policy, trusted, saved, limits, checker,
      call: own.call,
      profiles: own.profiles ?? [],
      tools: server.tools,
      listMs: limits.listMs,
      probeMs: Math.min(own.timeoutMs, longestProbe),
      audit: entry => log.write(entry, audit.payloads),
      openServer: saved
        ? () => new SavedServer(saved, limits)
        : await serverOpener(server, limits, tail, authorizer),
      ...(authorizer && { waiting: (told: () => void) => authorizer.waiting(told) }),
      progress: doing => waiting?.say(`${server.name}: ${doing}`),
      opened: interruption.opened,
    })
    waiting?.stop()
    if (problemsOf(inspection.lists).length > 0 || flags.logLevel === 'debug' || flags.logLevel === 'trace') {
      printTail(tail, isQuiet ? server.name : undefined)
    }
    return inspection
  } catch (error) {
    waiting?.stop()
    if (interruption.signal !== undefined) return 128 + constants.signals[interruption.signal]
    printTail(tail, isQuiet ? server.name : undefined)
    throw error
  } finally {
    interruption.done()
    await checker.close()
    log.close()
  }
}

/**
 * In milliseconds. A package that has to be fetched first is still slower; then both ways of asking wait for
 * it.
 */
const longestProbe = 10_000

/** @param name where several servers are asked */
const printTail = (tail: LastLines, name: string | undefined): void => {
  const lines = tail.lines.map(line => plain(line, 200)).filter(line => line !== '')
  if (lines.length > 0) {
    const server = name === undefined ? 'the server' : `the server ${name}`
    process.stderr.write([`${server} wrote to stderr:`, ...lines.map(line => `  ${line}`), ''].join('\n'))
  }
}

/** The time in which an inspected server must end, in milliseconds; and again after SIGTERM. */
const stopMs = 500

/** Makes connections to the server, each a fresh one. */
const serverOpener = async (
  server: ServerConfiguration,
  limits: FrameLimits,
  tail: LastLines,
  authorizer: Authorizer | undefined,
): Promise<(...known: Parameters<OpenServer>) => ServerEnd> => {
  if ('url' in server) {
    const { httpSession } = await import('#transport/upstream/session/session.js')
    const tls = tlsOf(server)
    const { url, headers } = server
    const options =
      { url: new URL(url), headers, limits, stopMs, authorizer, patienceMs: 0, ...(tls && { tls }) }
    return inputSchemaOf => httpSession({ ...options, inputSchemaOf })
  }
  const options = { ...commandLineOf(server), limits, stopMs }
  return () => {
    tail.clear()
    return stdioServer({ ...options, stderr: stream => stream.on('data', tail.add) })
  }
}

/** Ends the server at a signal. It has a process group of its own: Ctrl-C at the terminal reaches only us. */
const interruptible = () => {
  const links: Link[] = []
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const interruption = {
    signal: undefined as (typeof signals)[number] | undefined,
    opened: (link: Link) => {
      links.push(link)
    },
    done: () => signals.forEach(signal => process.off(signal, onSignal)),
  }
  // The first signal terminates the server, the next kills it.
  let urgency = 1
  const onSignal = (signal: (typeof signals)[number]) => {
    interruption.signal ??= signal
    urgency += 1
    for (const { session } of links) session.stop(urgency)
  }
  signals.forEach(signal => process.on(signal, onSignal))
  return interruption
}

export interface Listing extends Pick<SharedFlags, 'audit' | 'logLevel'> {
  readonly timeoutMs: number
  readonly isQuiet?: boolean
}

/**
 * Asks a server for all that can be locked of it, in each era that it speaks.
 * @returns the exit code when it was interrupted
 * @throws CustomsError
 */
export type ListServer = (
  setup: ServerSetup, configuration: Configuration, listing: Listing,
) => Promise<Listed | number>

export const listServer: ListServer = async (setup, configuration, { timeoutMs, isQuiet, ...flags }) => {
  const inspect = (legacy: boolean) => inspectServer(
    setup, configuration, flags, { isNamed: true, timeoutMs, legacy, exact: true, isQuiet },
  )
  const first = await inspect(false)
  if (typeof first === 'number') return first
  const isModern = traitsOf(nearest(first.connected.revision)).modern
  const second = isModern ? await inspect(true).catch(ifUnreachable) : undefined
  if (typeof second === 'number') return second
  const legacy = isModern ? second : first
  return {
    // A package may be there only now that it was started.
    identity: await identityOf(setup.server),
    offers: { ...(legacy && { legacy: offerOf(legacy) }), ...(isModern && { modern: offerOf(first) }) },
  }
}

/** A server that does not answer `initialize` has no legacy offer. @throws any other error */
const ifUnreachable = (error: unknown): undefined => {
  if (!(error instanceof CustomsError) || error.code !== 'CANNOT_REACH') throw error
}
