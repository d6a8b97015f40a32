import { realpath, stat } from 'node:fs/promises'
import { badUsage } from '#relay/base/errors.js'
import { expand } from '#relay/base/platform/files.js'
import { isSamePath, pathsOf, type Machine } from '#relay/base/platform/machine.js'
import { clients, type KnownClient } from './known.js'

/** A configuration file: a client's known file, or a file that the user named by its path. */
export interface Found {
  readonly client: KnownClient | undefined
  /** The path under which a person knows the file: symbolic links are not resolved. */
  readonly file: string
  readonly exists: boolean
  /**
   * Set when only the servers of one project are wanted. `folder` is the project's folder. `shared` is true
   * for the file in that folder, which a team shares, and false for the user's own file.
   */
  readonly project?: { readonly folder: string; readonly shared: boolean } | undefined
}

/** The files that a client on this machine may read, whether they exist or not. */
export const clientFilesOf = async (client: KnownClient, machine: Machine): Promise<readonly Found[]> => {
  const files = client.files(machine).flatMap(pattern => expand(pattern, machine))
  return Promise.all(files.map(async file => ({ client, file, exists: await exists(file) })))
}

/** Every existing file of every client. */
export const everyFile = async (machine: Machine): Promise<readonly Found[]> =>
  (await Promise.all(clients.map(client => clientFilesOf(client, machine)))).flat()
    .filter(found => found.exists)

/** The file that a client reads, or why that is not known. */
export const findFile = async (
  client: KnownClient, machine: Machine,
): Promise<{ readonly file: Found } | { readonly problem: string }> => {
  const files = await clientFilesOf(client, machine)
  const there = files.filter(({ exists }) => exists)
  const [only] = there
  if (only === undefined) {
    return {
      problem: `${client.title} has no configuration file here (looked for ${list(client.files(machine))})`,
    }
  }
  // An installed package of the client reads only the file in the package's folder, even before that file
  // exists. It does not read the file of an older installation.
  const ignoring = files.filter(({ file, exists }) => !exists && !client.files(machine).includes(file))
  if (there.length === 1 && ignoring.length === 0) return { file: only }
  const named = [
    ...ignoring.map(({ file }) => `${file} (not there yet, but the one that the installed package reads)`),
    ...there.map(({ file }) => file),
  ]
  return { problem: `${client.title} may mean several files: ${list(named)}` }
}

const list = (files: readonly string[]): string => files.join(', ')

/** The reason for doubting that the client reads this file; undefined when there is none. */
export const fileProblem = async (
  { client, project }: Found, machine: Machine,
): Promise<string | undefined> => {
  const found = client !== undefined && project === undefined ? await findFile(client, machine) : undefined
  return found && 'problem' in found ? found.problem : undefined
}

/**
 * The files that hold the servers of a project: the file that the team shares, and for Claude Code also the
 * user's own file, because it holds servers of projects as well.
 * @throws CustomsError BAD_USAGE
 */
export const projectFilesOf = async (
  client: KnownClient, folder: string, machine: Machine,
): Promise<readonly Found[]> => {
  if (client.projectFile === undefined) {
    return badUsage(`${client.title} keeps no servers in a project: leave --project out`)
  }
  const file = pathsOf(machine).join(folder, client.projectFile)
  const team: Found = { client, file, exists: await exists(file), project: { folder, shared: true } }
  const own = client.name === 'claude-code' ? await clientFilesOf(client, machine) : []
  const all = [team, ...own.map(one => ({ ...one, project: { folder, shared: false } }))]
  const found = all.filter(({ exists }) => exists)
  if (found.length > 0) return found
  return badUsage(`${client.title} has no configuration file in this project (looked for ${file})`)
}

/** The project file at a path that was given without a client; undefined for any other path. */
export const projectFileAt = (file: string, machine: Machine): Found | undefined => {
  const paths = pathsOf(machine)
  for (const client of clients) {
    const ending = client.projectFile && paths.sep + paths.normalize(client.projectFile)
    if (ending !== undefined && isSamePath(file.slice(-ending.length), ending, machine.platform)) {
      return { client, file, exists: true, project: { folder: file.slice(0, -ending.length), shared: true } }
    }
  }
  return undefined
}

const exists = (file: string): Promise<boolean> => stat(file).then(found => found.isFile(), () => false)

/** The path without symbolic links, so that two paths of one file are equal. */
export const truePath = (file: string): Promise<string> => realpath(file).catch(() => file)
