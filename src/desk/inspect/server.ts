import { constants } from 'node:os'
import { openAudit } from '#relay/audit/sink.js'
import type { Configuration, ServerConfiguration } from '#relay/config/configuration.js'
import { CustomsError } from '#relay/base/errors.js'
import type { OpenServer } from '#relay/session/open.js'
import { offerOf } from './catalogue.js'
import { inspect, type ToCall } from './inspect.js'
import { type Inspection, inspectionProblems } from './inspection.js'
import type { InspectLink, InspectedEnd } from './link.js'
import { plain } from '#relay/base/plain.js'
import { type Saved, SavedServer } from './saved.js'
import { spinner } from '#desk/terminal/style.js'
import type { Listed } from '#relay/lock/lock.js'
import { endingSignals } from '#relay/base/platform/programs.js'
import type { FrameLimits } from '#relay/protocol/frame.js'
import type { Profile } from '#relay/profiles/profile.js'
import { nearest, traitsOf } from '#relay/protocol/revisions/index.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { stdioServer } from '#relay/transport/stdio/server.js'
import { LastLines } from '#relay/transport/stdio/stderr.js'
import type { Authorizer } from '#relay/transport/upstream/authorized.js'
import type { RelaySettings } from '#relay/host/settings.js'
import { identityOf } from '#relay/lock/identity.js'
import { authorizerOf } from '#relay/host/server/login.js'
import type { ServerSetup } from '#relay/host/server/judgement.js'
import { commandLineOf, tlsOf } from '#relay/host/server/upstream.js'
import { targetOf } from '#relay/config/target.js'
import { version } from '#relay/base/version.js'

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
  { server, judgement: { trusted, ruling: { policy } } }: ServerSetup, { limits, audit }: Configuration,
  flags: Pick<RelaySettings, 'audit' | 'logLevel'> & Partial<Pick<RelaySettings, 'translate'>>, { saved, target, isQuiet, ...own }: ToInspect,
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
      // As a client of the other era sees the server, where that is asked for.
      legacy: own.legacy ?? flags.translate === 'auto',
      eras: flags.translate && { translate: flags.translate, limits },
      call: own.call,
      profiles: own.profiles ?? [],
      tools: server.tools,
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
    if (inspectionProblems(inspection.lists).length > 0 || flags.logLevel === 'debug' || flags.logLevel === 'trace') {
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
 * In milliseconds. A package that has to be fetched first takes longer; then the answer to either request is
 * waited for.
 */
const longestProbe = 10_000

/** @param name of the server, where several are asked */
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
): Promise<(...known: Parameters<OpenServer>) => InspectedEnd> => {
  if ('url' in server) {
    const { httpSession } = await import('#relay/transport/upstream/session/session.js')
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
  const links: InspectLink[] = []
  const interruption = {
    signal: undefined as (typeof endingSignals)[number] | undefined,
    opened: (link: InspectLink) => {
      links.push(link)
    },
    done: () => endingSignals.forEach(signal => process.off(signal, onSignal)),
  }
  // The first signal terminates the server, the next kills it.
  let urgency = 1
  const onSignal = (signal: (typeof endingSignals)[number]) => {
    interruption.signal ??= signal
    urgency += 1
    for (const { session } of links) session.stop(urgency)
  }
  endingSignals.forEach(signal => process.on(signal, onSignal))
  return interruption
}

export interface ListingSettings extends Pick<RelaySettings, 'audit' | 'logLevel'> {
  readonly timeoutMs: number
  readonly isQuiet?: boolean
}

/**
 * Asks a server for all that can be locked of it, in each era that it speaks.
 * @returns the exit code when it was interrupted
 * @throws CustomsError
 */
export type ListServer = (
  setup: ServerSetup, configuration: Configuration, listing: ListingSettings,
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
