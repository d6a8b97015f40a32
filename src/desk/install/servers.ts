import { homedir } from 'node:os'
import { basename, dirname, extname, isAbsolute, join, relative, resolve } from 'node:path'
import type { ServerEntry } from './clients/entry.js'
import { innermost, optionOf, optionsOf } from '#relay/base/own-command.js'
import { readEntries } from './clients/steps.js'
import { readRecord, recordFile } from './clients/record.js'
import { startOf } from './clients/start.js'
import { isWrapped } from './clients/unwrap.js'
import { suggestion } from '#relay/config/check.js'
import { badUsage, CustomsError } from '#relay/base/errors.js'
import { plain } from '#relay/base/plain.js'
import { withSlashes } from '#relay/base/platform/machine.js'
import type { Context } from '#desk/terminal/context.js'
import { recognizerOf } from './recognizer.js'
import { noSettings, type RelaySettings } from '#relay/host/settings.js'
import type { ToLock } from '#desk/lock/command.js'
import type { LockFlags } from '#cli/flags/lock.js'
import { setUp, type Setup } from '#relay/host/server/setup.js'
import { chooseFiles, type ClientFile, readableFiles } from './sources.js'

/**
 * Sets up the server of a client's entry as `wrap` would.
 * @param folder where the client starts it, if that is known
 * @throws CustomsError for an entry that cannot be read as the client would, or started as `wrap` would
 */
export const setUpEntry = async (entry: ServerEntry, folder: string | undefined): Promise<Setup> => {
  // Desktop clients start servers outside any project. In the current directory npx might find another
  // package of the same name.
  const { options, target, isRemote, env, cwd = folder ?? homedir() } = startOf(entry, process.env)
  const flags: RelaySettings = {
    ...noSettings,
    server: optionOf(options, 'server'), config: optionOf(options, 'config'), ca: optionOf(options, 'ca'),
    header: optionsOf(options, 'header'), env: optionsOf(options, 'env'),
  }
  const setup = await setUp(
    flags, isRemote ? { url: target[0], command: undefined } : { url: undefined, command: target }, 'inspect',
    false, { ...process.env, ...Object.fromEntries(env) },
  )
  return {
    ...setup,
    servers: setup.servers.map(one => ('url' in one.server
      ? one
      : { ...one, server: { ...one.server, env: new Map([...env, ...one.server.env]), cwd } })),
  }
}

export const folderOf = ({ scope }: ServerEntry, { folder }: ClientFile): string | undefined =>
  folder ?? (scope !== undefined && isAbsolute(scope) ? scope : undefined)

/**
 * The lock file of a server: the one its entry names, else one in the project's folder, where the team can
 * review it, else one beside the client's file.
 * @param given the one that the person named
 */
export const lockFileOf = (entry: ServerEntry, file: ClientFile, given: string | undefined): string => {
  const folder = folderOf(entry, file)
  const own = lockWordOf(entry)
  if (given !== undefined) return resolve(given)
  if (own !== undefined) return resolve(folder ?? '.', own)
  return folder === undefined
    ? join(dirname(file.file), `${basename(file.file, extname(file.file))}.customs.lock.json`)
    : join(folder, 'customs.lock.json')
}

/** The lock that the entry's command line names. */
export const lockWordOf = ({ server }: ServerEntry): string | undefined =>
  server.kind === 'command' && isWrapped(server) ? optionOf(innermost(server.own).options, 'lock') : undefined

/**
 * How the entry names a lock file: relative to the project's folder (where clients start servers) in a shared
 * file, else by its path.
 */
export const lockWord = (lock: string, { shared, folder }: ClientFile): string => {
  const within = shared && folder !== undefined ? relative(folder, lock) : lock
  // Colleagues may use another system.
  return within.startsWith('..') ? lock : withSlashes(within)
}

/**
 * The servers of a client's configuration, wrapped or not; without a client, those of all clients of this
 * machine that have a lock. Disabled and unreadable entries are skipped with a remark.
 * @param server the only one that is wanted
 * @throws CustomsError
 */
export const clientServers = async (
  server: string | undefined, { client, project, file: given }: LockFlags,
  context: Context,
): Promise<readonly ToLock[]> => {
  const { machine, tell } = context
  const files = client === undefined
    ? await readableFiles(machine)
    : await chooseFiles({ client, project }, machine, undefined)
  const recognizer = recognizerOf(await readRecord(recordFile(machine)), context)
  const entries = (files ?? []).flatMap(file => readEntries(file, recognizer).map(entry => ({ file, entry })))
    .filter(({ entry }) => client !== undefined || lockWordOf(entry) !== undefined)
  const wanted = entries.filter(({ entry: { name } }) => server === undefined || name === server)
  if (wanted.length === 0) {
    if (client === undefined && entries.length === 0) {
      return badUsage('which server? give a command, a URL, --client NAME, or --config FILE')
    }
    if (server === undefined) return badUsage(`${client}: has no servers`)
    return noSuchServer(server, entries.map(({ entry: { name } }) => name))
  }
  const toLock: ToLock[] = []
  for (const { file, entry } of wanted) {
    const leftOut = (reason: string) =>
      tell(`${entryName(entry.name, entry.scope)} is left out: ${plain(reason, 300)}`)
    if (entry.disabled && server === undefined) {
      leftOut('is disabled')
      continue
    }
    try {
      const { configuration, servers } = await setUpEntry(entry, folderOf(entry, file))
      toLock.push(...servers.map(setup => ({ file: lockFileOf(entry, file, given), setup, configuration })))
    } catch (error) {
      if (!(error instanceof CustomsError) || server !== undefined) throw error
      leftOut(error.message)
    }
  }
  return toLock
}

/** @param names of the servers that are there */
export const noSuchServer = (name: string, names: readonly string[]): never => {
  const there = names.map(one => plain(one)).join(', ') || 'none'
  return badUsage(
    `--server ${JSON.stringify(name)}: no such server${suggestion(name, names)} (there is: ${there})`,
  )
}

/** @param scope the project that it belongs to */
export const entryName = (name: string, scope: string | undefined): string =>
  plain(name) + (scope === undefined ? '' : ` (${plain(scope, 200)})`)
