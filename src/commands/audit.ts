import { stateFolder } from '../audit/place.js'
import { CustomsError } from '../errors.js'
import { checkAction, readReportFlags, readShowFlags, readVerifyFlags } from './audit-flags.js'
import type { Given } from './flag.js'

/** `audit ACTION [FILE|FOLDER…]` @throws CustomsError */
export const audit = async (given: Given, [action = '', ...paths]: readonly string[]): Promise<number> => {
  checkAction(action, given)
  if (action === 'verify') {
    if (paths.length === 0) throw new CustomsError('BAD_USAGE', 'usage: mcp-customs audit verify [options] (FILE | FOLDER)... (see mcp-customs audit --help)')
    return (await import('./audit-verify.js')).auditVerify(paths, readVerifyFlags(given))
  }
  const places = paths.length > 0 ? paths : [stateFolder(process.env)]
  const now = Date.now()
  return action === 'show'
    ? (await import('./audit-show.js')).auditShow(places, readShowFlags(given, now))
    : (await import('./audit-report.js')).auditReport(places, readReportFlags(given, now))
}
