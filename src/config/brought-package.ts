import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isObject, member, parseJson, type Json, type JsonObject } from '../protocol/unmetered.js'

/**
 * Whether the folder in which npx is started, or one above it, brings the package along or redirects npm. npx then runs that,
 * not the package that the registry has under the name and version (libnpmexec: the local package, `.bin` of every folder
 * above, the local tree). In doubt the answer is yes.
 * @param version undefined: any
 */
export const isBroughtAlong = async (from: string, name: string, version: string | undefined): Promise<boolean> => {
  const isIt = (found: JsonObject | undefined, named: Json | undefined) =>
    named === name && (version === undefined || member(found, 'version') === version)
  const seen = new Set<string>()

  /** The packages of a `node_modules`, and those that they bring along themselves. */
  const holds = async (folder: string): Promise<boolean> => {
    const real = await realpath(folder).catch(() => undefined)
    if (real === undefined || seen.has(real)) return false
    seen.add(real)
    const names = (await readdir(real).catch(() => [])).filter(one => !one.startsWith('.'))
    const found = await Promise.all(names.map(async one => {
      const own = join(real, one)
      if (one.startsWith('@')) return holds(own)
      const manifest = await objectIn(join(own, 'package.json'))
      return isIt(manifest, member(manifest, 'name')) || holds(join(own, 'node_modules'))
    }))
    return found.includes(true)
  }

  /** npm takes its own notes about a folder for the truth. */
  const notes = async (folder: string): Promise<boolean> => {
    const packages = member(await objectIn(join(folder, '.package-lock.json')), 'packages')
    return isObject(packages) && Object.entries(packages).some(([path, noted]) => {
      const named = isObject(noted) ? (member(noted, 'name') ?? path.split('node_modules/').at(-1)) : undefined
      return isObject(noted) && isIt(noted, named)
    })
  }

  const spec = version === undefined ? name : `${name}@${version}`
  let hasPrefix = false
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    const manifest = await objectIn(join(folder, 'package.json'))
    const bin = member(manifest, 'bin')
    const isOwn = isIt(manifest, member(manifest, 'name')) || (isObject(bin) && member(bin, spec) !== undefined)
    if (isOwn || member(manifest, 'workspaces') !== undefined || (await isThere(join(modules, '.bin', spec)))) return true
    // The file in the home folder is the operator's own.
    if (folder !== homedir() && (await isThere(join(folder, '.npmrc')))) return true
    // npm reads the packages of one folder: the nearest that has a package.json or node_modules.
    if (!hasPrefix && ((await notes(modules)) || (await holds(modules)))) return true
    hasPrefix ||= manifest !== undefined || (await isThere(modules))
    if (dirname(folder) === folder) return false
  }
}

const isThere = (file: string): Promise<boolean> => stat(file).then(() => true, () => false)

const objectIn = async (file: string): Promise<JsonObject | undefined> => {
  try {
    const value = parseJson(await readFile(file, 'utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
