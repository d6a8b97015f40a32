import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isBroughtAlong } from '../config/brought-package.js'
import type { ProcessServer } from '../config/configuration.js'
import { isObject, isString, member, parseJson, type JsonObject } from '../protocol/unmetered.js'
import { processEnvironment } from './process-environment.js'
import type { Subject } from './subject.js'

/** A package, as far as the command line says it, and as npm noted it when it fetched it. */
export interface Installed extends JsonObject {
  readonly name: string
  readonly version?: string
  /** Of its archive (Subresource Integrity). */
  readonly integrity?: string
  /** It is not the registry's: the working directory brings it along. */
  readonly from?: 'working directory'
}

/** Whether what is run is a package that the launcher fetches. */
export const isPackage = ({ launcher = '', verb = '' }: Subject): boolean =>
  /^(?:npx|bunx|uvx|pipx)$/.test(launcher) || /^(?:npm (?:exec|x)|pnpm (?:dlx|exec)|yarn dlx|bun x|uv tool)$/.test(`${launcher} ${verb}`)

/** The package that a command line names; of npm's, what npm has of it on this machine. Nothing is fetched. */
export const packageOf = async (server: ProcessServer, subject: Subject): Promise<Installed | undefined> => {
  const { word, launcher = '' } = subject
  const [, name, version] = /^((?:@[^/@]+\/)?[^/@:=[\]]+)(?:\[[^\]]*\])?(?:(?:@|==)(.*))?$/.exec(word) ?? []
  if (name === undefined) return undefined
  const exact = version !== undefined && /^\d+(?:\.\d+)*(?:[-+.]?[A-Za-z0-9.+-]+)?$/.test(version) ? version : undefined
  const named = exact === undefined ? undefined : { name, version: exact }
  if (launcher !== 'npx' && launcher !== 'npm') return named
  const cwd = resolve(server.cwd ?? '.', subject.folder ?? '')
  // npx looks there first, and takes what is there when it is not told otherwise (libnpmexec).
  if (await isBroughtAlong(cwd, name, exact)) return { name, ...named, ...(await noted(await prefixOf(cwd), name)), from: 'working directory' }
  const cache = processEnvironment(server, process.env)['npm_config_cache'] ?? defaultCache()
  return (await noted(join(cache, '_npx', createHash('sha512').update(word).digest('hex').slice(0, 16)), name)) ?? named
}

/** The package whose file it is. */
export const packageOfFile = async (file: string): Promise<Installed | undefined> => {
  const real = await realpath(file).catch(() => file)
  const [, folder, name] = /^(.*)[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/s.exec(real) ?? []
  return folder === undefined || name === undefined ? undefined : noted(folder, name.replaceAll('\\', '/'))
}

/** What npm wrote about a folder's `node_modules`. */
const noted = async (folder: string, name: string): Promise<Installed | undefined> => {
  try {
    const lock = parseJson(await readFile(join(folder, 'node_modules', '.package-lock.json'), 'utf8'))
    const packages = isObject(lock) ? member(lock, 'packages') : undefined
    const its = isObject(packages) ? member(packages, `node_modules/${name}`) : undefined
    const [version, integrity] = isObject(its) ? [member(its, 'version'), member(its, 'integrity')] : []
    return isString(version) && isString(integrity) ? { name, version, integrity } : undefined
  } catch {
    return undefined
  }
}

/** npm's own folder for what is run there: the nearest with a `package.json` or `node_modules`, or else that itself. */
const prefixOf = async (from: string): Promise<string> => {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = await Promise.all(['package.json', 'node_modules'].map(name => realpath(join(folder, name)).then(() => true, () => false)))
    if (found.includes(true)) return folder
    if (dirname(folder) === folder) return from
  }
}

const defaultCache = (): string =>
  process.platform === 'win32' ? join(process.env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'npm-cache') : join(homedir(), '.npm')
