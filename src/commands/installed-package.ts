import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { ProcessServer } from '../config/configuration.js'
import { isObject, isString, member, parseJson, type JsonObject } from '../protocol/json.js'
import { processEnvironment } from './process-environment.js'
import { subjectOf } from './subject.js'

/** A package, as npm noted when it fetched it. */
interface Installed extends JsonObject {
  readonly name: string
  readonly version: string
  /** Of its archive (Subresource Integrity). */
  readonly integrity: string
}

/**
 * The npm package that a command line runs, where npm has it on this machine; nothing is fetched.
 * @param file the program's own file, where the command names one
 */
export const packageOf = async (server: ProcessServer, file: string | undefined): Promise<Installed | undefined> => {
  if (file !== undefined) return packageOfFile(file)
  const { word, launcher, verb } = subjectOf(server.command)
  if (launcher !== 'npx' && !(launcher === 'npm' && (verb === 'exec' || verb === 'x'))) return undefined
  const [, name, version] = /^((?:@[^/@]+\/)?[^/@:]+)(?:@(.*))?$/.exec(word) ?? []
  if (name === undefined) return undefined
  // npx looks there first, and takes what is there when it is not told otherwise (libnpmexec).
  const local = await noted(await prefixOf(resolve(server.cwd ?? '.')), name)
  if (local !== undefined && (version === undefined || version === local.version)) return local
  const cache = processEnvironment(server, process.env)['npm_config_cache'] ?? defaultCache()
  return noted(join(cache, '_npx', createHash('sha512').update(word).digest('hex').slice(0, 16)), name)
}

/** The package whose file it is. */
const packageOfFile = async (file: string): Promise<Installed | undefined> => {
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
