import { writeFile } from 'node:fs/promises'
import { readPublicKey } from '../audit/checkpoint.js'
import { findLogs, readLog } from '../audit/read/logs.js'
import { Verifier } from '../audit/read/verify.js'
import { codeOf, CustomsError, pathText } from '../errors.js'
import { everything, filterFor } from '../report/filter.js'
import { reportPage } from '../report/html.js'
import { recordOf } from '../report/record.js'
import type { LogRow } from '../report/summary.js'
import { Totals } from '../report/totals/totals.js'
import type { ReportFlags } from './audit-flags.js'
import { verificationLine } from './audit-verify.js'
import { print } from './print.js'

/**
 * `audit report [FILE|FOLDER…]`: what the logs hold, as a page.
 * @returns 0, whatever is in them: the page says so
 * @throws CustomsError CANNOT_AUDIT when a file cannot be read, or the page not be written
 */
export const auditReport = async (paths: readonly string[], { wanted, keyFiles, output }: ReportFlags): Promise<number> => {
  const keys = keyFiles.map(readPublicKey)
  const isWanted = filterFor({ ...everything, ...wanted })
  const logs = await findLogs(paths)
  if (logs.length === 0) throw new CustomsError('CANNOT_AUDIT', `${paths.join(', ')}: no audit log is there`)
  const totals = new Totals()
  const rows: LogRow[] = []
  for (const files of logs) {
    const verifier = new Verifier(files, { keys })
    for (const line of readLog(files)) {
      verifier.take(line)
      const record = line.record && recordOf(line.record.members)
      if (record === undefined) totals.takeUnreadable()
      else if (isWanted(record)) totals.take(record)
    }
    const verification = verifier.end()
    rows.push({ ok: verification.ok, text: verificationLine(files, verification) })
  }
  const page = await reportPage(totals.summary(Date.now(), rows))
  if (output === '-') {
    await print(page)
    return 0
  }
  try {
    // What servers said and did is the operator's business.
    await writeFile(output, page, { mode: 0o600 })
  } catch (cause) {
    throw new CustomsError('CANNOT_AUDIT', `${output}: cannot be written (${codeOf(cause)})`, { cause })
  }
  process.stderr.write(`${pathText(output)}: written\n`)
  return 0
}
