import { constants } from 'node:os'
import { openAudit } from '../audit/sink.js'
import { withoutSecrets } from '../audit/secrets.js'
import type { ServerConfiguration } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import { inspect } from '../inspect/inspect.js'
import type { Inspection } from '../inspect/inspection.js'
import type { Link } from '../inspect/link.js'
import { spinner } from '../inspect/spinner.js'
import { StderrTail } from '../inspect/stderr-tail.js'
import { createSchemaChecker } from '../schema/index.js'
import type { SharedFlags, Target } from './flags.js'
import { version } from './version.js'
import type { InspectFlags } from './inspect-flags.js'
import { serverOpener } from './inspect-server.js'
import { placeOf } from './inspect-place.js'
import { setUp } from './setup.js'

/**
 * `inspect`: connects once, lists, checks, reports on stdout.
 * @returns 1 when a rule of action block is broken, else 0; 128 and the signal's number when it was interrupted
 * @throws CustomsError
 */
export const inspectCommand = async (flags: SharedFlags, target: Target, own: InspectFlags): Promise<number> => {
  const { configuration: { file, limits, audit }, servers: [setup] } = await setUp(flags, target, 'inspect')
  if (setup === undefined) throw new CustomsError('BAD_USAGE', 'which server?')
  const { server, policy, trusted } = setup
  // The file's log belongs to the relay that runs by it.
  const log = await openAudit({ ...audit, file: flags.audit ?? 'none', server: server.name })
  const checker = createSchemaChecker(limits)
  const tail = new StderrTail()
  const waiting = spinner(process.stderr, process.env)
  const interruption = interruptible()
  try {
    const inspection = await inspect({
      name: server.name,
      target: targetOf(server),
      version: version(),
      policy, trusted, limits, checker,
      tools: server.tools,
      listMs: limits.listMs,
      timeoutMs: own.timeoutMs,
      probeMs: Math.min(own.timeoutMs, longestProbe),
      call: own.call,
      audit: entry => log.write(entry, audit.payloads),
      openServer: await serverOpener(server, limits, tail),
      progress: doing => waiting.say(`${server.name}: ${doing}`),
      opened: interruption.opened,
    })
    waiting.stop()
    if (flags.logLevel === 'debug' || flags.logLevel === 'trace') printTail(tail)
    await print(await render(inspection, own, await placeOf(server, file)))
    return inspection.findings.some(({ action }) => action === 'block') ? 1 : 0
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

const targetOf = (server: ServerConfiguration): string => {
  if ('command' in server) return withoutSecrets(server.command.join(' '))
  const { origin, pathname } = new URL(server.url)
  return withoutSecrets(origin + pathname)
}

const render = async (inspection: Inspection, { format }: InspectFlags, place: string): Promise<string> => {
  switch (format) {
    case 'json':
      return (await import('../inspect/json-report.js')).jsonReport(inspection)
    case 'sarif':
      return (await import('../inspect/sarif.js')).sarifReport(inspection, place, version())
    case 'text': {
      const [{ report }, { styleFor, widthOf }] = await Promise.all([import('../inspect/report.js'), import('../inspect/style.js')])
      return report(inspection, styleFor(process.stdout, process.env), widthOf(process.stdout))
    }
  }
}

/** All of it, also into a pipe: the command ends right after. */
const print = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })

const printTail = ({ lines }: StderrTail): void => {
  if (lines.length > 0) process.stderr.write(['the server wrote to stderr:', ...lines.map(line => `  ${line}`), ''].join('\n'))
}

/** The server leads a process group of its own: a Ctrl-C at the terminal reaches only us. */
const interruptible = () => {
  const links: Link[] = []
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const interruption = {
    signal: undefined as (typeof signals)[number] | undefined,
    opened: (link: Link) => {
      links.push(link)
    },
    done: () => signals.forEach(signal => process.off(signal, heard)),
  }
  // It is asked and told at once, then killed.
  let urgency = 1
  const heard = (signal: (typeof signals)[number]) => {
    interruption.signal ??= signal
    urgency += 1
    for (const { session } of links) session.stop(urgency)
  }
  signals.forEach(signal => process.on(signal, heard))
  return interruption
}
