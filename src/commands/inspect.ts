import { constants } from 'node:os'
import { openAudit } from '../audit/sink.js'
import { withoutSecrets } from '../audit/secrets.js'
import type { ServerConfiguration } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import { inspect } from '../inspect/inspect.js'
import { isFine, problemsOf, type Inspection } from '../inspect/inspection.js'
import type { Link } from '../inspect/link.js'
import { SavedServer } from '../inspect/saved-server.js'
import { spinner } from '../inspect/spinner.js'
import { StderrTail } from '../inspect/stderr-tail.js'
import { createSchemaChecker } from '../schema/index.js'
import type { SharedFlags, Target } from './flags.js'
import { version } from './help.js'
import { readSaved } from './inspect-file.js'
import type { InspectFlags } from './inspect-flags.js'
import { serverOpener } from './inspect-server.js'
import { placeOf } from './inspect-place.js'
import { print } from './print.js'
import { setUp } from './setup.js'

/**
 * `inspect`: connects once, or reads what was saved; lists, checks, reports on stdout.
 * @returns 1 when a rule of action block is broken or not everything could be listed, else 0; 128 and the signal's number when it was
 * interrupted
 * @throws CustomsError
 */
export const inspectCommand = async (flags: SharedFlags, target: Target, own: InspectFlags): Promise<number> => {
  const { configuration, limits, audit, servers: [setup] } = await setUp(flags, target, 'inspect')
  if (setup === undefined) throw new CustomsError('BAD_USAGE', 'which server?')
  const { server, policy, trusted } = setup
  if (target.file !== undefined && own.call !== undefined) throw new CustomsError('BAD_USAGE', '--call needs a server: a file cannot be called')
  const saved = target.file === undefined ? undefined : await readSaved(target.file, limits)
  // The file's log belongs to the relay that runs by it.
  const log = openAudit({ file: flags.audit ?? 'none', stream: 2, payloads: audit.payloads, server: server.name })
  const checker = createSchemaChecker(limits)
  const tail = new StderrTail()
  const waiting = spinner(process.stderr, process.env)
  const interruption = interruptible()
  try {
    const inspection = await inspect({
      name: server.name,
      // A server of the arguments has a name where --server gives it one.
      isNamed: flags.server !== undefined || (target.command ?? target.url ?? target.file) === undefined,
      target: target.file ?? targetOf(server),
      version: version(),
      policy, trusted, saved, limits, checker,
      tools: server.tools,
      listMs: limits.listMs,
      timeoutMs: own.timeoutMs,
      probeMs: Math.min(own.timeoutMs, longestProbe),
      call: own.call,
      audit: entry => log.write(entry),
      openServer: saved ? () => new SavedServer(saved, limits) : await serverOpener(server, limits, tail),
      progress: doing => waiting.say(`${server.name}: ${doing}`),
      opened: interruption.opened,
    })
    waiting.stop()
    if (problemsOf(inspection.lists).length > 0 || flags.logLevel === 'debug' || flags.logLevel === 'trace') printTail(tail)
    await print(await render(inspection, own, await placeOf(server, target.file ?? configuration?.file)))
    return isFine(inspection) ? 0 : 1
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
  const heard = (signal: (typeof signals)[number]) => {
    interruption.signal ??= signal
    for (const { session } of links) {
      // The second request takes the second step: asked, then told.
      session.stop()
      session.stop()
    }
  }
  signals.forEach(signal => process.on(signal, heard))
  return interruption
}
