import { basename } from 'node:path'
import { readPublicKey } from '../audit/checkpoint.js'
import { findLogs } from '../audit/read/logs.js'
import { verify, type Verification } from '../audit/read/verify.js'
import { CustomsError, pathText } from '../errors.js'
import type { VerifyFlags } from './audit-flags.js'

/**
 * `audit verify FILE|FOLDER…`: one line for each log on stdout, and one for each head that is in none of them.
 * @returns 0: nothing was changed; 1: something was
 * @throws CustomsError BAD_USAGE, BAD_CONFIG when a key cannot be used, or CANNOT_AUDIT when a file cannot be read
 */
export const auditVerify = async (paths: readonly string[], { heads, keyFiles }: VerifyFlags): Promise<number> => {
  const keys = keyFiles.map(readPublicKey)
  const logs = await findLogs(paths)
  if (logs.length === 0) throw new CustomsError('CANNOT_AUDIT', `${paths.join(', ')}: no audit log is there`)
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

/** `FILE: ok, …`, or `FILE:LINE: …` for the first line that is wrong. @param files of one log, in the order of its chain */
export const verificationLine = (files: readonly string[], { records, first, problems, earlier, recovered, lost, open, signed }: Verification): string => {
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
    return `${pathText(file)}${last === undefined ? '' : ` to ${pathText(basename(last))}`}: ok, ${count(records, 'record')}${checked}${more}`
  }
  const after = problems === 1 ? '' : `; ${count(problems - 1, 'more line')} wrong after it`
  return `${pathText(first.file)}:${first.line === 0 ? '' : `${first.line}:`} ${first.reason}${after}${more}`
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
