import { createHash } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parse } from 'jsonc-parser'
import type { Context } from '#desk/terminal/context.js'
import type { InstallFlags } from '#cli/flags/install.js'
import { badUsage, CustomsError, pathText, visible } from '#relay/base/errors.js'
import { pathsOf, stateFolder, type Machine } from '#relay/base/platform/machine.js'
import { isRecord } from '#relay/protocol/unmetered.js'
import { parseDocument } from './clients/document.js'
import { planUninstall, usualPolicy } from './clients/plan.js'
import { addNotes, type Note, readRecord, recordFile, removeNotes } from './clients/record.js'
import { replace, save } from './clients/save.js'
import { readEntries, type EntrySource } from './clients/steps.js'
import {
  type Document, isTable, type Member, memberAt, memberOf, regionOf, treeSlice, splice,
} from './clients/tree.js'
import { mergedEntry } from '#relay/config/merge.js'
import { startingLauncher } from './launcher.js'
import { recognizerOf } from './recognizer.js'
import { chooseFiles, type ClientFile } from './sources.js'

/**
 * `install --merge`: the client's servers move into a file of ours, and one entry that merges them takes
 * their place. `uninstall` brings every entry back.
 * @returns 1 when nothing was written, else 0
 * @throws CustomsError
 */
export const installMerged = async (flags: InstallFlags, context: Context): Promise<number> => {
  const files = (await chooseFiles(flags, context.machine, context.dialogue)) ?? []
  const [file, other] = files
  if (file === undefined) return 1
  if (other !== undefined) return badUsage('--merge changes one file at a time: name it with --client')
  const notes = await readRecord(recordFile(context.machine))
  const recognizer = recognizerOf(notes, context)
  const entries = readEntries(file, recognizer)
  const table = tableOf(file, parseDocument(file.file, file.text))
  const found = memberAt(parseDocument(file.file, file.text).root, [...table.path, mergedEntry])
  if (found !== undefined) return refuse(file, 'its servers are merged already, or one is called mcp-customs')
  const unknown = entries.find(({ server }) => server.kind === 'unknown')
  if (unknown?.server.kind === 'unknown') return refuse(file, `${unknown.name}: ${unknown.server.reason}`)
  if (entries.length === 0) return refuse(file, 'it has no servers')
  const config = configFor(file, context.machine)
  const launcher = await startingLauncher(context, file.shared)
  const args = ['wrap', '--config', config, '--merge']
  const [command = '', ...words] = launcher.words
  const own = JSON.stringify({ command, args: [...words, ...args] }, undefined, 2)
  const key = JSON.stringify(table.path.at(-1))
  const after = `${key}: {${JSON.stringify(mergedEntry)}: ${own}}`
  const region = regionOf(table.member)
  const note: Note = {
    file: file.real, path: table.path, words: launcher.words, after,
    before: file.text.slice(region.from, region.to),
  }
  // Unwrapped first: an entry that runs under mcp-customs would otherwise run under it twice.
  const bare = planUninstall(file, { notes, recognizer, isWanted: () => true })
  const policy = flags.policy ?? usualPolicy
  const servers = renamed(table.read(bare.text))
  const profile = file.client?.profile
  const customs = JSON.stringify({
    version: 1, merge: true, policy, ...(profile !== undefined && { profile }), mcpServers: servers,
  }, undefined, 2)
  const { print, style } = context
  await print(`${style.title(visible(file.title))}: ${pathText(file.file)}\n`)
  for (const { name } of entries) await print(`  ${visible(name)}  moves to ${pathText(config)}\n`)
  await print(`  ${mergedEntry}  ${[command, ...words, ...args].join(' ')}\n`)
  const asked = `Write this to ${pathText(file.file)} and ${pathText(config)}?`
  if (!flags.yes && (await context.dialogue?.confirm(asked)) !== true) {
    await print('Nothing was written.\n')
    return 1
  }
  await mkdir(dirname(config), { recursive: true, mode: 0o700 })
  await replace(config, `${customs}\n`, { mode: 0o600 }, () => Promise.resolve())
  await addNotes(recordFile(context.machine), [note])
  const backup = await save(file.file, file.text, splice(file.text, [{ ...region, text: after }]))
  await print(`Written. What the file held before is in ${pathText(backup)}\n`)
  await print(`Restart ${file.client?.title ?? 'the program that reads it'}: until then nothing changes.\n`)
  return 0
}

/** Brings back the entries that `install --merge` has replaced. @returns the file as it is then */
export const restoreMerged = async <File extends EntrySource>(
  file: File, isAgreed: boolean, context: Context,
): Promise<File> => {
  const record = recordFile(context.machine)
  const note = (await readRecord(record)).find(one => one.file === file.real && isOfTable(one))
  if (note?.before === undefined) return file
  const text = restored(file, note)
  if (text === undefined) {
    throw new CustomsError('BAD_CONFIG',
      `${file.file}: cannot be restored, because its servers were changed since: undo it by hand; what stood ` +
      `there before is in ${record}`)
  }
  const asked = `Bring the entries of ${pathText(file.file)} back?`
  if (!isAgreed && (await context.dialogue?.confirm(asked)) !== true) return file
  await save(file.file, file.text, text)
  await removeNotes(record, [note])
  await rm(configFor(file, context.machine), { force: true })
  await context.print(`${pathText(file.file)}: its own entries are back.\n`)
  return { ...file, text }
}

const isOfTable = ({ after }: Note): boolean => after?.includes(`{${JSON.stringify(mergedEntry)}:`) === true

/** The text with the entries from before; what else was added since stays. */
const restored = (file: EntrySource, { path, before = '', after }: Note): string | undefined => {
  const document = parseDocument(file.file, file.text)
  const member = memberAt(document.root, path)
  if (member === undefined || !isTable(member)) return undefined
  const region = regionOf(member)
  if (treeSlice(document, region) === after) return splice(file.text, [{ ...region, text: before }])
  const entry = memberOf(member.value, mergedEntry)
  const inside = before.slice(before.indexOf('{', before.indexOf(':')) + 1, before.lastIndexOf('}'))
  return entry && splice(file.text, [{ ...regionOf(entry), text: inside.trim().replace(/,$/, '') }])
}

interface Table {
  readonly path: readonly string[]
  readonly member: Member
  /** Reads the table's value from another version of the file's text. */
  readonly read: (text: string) => unknown
}

/** The one table of servers. @throws CustomsError BAD_CONFIG */
const tableOf = (file: EntrySource, { root }: Document): Table => {
  if (/\.toml$/i.test(file.file)) return refuse(file, '--merge takes files in JSON only')
  const path = file.client?.servers ?? ['mcpServers']
  const member = memberAt(root, path)
  if (member === undefined || !isTable(member)) return refuse(file, `it has no ${path.join('.')}`)
  const read = (text: string): unknown =>
    path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), parse(text))
  return { path, member, read }
}

/** The servers, each under a name that a configuration accepts. */
const renamed = (servers: unknown): Readonly<Record<string, unknown>> => {
  const named = new Map<string, unknown>()
  for (const [name, server] of isRecord(servers) ? Object.entries(servers) : []) {
    const plain = name.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^[^A-Za-z0-9]+/, '').slice(0, 60) || 'server'
    let own = plain
    for (let count = 2; named.has(own); count += 1) own = `${plain}_${count}`
    named.set(own, server)
  }
  return Object.fromEntries(named)
}

const refuse = ({ file }: EntrySource, reason: string): never => {
  throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
}

/** Where the servers of a client's file move. */
const configFor = ({ real, client }: Pick<ClientFile, 'real' | 'client'>, machine: Machine): string => {
  const digest = createHash('sha256').update(real).digest('hex').slice(0, 8)
  return pathsOf(machine).join(stateFolder(machine), 'merged', `${client?.name ?? 'file'}-${digest}.json`)
}
