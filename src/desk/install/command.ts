import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { diffLines } from 'diff'
import type { ServerEntry } from './clients/entry.js'
import { type Launcher, launcherFor, ownWords } from '#relay/base/own-command.js'
import { planInstall, planUninstall, usualPolicy } from './clients/plan.js'
import { addNotes, noteFor, readRecord, recordFile, removeNotes } from './clients/record.js'
import { save } from './clients/save.js'
import {
  type EntryChange, isChange, pinnedEntry, type EntryPlan, readEntries, type Step, type WantedEntries,
} from './clients/steps.js'
import type { Pin } from './clients/wrap.js'
import { readPolicy } from '#relay/config/policy-file.js'
import { pathText, visible, wordsText } from '#relay/base/errors.js'
import { plain, plainLines } from '#relay/base/plain.js'
import type { Style } from '#desk/terminal/style.js'
import type { Context } from '#desk/terminal/context.js'
import { recognizerOf } from './recognizer.js'
import type { InstallFlags, UninstallFlags } from '#cli/flags/install.js'
import { startingLauncher } from './launcher.js'
import { lockEntries, type Locking, noLocking } from './lock.js'
import { canPin, choosePins, type EntryPackage, packagesOf, remarkOn } from './pins.js'
import { entryName, noSuchServer } from './servers.js'
import { chooseFiles, type ClientFile } from './sources.js'

/**
 * @returns 1 when something that was asked for was not written, else 0; the exit code when it was interrupted
 * @throws CustomsError
 */
export const install = async (flags: InstallFlags, context: Context): Promise<number> => {
  const policy = await policyWord(flags.policy)
  const isGone = (path: string) => isAbsolute(path) && !existsSync(path)
  return changeFiles(flags, context, {
    plan: (file, wanted, { lockOf, pinOf, launcher = likelyLauncher(context, file) }) =>
      planInstall(file, { ...wanted, launcher, policy, lockOf, pinOf, isGone }),
    packages: (entries, file) => packagesOf(entries, file, flags.offline, context),
    isPinning: flags.pin,
    launcher: ({ shared }) => startingLauncher(context, shared),
    policy,
    lock: flags.lock ? (entries, file) => lockEntries(entries, file, flags, context) : undefined,
  })
}

const usualMeans = 'tools of honest but careless servers work, as they would without mcp-customs; what is ' +
  'mended for that is on record'

/** The launcher for a first plan, which is not written. */
const likelyLauncher = ({ installation }: Context, { shared }: ClientFile): Launcher => {
  const launcher = launcherFor(installation, shared)
  return 'words' in launcher ? launcher : { words: ownWords(installation), reason: launcher.refusal }
}

/** `uninstall`: restores the entries that `install` wrapped. */
export const uninstall = (flags: UninstallFlags, context: Context): Promise<number> =>
  changeFiles(flags, context, {
    plan: planUninstall, isRestoring: true, launcher: undefined, lock: undefined,
  })

/** A preset, or an absolute path: clients start us in another directory. */
const policyWord = async (policy: string | undefined): Promise<string | undefined> => {
  if (policy === undefined) return undefined
  await readPolicy(policy, process.env)
  return /^[\w-]+$/.test(policy) ? policy : resolve(policy)
}

interface Making {
  readonly plan: (file: ClientFile, wanted: WantedEntries, known: Known) => EntryPlan
  /** The packages of entries; undefined where that is of no interest. */
  readonly packages?: (entries: readonly ServerEntry[], file: ClientFile) => Promise<readonly EntryPackage[]>
  /** Entries that were merged are restored before. */
  readonly isRestoring?: true
  /** Undefined: those that the flags name, or the person chooses. */
  readonly files?: readonly ClientFile[] | undefined
  /** The words that undo it; undefined: by `install` or `uninstall`. */
  readonly undo?: readonly string[]
  /** Packages are pinned without a question. */
  readonly isPinning?: boolean
  /** The command that will start us; undefined where none is written. @throws CustomsError CANNOT_START */
  readonly launcher: ((file: ClientFile) => Promise<Launcher>) | undefined
  /** The policy that the person named. */
  readonly policy?: string | undefined
  /** Lists the servers for --lock. */
  readonly lock:
    | ((entries: readonly ServerEntry[], file: ClientFile) => Promise<Locking | number>)
    | undefined
}

/** What was found out before a file is changed. */
interface Known extends Pick<Locking, 'lockOf'> {
  readonly pinOf: (entry: ServerEntry) => Pin | undefined
  /** Undefined: as this machine suggests. */
  readonly launcher?: Launcher | undefined
}

const nothingKnown: Known = { ...noLocking, pinOf: () => undefined }

export const changeFiles = async (
  flags: UninstallFlags, context: Context, making: Making,
): Promise<number> => {
  const chosen = making.files ?? (await chooseFiles(flags, context.machine, context.dialogue)) ?? []
  const files = making.isRestoring === true ? await restoredFiles(chosen, flags, context) : chosen
  const notes = await readRecord(recordFile(context.machine))
  const recognizer = recognizerOf(notes, context)
  const names = files.flatMap(file => readEntries(file, recognizer).map(({ name }) => name))
  for (const name of flags.server) if (!names.includes(name)) noSuchServer(name, names)
  const wanted: WantedEntries =
    { notes, recognizer, isWanted: ({ name }) => flags.server.length === 0 || flags.server.includes(name) }
  let code = files.length > 0 ? 0 : await giveUp(context)
  for (const file of files) {
    code = Math.max(code, await changeFile(file, wanted, flags, context, making))
    // Interrupted by a signal.
    if (code > 128) break
  }
  return code
}

const restoredFiles = async (
  files: readonly ClientFile[], flags: UninstallFlags, context: Context,
): Promise<readonly ClientFile[]> => {
  const { restoreMerged } = await import('./merge.js')
  const restored: ClientFile[] = []
  for (const file of files) restored.push(await restoreMerged(file, flags.yes, context))
  return restored
}

/** Shows, asks, writes. @returns the exit code */
const changeFile = async (
  file: ClientFile, wanted: WantedEntries, flags: UninstallFlags, context: Context, making: Making,
): Promise<number> => {
  const { print, style } = context
  const chosen = await chooseServers(file, wanted, flags, context, making)
  if (chosen === undefined) return giveUp(context)
  const path = file.title === file.file ? '' : `: ${pathText(file.file)}`
  const real = file.real === file.file ? '' : ` (leads to ${pathText(file.real)})`
  await print(`${style.title(visible(file.title))}${path}${real}\n`)
  const planned = making.plan(file, chosen, nothingKnown)
  const launcher = planned.steps.some(isChange) ? await making.launcher?.(file) : undefined
  const entries = toLock(planned)
  const packages = (await making.packages?.(entries, file)) ?? []
  const dialogue = flags.yes ? undefined : context.dialogue
  const pinOf = await choosePins(packages, making.isPinning === true, dialogue)
  const pinned = entries.map(entry => pinnedEntry(entry, pinOf(entry)))
  const locking = (await making.lock?.(pinned, file)) ?? noLocking
  if (typeof locking === 'number') return locking
  const plan = making.plan(file, chosen, { ...locking, launcher, pinOf })
  await print(plan.steps.length === 0 ? '  has no servers\n' : describePlan(plan, style))
  for (const one of packages) {
    // Whoever was asked, and said no, knows.
    const isKnown = pinOf(one.entry) !== undefined || (dialogue !== undefined && canPin(one))
    const remark = isKnown ? undefined : remarkOn(one)
    const { name, scope } = one.entry
    if (remark !== undefined) await print(`${style.warn(`${entryName(name, scope)}: ${remark}`)}\n`)
  }
  const changes = plan.steps.filter(isChange)
  const asked =
    locking.isPartial || (flags.server.length > 0 && plan.steps.some(({ kind }) => kind === 'left')) ? 1 : 0
  const places = [...locking.changed.map(one => one.file), ...(changes.length > 0 ? [file.file] : [])]
  if (places.length === 0) return asked
  if (launcher !== undefined) {
    await print(`mcp-customs is started by ${launcher.words.join(' ')}: ${launcher.reason}.\n`)
    const { title, profile } = file.client ?? {}
    const isWrapping = plan.steps.some(({ kind }) => kind === 'wrap')
    if (making.policy === undefined && isWrapping) await print(`The policy is ${usualPolicy}: ${usualMeans}.\n`)
    if (profile !== undefined && isWrapping)
      await print(`The profile is ${profile}: tools are shown as ${title} accepts them.\n`)
  }
  if (file.shared) {
    await print('This file belongs to the project: everyone who works on it will run mcp-customs too.\n')
  }
  if (!flags.yes
    && (await context.dialogue?.confirm(`Write this to ${places.map(pathText).join(' and ')}?`)) !== true) {
    return giveUp(context)
  }
  for (const draft of locking.changed) {
    await draft.write()
    await print(`Accepted: ${pathText(draft.file)}\n`)
  }
  if (changes.length > 0) await write(file, plan, changes, wanted, context)
  await print(`Restart ${file.client?.title ?? 'the program that reads it'}: until then nothing changes.\n`)
  const undo = changes.length > 0 ? undoing(file, changes, making, flags, context) : undefined
  if (undo !== undefined) await print(`Undo it with: ${undo}\n`)
  return asked
}

/** The enabled servers that will run under mcp-customs. */
const toLock = ({ steps }: EntryPlan): readonly ServerEntry[] =>
  steps.flatMap(({ kind, entry }) => (kind === 'left' || entry.disabled ? [] : [entry]))

const giveUp = async ({ dialogue, print }: Context): Promise<1> => {
  await print(dialogue === undefined
    ? 'Nothing was written: there is nobody to ask; give --yes to write it.\n'
    : 'Nothing was written.\n')
  return 1
}

/** Asks which of the possible changes to make. @returns undefined when the person gave up */
const chooseServers = async (
  file: ClientFile, wanted: WantedEntries, flags: UninstallFlags, { dialogue }: Context, { plan }: Making,
): Promise<WantedEntries | undefined> => {
  if (dialogue === undefined || flags.all || flags.yes || flags.server.length > 0) return wanted
  const changes = plan(file, wanted, nothingKnown).steps.filter(isChange)
  if (changes.length < 2) return wanted
  const choices = changes.map(({ entry: { name, scope, path } }) => ({
    value: path.join('\0'), label: entryName(name, scope), chosen: true,
  }))
  const chosen = await dialogue.choose(`Which servers of ${visible(file.title)}?`, choices)
  const refused = choices.filter(({ value }) => chosen?.includes(value) === false)
  return chosen
    && { ...wanted, isWanted: ({ path }) => !refused.some(({ value }) => value === path.join('\0')) }
}

const write = async (
  file: ClientFile, { text }: EntryPlan, changes: readonly EntryChange[], { notes: known }: WantedEntries,
  { machine, print }: Context,
): Promise<void> => {
  const record = recordFile(machine)
  const notes = (...kinds: readonly EntryChange['kind'][]) =>
    changes.filter(({ kind }) => kinds.includes(kind)).map(({ note }) => note)
  await addNotes(record, notes('wrap', 'rewrap'))
  const backup = await save(file.file, file.text, text).catch(async (error: unknown) => {
    // The file has its old text, which only the old notes restore.
    await addNotes(record, changes.flatMap(({ note }) => noteFor(known, note.file, note.path) ?? []))
    throw error
  })
  await removeNotes(record, notes('unwrap'))
  await print(`Written. What the file held before is in ${pathText(backup)}\n`)
}

/** A command line that works from any directory; undefined where no command would go on starting us. */
const undoing = (
  { client, file }: ClientFile, changes: readonly EntryChange[], { undo }: Making,
  { project, client: named }: UninstallFlags, { installation }: Context,
): string | undefined => {
  const launcher = launcherFor(installation, false)
  if ('refusal' in launcher) return undefined
  return wordsText([
    ...launcher.words,
    ...(undo ?? [changes.some(({ kind }) => kind === 'unwrap') ? 'install' : 'uninstall']),
    '--client', named ?? client?.name ?? file,
    ...(project === undefined ? [] : ['--project', project]),
  ])
}

/** Describes the change of each server of a file: a line, and the exact difference. */
export const describePlan = ({ steps }: Pick<EntryPlan, 'steps'>, style: Style): string => {
  const names = steps.map(({ entry: { name, scope } }) => entryName(name, scope))
  const width = Math.min(40, Math.max(0, ...names.map(({ length }) => length)))
  return steps.map((step, index) => describeStep((names[index] ?? '').padEnd(width), step, style)).join('')
}

const fates = {
  wrap: 'will run under mcp-customs',
  rewrap: 'will start mcp-customs in another way',
  unwrap: 'will run without mcp-customs',
} as const

const describeStep = (name: string, step: Step, style: Style): string => {
  if (!isChange(step)) {
    const reason = plain(step.reason, 300)
    return `  ${name}  ${step.kind === 'done' ? style.dim(reason) : style.warn(`left alone: ${reason}`)}\n`
  }
  const advice = step.advice.map(line => `    ${style.warn(line)}\n`).join('')
  return `  ${style.title(name)}  ${fates[step.kind]}\n${describeChange(step, style)}${advice}`
}

/** Longest line that is shown, in characters. */
const widest = 2000

const describeChange = ({ before, after }: EntryChange, style: Style): string => {
  const indented =
    [before, after].flatMap(text => text.split('\n').slice(1)).filter(line => line.trim() !== '')
  const indentation = Math.min(...indented.map(line => line.search(/\S/)))
  const show = (sign: string, text: string) =>
    plainLines(text.replace(/\r?\n$/, ''), 200, widest).map(line =>
      `    ${sign} ${line.slice(Math.min(indentation, Math.max(0, line.search(/\S/))))}\n`).join('')
  return diffLines(before, after)
    .map(({ added, removed, value }) =>
      (added ? style.good(show('+', value)) : removed ? style.bad(show('-', value)) : ''))
    .join('')
}
