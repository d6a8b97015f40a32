import { existsSync } from 'node:fs'
import type { ServerEntry } from './clients/entry.js'
import { entryProblems, type Surroundings } from './clients/examine.js'
import { fileProblem } from './clients/find.js'
import { optionOf } from '#relay/base/own-command.js'
import { readEntries } from './clients/steps.js'
import { readRecord, recordFile } from './clients/record.js'
import { isWrapped } from './clients/unwrap.js'
import { CustomsError, pathText, wordsText } from '#relay/base/errors.js'
import { plain } from '#relay/base/plain.js'
import { count, type Style } from '#desk/terminal/style.js'
import type { Context } from '#desk/terminal/context.js'
import { recognizerOf } from './recognizer.js'
import { acceptedOf, lockedIn } from '#relay/lock/accepted.js'
import type { InstallFlags } from '#cli/flags/install.js'
import { packagesOf, remarkOn } from './pins.js'
import { folderOf, lockFileOf, lockWordOf, entryName, setUpEntry } from './servers.js'
import { allFiles, type ClientFile, readFound } from './sources.js'

/**
 * `install --check`: which client has which servers, wrapped or not, with which policy, and what is wrong.
 * @returns 1 when something is wrong, else 0
 * @throws CustomsError BAD_USAGE
 */
export const check = async (
  flags: InstallFlags, context: Context,
): Promise<number> => {
  const { machine, installation: { temporary }, print, style } = context
  const starts = launcherCheck(context)
  const files = await allFiles(flags, machine)
  const recognizer = recognizerOf(await readRecord(recordFile(machine)), context)
  const surroundings: Surroundings = { machine, exists: existsSync, temporary }
  if (files.length === 0) await print('No configuration of a known client was found.\n')
  let wrong = 0
  for (const found of files) {
    const problem = await fileProblem(found, machine)
    const title = style.title(found.client?.title ?? pathText(found.file))
    await print(`${title}${found.client === undefined ? '' : `: ${pathText(found.file)}`}\n`)
    if (problem !== undefined) await print(`  ${style.warn(problem)}\n`)
    try {
      const file = await readFound(found)
      const entries = readEntries(file, recognizer)
        .filter(({ name }) => flags.server.length === 0 || flags.server.includes(name))
      if (entries.length === 0) await print('  has no servers\n')
      const packages = await packagesOf(entries, file, flags.offline, context)
      const width = Math.min(40, Math.max(...entries.map(({ name, scope }) => entryName(name, scope).length)))
      for (const entry of entries) {
        const lock = await lockOf(entry, file)
        const own = entryProblems(entry, surroundings)
        const problems =
          [...own, ...(own.length === 0 ? await starts(entry) : []), ...lock.problems]
        wrong += problems.length
        await print(describe(entry, width, lock.state, problems, style))
        const its = packages.find(one => one.entry === entry)
        const remark = its && remarkOn(its)
        if (remark !== undefined) await print(`    ${style.warn(remark)}\n`)
      }
    } catch (error) {
      if (!(error instanceof CustomsError)) throw error
      wrong++
      await print(`  ${style.bad(`wrong: ${error.message}`)}\n`)
    }
  }
  return wrong === 0 ? 0 : 1
}

/** Runs the command that starts us in an entry, each once. A stranger's is none of them. */
const launcherCheck = ({ versionOf }: Context) => {
  const ran = new Map<string, ReturnType<Context['versionOf']>>()
  return async ({ server }: ServerEntry): Promise<readonly string[]> => {
    if (server.kind !== 'command' || !isWrapped(server)) return []
    const words = server.own.launcher.slice(0, -1)
    const text = wordsText(words)
    const found = ran.get(text) ?? versionOf(words)
    ran.set(text, found)
    const told = await found
    return 'failure' in told ? [`${text} does not start (${told.failure}): run install again`] : []
  }
}

interface LockState {
  readonly state: string
  readonly problems: readonly string[]
}

/**
 * Whether `wrap` would start with the entry's lock; `lock --check` compares it with what the server offers
 * now.
 */
const lockOf = async (entry: ServerEntry, file: ClientFile): Promise<LockState> => {
  if (lockWordOf(entry) === undefined) return { state: 'no lock', problems: [] }
  const lock = lockFileOf(entry, file, undefined)
  try {
    return { state: `locked (${count(await toolsIn(lock, entry, file), 'tool')})`, problems: [] }
  } catch (error) {
    if (!(error instanceof CustomsError)) throw error
    return { state: 'locked', problems: [error.message] }
  }
}

const toolsIn = async (lock: string, entry: ServerEntry, file: ClientFile): Promise<number> => {
  const setup = await setUpEntry(entry, folderOf(entry, file)).catch((error: unknown) => {
    if (error instanceof CustomsError) return undefined
    throw error
  })
  const [one] = setup?.servers ?? []
  if (setup !== undefined && one !== undefined) {
    return (await acceptedOf(
      one.server, { file: lock, isFrozen: false, trustAccepted: false, actions: {} }, setup.configuration,
    )).legacy.definitions.tools.size
  }
  // The entry cannot be set up here (only the client knows its variables), but its lock can be read.
  return (await lockedIn(lock, entry.name)).offers.legacy.tools.size
}

const describe = (
  { name, scope, server, disabled }: ServerEntry, width: number, lock: string, problems: readonly string[],
  style: Style,
): string => {
  const line = `  ${entryName(name, scope).padEnd(width)}  `
  const state = disabled ? ', disabled' : ''
  const wrongs = problems
    .map(problem => `    ${style.bad(`wrong: ${plain(problem, longestProblem)}`)}\n`).join('')
  if (server.kind === 'unknown') {
    return `${line}${style.warn(`not wrapped: ${plain(server.reason, longest)}${state}`)}\n`
  }
  if (server.kind !== 'command' || !isWrapped(server)) return `${line}not wrapped${state}\n${wrongs}`
  const { options, launcher } = server.own
  return `${line}${style.good('wrapped')}, ${policyOf(options)}, ${lock}${state}  ` +
    `${style.dim(plain(launcher.slice(0, -1).join(' '), longest))}\n${wrongs}`
}

/** Longest text of the file that is shown in a line, in characters. */
const longest = 300
/** A problem ends with the command that mends it. */
const longestProblem = 1000

const policyOf = (options: readonly string[]): string => {
  const [policy, file] = [optionOf(options, 'policy'), optionOf(options, 'config')]
  return plain(
    policy === undefined && file !== undefined ? `policy of ${file}` : `policy ${policy ?? 'standard'}`,
    longest,
  )
}
