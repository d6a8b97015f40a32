import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { launcherFor } from '../clients/launcher.js'
import { isChange, planInstall, planUninstall, readEntries, type Change, type Plan, type Wanted } from '../clients/plan.js'
import { addNotes, readRecord, recordFile, removeNotes } from '../clients/record.js'
import { save } from '../clients/save.js'
import { readPolicy } from '../config/policy-file.js'
import { suggestion } from '../config/suggestion.js'
import { CustomsError } from '../errors.js'
import { plain } from '../inspect/plain.js'
import type { InstallContext } from './install-context.js'
import type { InstallFlags, UninstallFlags } from './install-flags.js'
import { describePlan, nameOf } from './install-preview.js'
import { chooseFiles, type ClientFile } from './install-sources.js'
import { knowledgeOf } from './installation.js'

/** @returns 1 when something that was asked for was not written, else 0 @throws CustomsError */
export const install = async (flags: InstallFlags, context: InstallContext): Promise<number> => {
  const policy = await policyWord(flags.policy)
  const isGone = (path: string) => isAbsolute(path) && !existsSync(path)
  return changeFiles(flags, context, (file, wanted) => {
    const launcher = launcherFor(context.installation, file.shared)
    const plan = planInstall(file, { ...wanted, launcher, policy, isGone })
    const started = plan.steps.some(({ kind }) => kind === 'wrap' || kind === 'rewrap')
    return { plan, remarks: started ? [`mcp-customs is started by ${launcher.words.join(' ')}: ${launcher.reason}.`] : [] }
  })
}

/** The same for its opposite. */
export const uninstall = (flags: UninstallFlags, context: InstallContext): Promise<number> =>
  changeFiles(flags, context, (file, wanted) => ({ plan: planUninstall(file, wanted), remarks: [] }))

/** A preset, or a file, which clients start us far away from. */
const policyWord = async (policy: string | undefined): Promise<string | undefined> => {
  if (policy === undefined) return undefined
  await readPolicy(policy, process.env)
  return /^[\w-]+$/.test(policy) ? policy : resolve(policy)
}

type MakePlan = (file: ClientFile, wanted: Wanted) => { readonly plan: Plan; readonly remarks: readonly string[] }

const changeFiles = async (flags: UninstallFlags, context: InstallContext, makePlan: MakePlan): Promise<number> => {
  const files = (await chooseFiles(flags, context.machine, context.dialogue)) ?? []
  const notes = await readRecord(recordFile(context.machine))
  const knowledge = knowledgeOf(notes)
  const names = files.flatMap(file => readEntries(file, knowledge).map(({ name }) => name))
  for (const name of flags.servers) {
    if (!names.includes(name)) throw new CustomsError('BAD_USAGE', `--server ${JSON.stringify(name)}: no such server${suggestion(name, names)} (there is: ${names.map(one => plain(one)).join(', ') || 'none'})`)
  }
  const wanted: Wanted = { notes, knowledge, isWanted: ({ name }) => flags.servers.length === 0 || flags.servers.includes(name) }
  let complete = files.length > 0 || (await giveUp(context))
  for (const file of files) complete = (await changeFile(file, wanted, flags, context, makePlan)) && complete
  return complete ? 0 : 1
}

/** Shows, asks, writes. @returns whether all that was asked for is so now */
const changeFile = async (file: ClientFile, wanted: Wanted, flags: UninstallFlags, context: InstallContext, makePlan: MakePlan): Promise<boolean> => {
  const { print, style } = context
  const chosen = await chooseServers(file, wanted, flags, context, makePlan)
  if (chosen === undefined) return giveUp(context)
  const { plan, remarks } = makePlan(file, chosen)
  await print(`${style.title(file.title)}${file.title === file.file ? '' : `: ${file.file}`}${file.real === file.file ? '' : ` (leads to ${file.real})`}\n`)
  await print(plan.steps.length === 0 ? '  has no servers\n' : describePlan(plan, style))
  const changes = plan.steps.filter(isChange)
  const asked = flags.servers.length === 0 || plan.steps.every(({ kind }) => kind !== 'left')
  if (changes.length === 0) return asked
  for (const remark of remarks) await print(`${remark}\n`)
  if (file.shared) await print('This file belongs to the project: everyone who works on it will run mcp-customs too.\n')
  if (!flags.yes && (await context.dialogue?.confirm(`Write this to ${file.file}?`)) !== true) return giveUp(context)
  await write(file, plan, changes, context)
  await print(`Undo it with: ${undoing(file, changes, flags, context)}\n`)
  return asked
}

const giveUp = async ({ dialogue, print }: InstallContext): Promise<false> => {
  await print(dialogue === undefined ? 'Nothing was written: there is nobody to ask; give --yes to write it.\n' : 'Nothing was written.\n')
  return false
}

/** What the person leaves of all that could be changed. @returns undefined when the person gave up */
const chooseServers = async (file: ClientFile, wanted: Wanted, flags: UninstallFlags, { dialogue }: InstallContext, makePlan: MakePlan): Promise<Wanted | undefined> => {
  if (dialogue === undefined || flags.all || flags.yes || flags.servers.length > 0) return wanted
  const changes = makePlan(file, wanted).plan.steps.filter(isChange)
  if (changes.length < 2) return wanted
  const choices = changes.map(({ entry: { name, scope, path } }) => ({ value: path.join('\0'), label: nameOf(name, scope), chosen: true }))
  const chosen = await dialogue.choose(`Which servers of ${file.title}?`, choices)
  const refused = choices.filter(({ value }) => chosen?.includes(value) === false)
  return chosen && { ...wanted, isWanted: ({ path }) => !refused.some(({ value }) => value === path.join('\0')) }
}

const write = async (file: ClientFile, { text }: Plan, changes: readonly Change[], { machine, installation, print }: InstallContext): Promise<void> => {
  const record = recordFile(machine)
  const notes = (...kinds: readonly Change['kind'][]) =>
    changes
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ entry: { path }, spelling }) => ({ file: file.real, path, program: installation.file, spelling }))
  await addNotes(record, notes('wrap', 'rewrap'))
  const { backup } = await save(file.file, file.text, text)
  await removeNotes(record, notes('unwrap'))
  await print(`Written. What the file held before is in ${backup}\n`)
  await print(`Restart ${file.client?.title ?? 'the program that reads it'}: until then nothing changes.\n`)
}

/** A command line that works as it stands, however we were started. */
const undoing = ({ client, file, shared }: ClientFile, changes: readonly Change[], { project, client: named }: UninstallFlags, { installation }: InstallContext): string =>
  [
    ...launcherFor(installation, shared).words,
    changes.some(({ kind }) => kind === 'unwrap') ? 'install' : 'uninstall',
    '--client', named ?? client?.name ?? file,
    ...(project === undefined ? [] : ['--project', project]),
  ].map(word => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')
