import { resolve } from 'node:path'
import {
  fileProblem, everyFile, clientFilesOf, type Found, projectFileAt, projectFilesOf, truePath, findFile,
} from './clients/find.js'
import { clients } from './clients/known.js'
import type { Machine } from '#relay/base/platform/machine.js'
import type { EntrySource } from './clients/steps.js'
import { readFileText } from './clients/save.js'
import { suggestion } from '#relay/config/check.js'
import { badUsage, CustomsError, pathText } from '#relay/base/errors.js'
import type { Dialogue } from '#desk/terminal/context.js'
import type { UninstallFlags } from '#cli/flags/install.js'

type ClientFlags = Pick<UninstallFlags, 'client' | 'project'>

/** A client's file and its content. */
export interface ClientFile extends EntrySource {
  /** The client's display name; for a file of no known client, its path. */
  readonly title: string
  /** The file belongs to a project and is shared by its team. */
  readonly shared: boolean
  /** The folder of the project, where only its servers are wanted. */
  readonly folder: string | undefined
}

/**
 * The files that the flags name; without `--client`, the person chooses among those of all known clients.
 * @throws CustomsError
 */
export const chooseFiles = async (
  flags: ClientFlags, machine: Machine, dialogue: Dialogue | undefined,
): Promise<readonly ClientFile[] | undefined> => {
  if (flags.client !== undefined) return readAll(await named(flags.client, flags, machine))
  const found = await findAll(flags, machine)
  if (found.length === 0) {
    return badUsage('no configuration of a known client was found: name its file with --client FILE')
  }
  if (dialogue !== undefined) {
    const chosenBefore = found.length === 1
    const choices = await Promise.all(
      found.map(async one => ({ value: one, label: await labelOf(one, machine), chosen: chosenBefore })),
    )
    const chosen = await dialogue.choose('Which clients?', choices)
    return chosen && readAll(chosen)
  }
  const names = [...new Set(found.map(({ client }) => client?.name))].join(', ')
  return badUsage(`which client? choose one with --client (there is: ${names})`)
}

const labelOf = async (found: Found, machine: Machine): Promise<string> => {
  const problem = await fileProblem(found, machine)
  return `${found.client?.title ?? ''}  ` +
    `${pathText(found.file)}${problem === undefined ? '' : ` (${problem})`}`
}

/** The files that the flags name, for `--check`: without `--client`, all that exist. */
export const allFiles = async (flags: ClientFlags, machine: Machine): Promise<readonly Found[]> => {
  const client = clientOf(flags.client)
  if (client !== undefined && flags.project === undefined) {
    return (await clientFilesOf(client, machine)).filter(({ exists }) => exists)
  }
  return flags.client === undefined ? findAll(flags, machine) : named(flags.client, flags, machine)
}

/** The files of all known clients that can be read. */
export const readableFiles = async (machine: Machine): Promise<readonly ClientFile[]> => {
  const found = await everyFile(machine)
  return (await Promise.all(found.map(one => readFound(one).catch(() => [])))).flat()
}

const findAll = async ({ project }: ClientFlags, machine: Machine): Promise<readonly Found[]> => {
  if (project === undefined) return everyFile(machine)
  const some = clients.filter(({ projectFile }) => projectFile !== undefined)
  return (await Promise.all(some.map(client => projectFilesOf(client, resolve(project), machine)
    .catch(() => [])))).flat()
}

const clientOf = (name: string | undefined) => clients.find(one => one.name === name)

const named = async (name: string, { project }: ClientFlags, machine: Machine): Promise<readonly Found[]> => {
  const client = clientOf(name)
  if (client !== undefined && project !== undefined) return projectFilesOf(client, resolve(project), machine)
  if (client !== undefined) {
    const found = await findFile(client, machine)
    return 'file' in found ? [found.file] : badUsage(`${found.problem}: name the file with --client FILE`)
  }
  const names = clients.map(one => one.name)
  if (!/[\\/.]/.test(name)) {
    return badUsage(`--client ${JSON.stringify(name)}: no such ` +
      `client${suggestion(name, names) || `: ${names.join(', ')}`} (a file is named by a path, such as ` +
      './mcp.json)')
  }
  if (project !== undefined) {
    return badUsage('--project belongs to a client\'s name: leave it out, or name the project\'s file alone')
  }
  return [await fileAt(resolve(name), machine)]
}

/** Recognises a known client's file that was given by its path. */
const fileAt = async (file: string, machine: Machine): Promise<Found> => {
  const real = await truePath(file)
  for (const found of await everyFile(machine)) {
    if ((await truePath(found.file)) === real) return { ...found, file }
  }
  return projectFileAt(file, machine) ?? { client: undefined, file, exists: true }
}

const readAll = (found: readonly Found[]): Promise<readonly ClientFile[]> => Promise.all(found.map(readFound))

/** @throws CustomsError BAD_CONFIG */
export const readFound = async ({ client, file, project }: Found): Promise<ClientFile> => {
  const text = await readFileText(file)
  if (text === undefined) throw new CustomsError('BAD_CONFIG', `${file}: is not there`)
  return {
    title: client?.title ?? file,
    client, file, text,
    real: await truePath(file),
    shared: project?.shared === true,
    folder: project?.folder,
    scope: project?.shared === false ? project.folder : undefined,
  }
}
