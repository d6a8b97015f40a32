import { CustomsError } from '../errors.js'
import { about, text, texts, type Flags, type Given } from './flag.js'
import { sharedFlags } from './flags.js'
import { milliseconds, timeout } from './inspect-flags.js'

export const lockFlags: Flags = {
  ...sharedFlags,
  ...about('Lock', {
    lock: { type: 'string', value: 'FILE', describe: 'the lock file (default: customs.lock.json)' },
    yes: { type: 'boolean', describe: 'accept everything that changed, without asking' },
    accept: { type: 'string', value: 'TOOL', multiple: true, describe: 'accept only what changed of this tool, without asking' },
    check: { type: 'boolean', describe: 'write nothing; exit code 1 when anything differs from the lock' },
    json: { type: 'boolean', describe: 'say what differs as JSON (with --check)' },
  }),
  ...about('Requests', { timeout }),
}

export interface LockFlags {
  readonly file: string
  readonly accept: ReadonlySet<string>
  readonly yes: boolean
  readonly check: boolean
  readonly json: boolean
  readonly timeoutMs: number
}

/** @throws CustomsError BAD_USAGE */
export const readLockFlags = (given: Given): LockFlags => {
  const accept = new Set(texts(given, 'accept'))
  const yes = given.get('yes') === true
  const check = given.get('check') === true
  const json = given.get('json') === true
  const fail = (reason: string): never => {
    throw new CustomsError('BAD_USAGE', reason)
  }
  if (check && (yes || accept.size > 0)) fail('--check writes nothing: give either it, or --yes or --accept')
  if (yes && accept.size > 0) fail('give either --yes or --accept, not both')
  if (json && !check) fail('--json needs --check')
  return { file: text(given, 'lock') ?? 'customs.lock.json', accept, yes, check, json, timeoutMs: milliseconds(text(given, 'timeout') ?? '30') }
}
