import { constants } from 'node:os'
import { openAudit } from '../audit/sink.js'
import type { Configuration } from '../config/configuration.js'
import { inspect, type ToCall } from '../inspect/inspect.js'
import { problemsOf, type Inspection } from '../inspect/inspection.js'
import type { Saved } from '../inspect/saved.js'
import { SavedServer } from '../inspect/saved-server.js'
import { spinner } from '../inspect/spinner.js'
import { StderrTail } from '../inspect/stderr-tail.js'
import { createSchemaChecker } from '../schema/index.js'
import type { SharedFlags } from './flags.js'
import { serverOpener } from './inspect-server.js'
import { interruptible } from './interruptible.js'
import { targetOf } from './server-target.js'
import type { ServerSetup } from './setup.js'
import { version } from './version.js'

export interface ToInspect {
  /** What the report calls the server; undefined: its command or URL. */
  readonly target?: string | undefined
  /** True when the operator gave the server its name. */
  readonly isNamed: boolean
  /** What stands for the server. */
  readonly saved?: Saved | undefined
  readonly call?: ToCall | undefined
  readonly timeoutMs: number
  /** Only in the old way, by `initialize`. */
  readonly legacy?: boolean | undefined
  /** Numbers have all their digits, to be compared. */
  readonly exact?: boolean | undefined
}

/**
 * Connects to one server, lists and judges what it offers, with a sign of life for who waits.
 * @returns the exit code when it was interrupted
 * @throws CustomsError
 */
export const inspectServer = async (
  { server, policy, trusted }: ServerSetup, { limits, audit }: Configuration, flags: Pick<SharedFlags, 'audit' | 'logLevel'>, { saved, target, ...own }: ToInspect,
): Promise<Inspection | number> => {
  // The file's log belongs to the relay that runs by it.
  const log = await openAudit({ ...audit, file: flags.audit ?? 'none', server: server.name })
  const checker = createSchemaChecker(limits)
  const tail = new StderrTail()
  const waiting = spinner(process.stderr, process.env)
  const interruption = interruptible()
  try {
    const inspection = await inspect({
      ...own,
      name: server.name,
      target: target ?? targetOf(server),
      version: version(),
      policy, trusted, saved, limits, checker,
      call: own.call,
      tools: server.tools,
      listMs: limits.listMs,
      probeMs: Math.min(own.timeoutMs, longestProbe),
      audit: entry => log.write(entry, audit.payloads),
      openServer: saved ? () => new SavedServer(saved, limits) : await serverOpener(server, limits, tail),
      progress: doing => waiting.say(`${server.name}: ${doing}`),
      opened: interruption.opened,
    })
    waiting.stop()
    if (problemsOf(inspection.lists).length > 0 || flags.logLevel === 'debug' || flags.logLevel === 'trace') printTail(tail)
    return inspection
  } catch (error) {
    waiting.stop()
    if (interruption.signal !== undefined) return 128 + constants.signals[interruption.signal]
    printTail(tail)
    throw error
  } finally {
    interruption.done()
    await checker.close()
    log.close()
  }
}

/** In milliseconds. A package that has to be fetched first is still slower; then both ways of asking wait for it. */
const longestProbe = 10_000

const printTail = ({ lines }: StderrTail): void => {
  if (lines.length > 0) process.stderr.write(['the server wrote to stderr:', ...lines.map(line => `  ${line}`), ''].join('\n'))
}
