import { createHash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { isBroughtAlong } from '#relay/config/trusted-package.js'
import type { ProcessServer, ServerConfiguration } from '#relay/config/configuration.js'
import { isWindows } from '#relay/base/platform/machine.js'
import {
  equal, isRecord, isString, type Data, type DataObject, field, parseData,
} from '#relay/protocol/unmetered.js'
import { isLauncher, type ServerSubject, subjectOf } from '#relay/config/subject.js'
import { processEnvironment, targetOf } from '#relay/config/target.js'

/**
 * A server's identity: its command line or URL without secrets, the digest of its program or image where
 * there is one, and its package. Nothing the server says about itself counts.
 */
export const identityOf = async (server: ServerConfiguration): Promise<DataObject> => {
  if ('url' in server) return { url: targetOf(server) }
  const subject = subjectOf(server.command)
  const command = targetOf(server)
  if (runsPackage(subject)) {
    const its = await packageOf(server, subject)
    return { command, ...(its && { package: its }) }
  }
  const [, image] = /@sha256:([0-9a-f]{64})$/.exec(subject.word) ?? []
  if (image !== undefined) return { command, sha256: image }
  const { file, sha256 } = (await programOf(server, subject)) ?? {}
  const installed = file === undefined ? undefined : await packageOfFile(file)
  return { command, ...(sha256 !== undefined && { sha256 }), ...(installed && { package: installed }) }
}

/** Advice for an identity without a digest of the program; undefined where there is one. */
export const adviceOn = (server: ServerConfiguration, identity: DataObject): string | undefined => {
  const its = field(identity, 'package')
  if ('url' in server || field(identity, 'sha256') !== undefined) return undefined
  if (isRecord(its) && field(its, 'from') !== undefined) {
    return 'the working directory brings the package along: start it in another folder'
  }
  if (isRecord(its) && field(its, 'integrity') !== undefined) return undefined
  const subject = subjectOf(server.command)
  if (runsPackage(subject)) {
    return its === undefined ? 'name the exact version of the package' : 'its version is all that is held'
  }
  return /^(?:docker|podman)$/.test(subject.launcher ?? '')
    ? 'name the image by its digest (IMAGE@sha256:...)'
    : 'name the program by its path'
}

/** Advice for a package without a version; undefined if none is named, or its version is given or unknown. */
export const pinAdvice = (server: ServerConfiguration, identity: DataObject): string | undefined => {
  const named = 'url' in server ? undefined : namedPackage(subjectOf(server.command))
  const its = field(identity, 'package')
  const version = isRecord(its) ? field(its, 'version') : undefined
  return named === undefined || named.exact !== undefined || !isString(version)
    ? undefined
    : `the command names no version of ${named.name}, so the next start may run another one: to keep this one, ` +
      `write ${named.pinned(version)}`
}

/**
 * The current identity, to be compared with the accepted one. A package without a record is no
 * change: the record depends on the machine, and on whether npx has fetched the package.
 */
export const comparableIdentity = (
  accepted: DataObject, { package: its, ...now }: DataObject,
): DataObject => {
  const known = field(accepted, 'package')
  const isBrought = isRecord(its) && field(its, 'from') !== undefined
  if (known === undefined) return isBrought ? { ...now, package: its } : now
  const isKnown = its === undefined || (!isBrought && isSameWithoutIntegrity(its, known))
  return { ...now, package: isKnown ? known : its }
}

/** Whether two packages have the same name and version, and one of them has no integrity. */
const isSameWithoutIntegrity = (one: Data, other: Data): boolean => {
  if (!isRecord(one) || !isRecord(other)) return false
  const isKnown = [one, other].every(each => field(each, 'integrity') !== undefined)
  return !isKnown && ['name', 'version', 'from'].every(key => field(one, key) === field(other, key))
}

/** The current identity, to be accepted: an unknown package keeps what was known before. */
export const settledIdentity = (accepted: DataObject, now: DataObject): DataObject => {
  const [known, its] = [field(accepted, 'package'), field(now, 'package')]
  if (!equal(field(accepted, 'command'), field(now, 'command')) || !isRecord(known)) return now
  return its === undefined || (isSameWithoutIntegrity(its, known) && field(known, 'integrity') !== undefined)
    ? { ...now, package: known }
    : now
}

interface Program {
  readonly file: string
  readonly sha256: string
}

/** The file of the program. Interpreters are excluded: they are updated without the operator's doing. */
const programOf = async (
  server: ProcessServer, { word, option, folder, launcher, isInterpreted }: ServerSubject,
): Promise<Program | undefined> => {
  const cwd = resolve(server.cwd ?? '.', folder ?? '')
  if (launcher === undefined && isLauncher(word)) return undefined
  if (/^-[A-Za-z]*m$|^--module$/.test(option ?? '')) {
    return first(modulesOf(word, [cwd, ...pathsOf(server, cwd)]))
  }
  // A name looked up in PATH is not a file of the server.
  if (isInterpreted !== true && !/[\\/]|\.py$/.test(word)) return undefined
  return first([
    resolve(cwd, word), join(resolve(cwd, word), '__main__.py'),
    // `mcp run server.py:app` names an object in the file.
    resolve(cwd, word.replace(/(?<=\.py):\w+$/, '')),
    ...(isInterpreted === true ? scriptsOf(cwd, word) : []),
  ])
}

/** The files that Python tries for `-m` (working directory, PYTHONPATH), without installed modules. */
const modulesOf = (name: string, folders: readonly string[]): readonly string[] => {
  const path = name.replaceAll('.', '/')
  return folders.flatMap(folder => [join(folder, path, '__main__.py'), join(folder, `${path}.py`)])
}

const pathsOf = (server: ProcessServer, cwd: string): readonly string[] =>
  (processEnvironment(server, process.env)['PYTHONPATH'] ?? '').split(delimiter).filter(path => path !== '')
    .map(path => resolve(cwd, path))

/** Node resolves `server` to `server.js`, and a folder to its main file. */
const scriptsOf = (cwd: string, word: string): readonly string[] => {
  try {
    return [createRequire(join(cwd, 'any')).resolve(resolve(cwd, word))]
  } catch {
    return []
  }
}

const first = async (files: readonly string[]): Promise<Program | undefined> => {
  for (const file of files) {
    // Reading a named pipe would block for ever.
    const isFile = await stat(file).then(found => found.isFile(), () => false)
    const content = isFile ? await readFile(file).catch(() => undefined) : undefined
    if (content !== undefined) return { file, sha256: createHash('sha256').update(content).digest('hex') }
  }
  return undefined
}

/** A package, from the command line and npm's records. */
interface Installed extends DataObject {
  readonly name: string
  readonly version?: string
  /** The digest of the archive (Subresource Integrity). */
  readonly integrity?: string
  /** The package comes from the working directory instead of the registry. */
  readonly from?: 'working directory'
}

/** Whether the launcher fetches a package and runs it. */
const runsPackage = ({ launcher = '', verb = '' }: ServerSubject): boolean =>
  /^(?:npx|bunx|uvx|pipx)$/.test(launcher)
    || /^(?:npm (?:exec|x)|pnpm (?:dlx|exec)|yarn dlx|bun x|uv tool)$/.test(`${launcher} ${verb}`)

/** A package as a command line names it for npx, uvx and the like. */
export interface NamedPackage {
  readonly name: string
  /** Undefined for a range, a tag or no version: another version may run at the next start. */
  readonly exact: string | undefined
  readonly registry: 'npm' | 'PyPI'
  /** The word that names it, with a version. */
  readonly pinned: (version: string) => string
}

export const namedPackage = (subject: ServerSubject): NamedPackage | undefined => {
  const { word, option, launcher = '' } = subject
  if (!runsPackage(subject)) return undefined
  const [, name, extras = '', version] =
    /^((?:@[^/@]+\/)?[^/@:=[\]<>~!^ ]+)(\[[^\]]*\])?(?:(?:@|==)(.*))?$/.exec(word) ?? []
  if (name === undefined) return undefined
  const exact =
    version !== undefined && /^\d[A-Za-z0-9.+-]*$/.test(version) ? version : undefined
  const registry = /^(?:uvx?|pipx)$/.test(launcher) ? 'PyPI' : 'npm'
  const sign = registry === 'PyPI' && (option !== undefined || launcher === 'pipx') ? '==' : '@'
  return { name, exact, registry, pinned: its => `${name}${extras}${sign}${its}` }
}

/** The package that a command line names, with npm's local record of it. Nothing is fetched. */
export const packageOf = async (
  server: ProcessServer, subject: ServerSubject,
): Promise<Installed | undefined> => {
  const { word, launcher = '' } = subject
  const { name, exact } = namedPackage(subject) ?? {}
  if (name === undefined) return undefined
  const named = exact === undefined ? undefined : { name, version: exact }
  if (launcher !== 'npx' && launcher !== 'npm') return named
  const cwd = resolve(server.cwd ?? '.', subject.folder ?? '')
  // npx looks in the working directory first (libnpmexec).
  if (await isBroughtAlong(cwd, name, exact)) {
    return { name, ...named, ...(await noted(await prefixOf(cwd), name)), from: 'working directory' }
  }
  const cache = processEnvironment(server, process.env)['npm_config_cache'] ?? defaultCache()
  return (await noted(join(cache, '_npx', createHash('sha512').update(word).digest('hex')
    .slice(0, 16)), name)) ?? named
}

/** The installed package that contains a file. */
const packageOfFile = async (file: string): Promise<Installed | undefined> => {
  const real = await realpath(file).catch(() => file)
  const [, folder, name] = /^(.*)[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/s.exec(real) ?? []
  return folder === undefined || name === undefined ? undefined : noted(folder, name.replaceAll('\\', '/'))
}

/** npm's record of a folder's `node_modules`. */
const noted = async (folder: string, name: string): Promise<Installed | undefined> => {
  try {
    const lock = parseData(await readFile(join(folder, 'node_modules', '.package-lock.json'), 'utf8'))
    const packages = isRecord(lock) ? field(lock, 'packages') : undefined
    const its = isRecord(packages) ? field(packages, `node_modules/${name}`) : undefined
    const [version, integrity] = isRecord(its) ? [field(its, 'version'), field(its, 'integrity')] : []
    return isString(version) && isString(integrity) ? { name, version, integrity } : undefined
  } catch {
    return undefined
  }
}

/**
 * npm's prefix for a working directory: the nearest ancestor with a `package.json` or `node_modules`, else
 * the directory itself.
 */
const prefixOf = async (from: string): Promise<string> => {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = await Promise.all(['package.json', 'node_modules'].map(name => realpath(join(folder, name))
      .then(() => true, () => false)))
    if (found.includes(true)) return folder
    if (dirname(folder) === folder) return from
  }
}

const defaultCache = (): string =>
  isWindows()
    ? join(process.env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'npm-cache')
    : join(homedir(), '.npm')
