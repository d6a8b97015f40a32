import { defaultLimits } from '../config/limits.js'
import { CustomsError } from '../errors.js'
import { compareSaved } from '../inspect/catalogue.js'
import { diffJson, diffReport } from '../inspect/diff-report.js'
import { styleFor, widthOf } from '../inspect/style.js'
import type { Rest } from './flag.js'
import type { InspectFlags } from './inspect-flags.js'
import { readSaved } from './inspect-file.js'
import { print } from './print.js'

/**
 * `inspect --diff`: what changed from one saved list to another, on stdout.
 * @returns 1 when anything did, else 0
 * @throws CustomsError
 */
export const diffCommand = async ({ words: [before, after], command }: Rest, { format }: InspectFlags): Promise<number> => {
  if (before === undefined || after === undefined || command !== undefined) throw new CustomsError('BAD_USAGE', '--diff takes two files')
  const named = async (file: string) => ({ file, saved: await readSaved(file, defaultLimits) })
  const comparison = compareSaved(await named(before), await named(after))
  await print(format === 'json' ? diffJson(comparison) : diffReport(comparison, styleFor(process.stdout, process.env), widthOf(process.stdout)))
  return comparison.changes.length > 0 ? 1 : 0
}
