import { CustomsError } from '../errors.js'
import { isFine, type Inspection } from '../inspect/inspection.js'
import type { SharedFlags, Target } from './flags.js'
import { readSaved } from './inspect-file.js'
import type { InspectFlags } from './inspect-flags.js'
import { placeOf } from './inspect-place.js'
import { inspectServer } from './inspection.js'
import { print } from './print.js'
import { setUp } from './setup.js'
import { version } from './version.js'

/**
 * `inspect`: connects once, or reads what was saved; lists, checks, reports on stdout.
 * @returns 1 when a rule of action block is broken or not everything could be listed, else 0; 128 and the signal's number when it was
 * interrupted
 * @throws CustomsError
 */
export const inspectCommand = async (flags: SharedFlags, target: Target, own: InspectFlags): Promise<number> => {
  const { configuration, servers: [one] } = await setUp(flags, target, 'inspect')
  if (one === undefined) throw new CustomsError('BAD_USAGE', 'which server?')
  const { file } = target
  if (file !== undefined && own.call !== undefined) throw new CustomsError('BAD_USAGE', '--call needs a server: a file cannot be called')
  const inspection = await inspectServer(one, configuration, flags, {
    target: file,
    // A server of the arguments has a name where --server gives it one.
    isNamed: flags.server !== undefined || (target.command ?? target.url ?? file) === undefined,
    saved: file === undefined ? undefined : await readSaved(file, configuration.limits),
    call: own.call,
    timeoutMs: own.timeoutMs,
    exact: own.format === 'json',
  })
  if (typeof inspection === 'number') return inspection
  await print(await render(inspection, own, await placeOf(one.server, file ?? configuration.file)))
  return isFine(inspection) ? 0 : 1
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
