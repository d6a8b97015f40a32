import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { isRecord, field, parseData } from '#relay/protocol/unmetered.js'
import { isNpxOfUs, type Installation } from './own-command.js'
import { isWindows, thisMachine } from './platform/machine.js'
import { version } from './version.js'

const temporaryFolders = (): readonly string[] => [tmpdir(), realpath(tmpdir())]

export const thisInstallation = (): Installation => ({
  platform: thisMachine().platform,
  version: version(),
  // The path by which we were started.
  file: realpath(process.argv[1] ?? ''),
  published: isPublished(realpath(process.argv[1] ?? '')),
  nodes: nodes(),
  temporary: temporaryFolders(),
})

/**
 * Paths in PATH that lead to the running Node come first, because they survive an upgrade:
 * `/opt/homebrew/bin/node` does, `…/Cellar/node/22.1.0` does not.
 */
const nodes = (): readonly string[] => {
  const own = realpath(process.execPath)
  const name = isWindows() ? 'node.exe' : 'node'
  const found = foldersOfPath().map(folder => join(folder, name))
  return [...found.filter(path => realpath(path) === own), process.execPath]
}

const foldersOfPath = (): readonly string[] => (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute)

const realpath = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/**
 * No option of Node.js is allowed, since some of them run other code first. A relative path is the client's
 * folder's, so a repository could put its own program there.
 */
export const startsThis = (words: readonly string[], { file, nodes, published }: Installation): boolean => {
  const isThis = (path: string) => isAbsolute(path) && realpath(path) === file
  const [program = '', argument = ''] = words
  if (words.length === 1) return (program === 'mcp-customs' ? inPath(program) : [program]).some(isThis)
  if (words.length === 2) return ['node', ...nodes].includes(program) && isThis(argument)
  return published && isNpxOfUs(words)
}

/** The program that a name starts. */
const inPath = (name: string): readonly string[] =>
  foldersOfPath().map(folder => join(folder, name)).filter(path => existsSync(path)).slice(0, 1)

/**
 * Whether a package came from the registry of npm under our name. npm writes into `node_modules` from where
 * each package came, but not for packages that are installed globally. A copy of a folder, an archive or a
 * repository, and a package of another name, are others.
 */
export const isPublished = (file: string): boolean => {
  const folder = resolve(dirname(file), '..')
  try {
    const lock = parseData(readFileSync(join(folder, '..', '.package-lock.json'), 'utf8'))
    const packages = isRecord(lock) ? field(lock, 'packages') : undefined
    const own = isRecord(packages) ? field(packages, `node_modules/${basename(folder)}`) : undefined
    const resolved = isRecord(own) ? field(own, 'resolved') : undefined
    return resolved === `https://registry.npmjs.org/mcp-customs/-/mcp-customs-${version()}.tgz`
  } catch {
    return false
  }
}
