import { ownLogs } from '#relay/audit/place.js'
import { thisMachine } from '#relay/base/platform/machine.js'
import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { readPublicKey } from '#relay/audit/checkpoint.js'
import { someLogs } from '#relay/audit/read/logs.js'
import { type Verification, verify } from '#relay/audit/read/verify.js'
import { badUsage, cannotWrite, CustomsError, pathText } from '#relay/base/errors.js'
import { count } from '#desk/terminal/style.js'
import { everything } from '#desk/report/filter.js'
import { reportPage } from '#desk/report/html.js'
import { type LogReading, readAll } from '#desk/report/reading.js'
import { Window } from '#desk/report/totals/window.js'
import { print } from '#desk/terminal/output.js'
import type { ReportFlags, VerifyFlags } from '#cli/flags/audit.js'

/** Without paths, the logs of this user's relays. */
export const placesOf = (paths: readonly string[]): readonly string[] =>
  (paths.length > 0 ? paths : ownLogs(thisMachine()))

/**
 * `audit verify FILE|FOLDER…`: prints one line for each log, and one for each `--head` that no log contains.
 * @returns 0: nothing was changed; 1: something was
 * @throws CustomsError BAD_USAGE, BAD_CONFIG when a key cannot be used, or CANNOT_AUDIT when a file cannot be
 * read
 */
export const auditVerify = async (
  paths: readonly string[], { head: heads, key }: VerifyFlags,
): Promise<number> => {
  if (paths.length === 0) {
    badUsage('usage: mcp-customs audit verify [options] (FILE | FOLDER)... (see mcp-customs audit --help)')
  }
  const keys = key.map(readPublicKey)
  const logs = await someLogs(paths)
  const missing = new Set(heads)
  let code = 0
  const fail = (line: string): void => {
    code = 1
    say(line)
  }
  for (const files of logs) {
    const verification = verify(files, { keys, heads })
    verification.heads.forEach(head => missing.delete(head))
    const tell = verification.ok ? say : fail
    tell(verificationLine(files, verification))
  }
  missing.forEach(head => fail(`head ${head}: no record has this hash any more`))
  return code
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

/**
 * `FILE: ok, …`, or `FILE:LINE: …` for the first line that is wrong.
 * @param files of one log, in the order of its chain
 */
export const verificationLine = (
  files: readonly string[],
  { records, first, problems, earlier, recovered, lost, open, signed }: Verification,
): string => {
  const [file = '', ...others] = files
  const last = others.at(-1)
  const remarks = [
    earlier > 0 && `${count(earlier, 'record')} before them ${earlier === 1 ? 'is' : 'are'} not here`,
    recovered > 0 && `recovered: ${count(recovered, 'line')} that a crash cut short`,
    lost > 0 && `lost: ${count(lost, 'record')} that could not be written`,
    open.sessions > 0 && `open: ${count(open.sessions, 'session')} without session/end`,
    open.runs > 0 && `open: ${count(open.runs, 'start')} without the checkpoint that ends it`,
    open.unsigned > 0 && `not signed: the last ${count(open.unsigned, 'record')}`,
    open.file && 'open: the file that follows is not here',
  ].filter(remark => remark !== false)
  const more = remarks.map(remark => `; ${remark}`).join('')
  if (!first) {
    const checked = signed === undefined ? '' : `, ${count(signed, 'signed checkpoint')}`
    return `${pathText(file)}${last === undefined ? '' : ` to ${pathText(basename(last))}`}: ok, ` +
      `${count(records, 'record')}${checked}${more}`
  }
  const after = problems === 1 ? '' : `; ${count(problems - 1, 'more line')} wrong after it`
  return `${pathText(first.file)}:${first.line === 0 ? '' : `${first.line}:`} ${first.reason}${after}${more}`
}

/**
 * `audit report [FILE|FOLDER…]`: writes a page that summarises the logs.
 * @returns 0, whatever is in them: the page says so
 * @throws CustomsError CANNOT_AUDIT when a file cannot be read, or the page not be written
 */
export const auditReport = async (
  paths: readonly string[], { wanted, key, output }: ReportFlags,
): Promise<number> => {
  const keys = key.map(readPublicKey)
  const now = Date.now()
  // The records of all time.
  const window = { windowMs: Infinity, now }
  const logs = (await someLogs(paths)).map(files => ({ files }))
  const parts =
    await readAll(logs, { ...window, verify: { keys }, wanted: { ...everything, ...wanted } })
  const totals = new Window(window.windowMs)
  for (const part of parts) totals.merge(part.totals)
  const sum = (of: (part: LogReading) => number) => parts.reduce((all, part) => all + of(part), 0)
  const unreadable = sum(part => part.unreadable)
  if (unreadable > 0 && sum(part => part.records) === 0) {
    throw new CustomsError(
      'CANNOT_AUDIT', `${paths.map(pathText).join(', ')}: no line is a record of an audit log ` +
        '(captures are for mcp-customs replay and learn)',
    )
  }
  const rows = parts.flatMap(({ verification }, index) => {
    const { files = [] } = logs[index] ?? {}
    return verification === undefined
      ? []
      : [{ ok: verification.ok, text: verificationLine(files, verification) }]
  })
  const page = await reportPage({ ...totals.summary(now, paths), unreadable, logs: rows })
  if (output === '-') {
    await print(page)
    return 0
  }
  try {
    // The page quotes servers' messages: only the operator may read it.
    await writeFile(output, page, { mode: 0o600 })
  } catch (cause) {
    throw cannotWrite('CANNOT_AUDIT', output, cause)
  }
  process.stderr.write(`${pathText(output)}: written\n`)
  return 0
}
