import { basename } from 'node:path'
import { readPublicKey } from '../audit/keys.js'
import { findLogs } from '../audit/read/logs.js'
import { verify, type Verification } from '../audit/read/verify.js'
import { CustomsError } from '../errors.js'
import { quote } from '../protocol/quote.js'
import { texts, type Given } from './flag.js'

/**
 * `audit verify FILE|FOLDER…`: one line for each log on stdout, and one for each head that is in none of them.
 * @returns 0: nothing was changed; 1: something was
 * @throws CustomsError BAD_USAGE, BAD_CONFIG when a key cannot be used, or CANNOT_AUDIT when a file cannot be read
 */
export const audit = async (given: Given, [action = '', ...paths]: readonly string[]): Promise<number> => {
  if (action !== 'verify') throw new CustomsError('BAD_USAGE', `audit ${quote(action)}: no such action (there is: verify)`)
  const heads = texts(given, 'head').map(readHead)
  const keys = texts(given, 'key').map(readPublicKey)
  const logs = await findLogs(paths)
  if (logs.length === 0) throw new CustomsError('CANNOT_AUDIT', `${paths.join(', ')}: no audit log is there`)
  const missing = new Set(heads)
  let code = 0
  const fail = (line: string): void => {
    code = 1
    say(line)
  }
  for (const files of logs) {
    const verification = await verify(files, { keys, heads })
    verification.heads.forEach(head => missing.delete(head))
    const tell = verification.ok ? say : fail
    tell(report(files, verification))
  }
  missing.forEach(head => fail(`head ${head}: no record has this hash any more`))
  return code
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const readHead = (text: string): string => {
  const head = text.toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(head)) throw new CustomsError('BAD_USAGE', `--head ${quote(text)}: no hash of a record (64 hex digits)`)
  return head
}

/** `FILE: ok, …`, or `FILE:LINE: …` for the first line that is wrong. @param files of one log, in the order of its chain */
export const report = (files: readonly string[], { records, first, problems, earlier, recovered, open, signed }: Verification): string => {
  const [file = '', ...others] = files
  const last = others.at(-1)
  const remarks = [
    earlier > 0 && `${count(earlier, 'record')} before them ${earlier === 1 ? 'is' : 'are'} not here`,
    recovered > 0 && `recovered: ${count(recovered, 'line')} that a crash cut short`,
    open.sessions > 0 && `open: ${count(open.sessions, 'session')} without session/end`,
    open.runs > 0 && `open: ${count(open.runs, 'start')} without the checkpoint that ends it`,
    open.unsigned > 0 && `not signed: the last ${count(open.unsigned, 'record')}`,
    open.file && 'open: the file that follows is not here',
  ].filter(remark => remark !== false)
  const more = remarks.map(remark => `; ${remark}`).join('')
  if (!first) {
    const checked = signed === undefined ? '' : `, ${count(signed, 'signed checkpoint')}`
    return `${file}${last === undefined ? '' : ` to ${basename(last)}`}: ok, ${count(records, 'record')}${checked}${more}`
  }
  const after = problems === 1 ? '' : `; ${count(problems - 1, 'more line')} wrong after it`
  return `${first.file}:${first.line === 0 ? '' : `${first.line}:`} ${first.reason}${after}${more}`
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
