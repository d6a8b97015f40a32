import { CustomsError } from '../../errors.js'
import { type Flags, type Given, type Rest, text, texts } from '../flag.js'
import { milliseconds, timeout } from '../inspect/flags.js'

export const uninstallFlags: Flags = {
  client: { type: 'string', value: 'NAME|FILE', describe: 'whose servers: a client\'s name, or the path of its configuration file' },
  server: { type: 'string', value: 'NAME', multiple: true, describe: 'only this server' },
  all: { type: 'boolean', describe: 'every server, without asking which' },
  project: { type: 'string', value: 'FOLDER', describe: 'only the servers of the project in this folder' },
  yes: { type: 'boolean', describe: 'write without asking' },
}

export const installFlags: Flags = {
  ...uninstallFlags,
  policy: { type: 'string', value: 'NAME|FILE', describe: 'observe, standard, strict, or a policy file' },
  lock: { type: 'boolean', describe: 'ask each server what it offers, accept that, and hold it to it' },
  'lock-file': { type: 'string', value: 'FILE', describe: 'the lock file (with --lock; default: beside the client\'s file, or in the project)' },
  timeout,
  check: { type: 'boolean', describe: 'change nothing: tell which servers are wrapped, and what is wrong' },
}

export interface UninstallFlags {
  readonly client: string | undefined
  readonly servers: readonly string[]
  readonly all: boolean
  readonly project: string | undefined
  readonly yes: boolean
}

export interface InstallFlags extends UninstallFlags {
  readonly policy: string | undefined
  readonly lock: boolean
  readonly lockFile: string | undefined
  readonly timeoutMs: number
  readonly check: boolean
}

/** @throws CustomsError BAD_USAGE */
export const readUninstallFlags = (given: Given, { command }: Rest): UninstallFlags => {
  const servers = texts(given, 'server')
  const all = given.get('all') === true
  if (command !== undefined) fail('install and uninstall take no command: they read a client\'s configuration (--client)')
  if (all && servers.length > 0) fail('give either --server or --all, not both')
  return { client: text(given, 'client'), servers, all, project: text(given, 'project'), yes: given.get('yes') === true }
}

/** @throws CustomsError BAD_USAGE */
export const readInstallFlags = (given: Given, rest: Rest): InstallFlags => {
  const flags = {
    ...readUninstallFlags(given, rest),
    policy: text(given, 'policy'),
    lock: given.get('lock') === true,
    lockFile: text(given, 'lock-file'),
    timeoutMs: milliseconds(text(given, 'timeout') ?? '30'),
    check: given.get('check') === true,
  }
  if (flags.check && (flags.yes || flags.policy !== undefined || flags.lock)) fail('--check changes nothing: leave --yes, --policy and --lock out')
  if (!flags.lock && (flags.lockFile !== undefined || given.has('timeout'))) fail(`--${flags.lockFile === undefined ? 'timeout' : 'lock-file'} goes with --lock`)
  return flags
}

const fail = (reason: string): never => {
  throw new CustomsError('BAD_USAGE', reason)
}
