import { badUsage } from '#relay/base/errors.js'
import { valuesOf, type Given, type Rest, type Values } from '../flag.js'
import { timeoutFlags, timeoutMsOf } from './inspect.js'

export const uninstallFlags = {
  client: {
    type: 'string', value: 'NAME|FILE',
    describe: 'whose servers: a client\'s name, or the path of its configuration file',
  },
  server: { type: 'string', value: 'NAME', multiple: true, describe: 'only this server' },
  all: { type: 'boolean', describe: 'every server, without asking which' },
  project: { type: 'string', value: 'FOLDER', describe: 'only the servers of the project in this folder' },
  yes: { type: 'boolean', describe: 'write without asking' },
} as const

export const installFlags = {
  ...uninstallFlags,
  policy: { type: 'string', value: 'NAME|FILE', describe: 'observe, standard, strict, compat (default), or a policy file' },
  lock: { type: 'boolean', describe: 'ask each server what it offers, accept that, and hold it to it' },
  'lock-file': {
    type: 'string', value: 'FILE',
    describe: 'the lock file (with --lock; default: beside the client\'s file, or in the project)',
  },
  merge: { type: 'boolean', describe: 'one entry with all servers of the file, in place of theirs (docs/merge.md)' },
  pin: { type: 'boolean', describe: 'write the version that runs now behind each package without one' },
  offline: { type: 'boolean', describe: 'ask no package registry for versions' },
  verbose: { type: 'boolean', describe: 'with --lock, show everything that the servers offer' },
  ...timeoutFlags,
  check: { type: 'boolean', describe: 'change nothing: tell which servers are wrapped, and what is wrong' },
} as const

const { client, project, yes } = uninstallFlags

export const relaxFlags = {
  client, project, yes,
  config: { type: 'string', value: 'FILE', describe: 'a configuration file, in the place of a client\'s' },
  undo: { type: 'boolean', describe: 'take it back' },
} as const

export type RelaxFlags = Values<typeof relaxFlags>

export type UninstallFlags = Values<typeof uninstallFlags>

export interface InstallFlags extends Omit<Values<typeof installFlags>, 'timeout' | 'merge'> {
  readonly merge?: boolean
  readonly timeoutMs: number
}

/** @throws CustomsError BAD_USAGE */
export const readUninstallFlags = (given: Given, { command }: Rest): UninstallFlags => {
  const flags = valuesOf(uninstallFlags, given)
  if (command !== undefined) {
    badUsage('install and uninstall take no command: they read a client\'s configuration (--client)')
  }
  if (flags.all && flags.server.length > 0) badUsage('give either --server or --all, not both')
  return flags
}

/** @throws CustomsError BAD_USAGE */
export const readRelaxFlags = (given: Given): RelaxFlags => {
  const flags = valuesOf(relaxFlags, given)
  return flags.config !== undefined && (flags.client ?? flags.project) !== undefined
    ? badUsage('give either --config or --client, not both') : flags
}

/** @throws CustomsError BAD_USAGE */
export const readInstallFlags = (given: Given, rest: Rest): InstallFlags => {
  readUninstallFlags(given, rest)
  const { timeout, ...flags } = valuesOf(installFlags, given)
  const timeoutMs = timeoutMsOf({ timeout })
  const { check, yes, policy, lock, pin } = flags
  if (check && (yes || policy !== undefined || lock || pin)) {
    badUsage('--check changes nothing: leave --yes, --policy, --lock and --pin out')
  }
  const withMerge = ['lock', 'pin', 'check', 'server'].find(name => given.has(name))
  if (flags.merge && withMerge !== undefined) badUsage(`--merge takes all servers as they are: leave --${withMerge} out`)
  const withLock = ['lock-file', 'verbose', 'timeout'].find(name => given.has(name))
  if (!lock && withLock !== undefined) badUsage(`--${withLock} goes with --lock`)
  return { ...flags, timeoutMs }
}
