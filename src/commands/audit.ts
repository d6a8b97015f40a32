import { verify, type Verification } from '../audit/verify.js'
import { CustomsError } from '../errors.js'

/**
 * `audit verify FILE`: one line on stdout.
 * @returns 0: nothing was changed; 1: something was
 * @throws CustomsError BAD_USAGE, or CANNOT_AUDIT when the file cannot be read
 */
export const audit = async ([action = '', file = '']: readonly string[]): Promise<number> => {
  if (action !== 'verify') throw new CustomsError('BAD_USAGE', `audit ${JSON.stringify(action)}: no such action (there is: verify)`)
  const verification = await verify(file)
  process.stdout.write(`${report(file, verification)}\n`)
  return verification.ok ? 0 : 1
}

/** `FILE: ok, …`, or `FILE:LINE: …` for the first line that is wrong. */
export const report = (file: string, { records, first, problems, open }: Verification): string => {
  const sessions = open === 0 ? '' : `; open: ${count(open, 'session')} without session/end`
  if (!first) return `${file}: ok, ${count(records, 'record')}${sessions}`
  const others = problems === 1 ? '' : `; ${count(problems - 1, 'more line')} wrong after it`
  return `${file}:${first.line}: ${first.reason}${others}${sessions}`
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
