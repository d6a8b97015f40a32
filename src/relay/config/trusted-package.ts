import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isRecord, field, parseData, type Data, type DataObject } from '#relay/protocol/unmetered.js'

/** Options that do not change what runs. Any other may: the registry, the package, the folder, the shell. */
const harmless: ReadonlySet<string> = new Set(['-y', '--yes', '-q', '--quiet', '--silent'])

/**
 * Whether a command runs exactly this package by npx or `npm exec`, and nothing else.
 * @param spec `NAME@VERSION`, the version exact
 * @param environment variables that the operator adds to the process's
 */
export const startsPackage = (
  command: readonly string[],
  spec: string,
  environment: ReadonlyMap<string, string> = new Map(),
): boolean => {
  // npm reads options from the environment too, and Node loads code that NODE_OPTIONS names.
  if ([...environment.keys()].some(name => /^(npm_|node_options$)/i.test(name))) return false
  const run = readRun(command)
  if (run === undefined) return false
  const [first] = run.words
  if (run.packages.length === 0) return first === spec
  // With --package, npx looks the first word up among the commands of all packages. Only the command with
  // the package's own name is sure to belong to this package.
  return run.packages.every(named => named === spec) && first === commandOf(spec)
}

interface Run {
  readonly packages: readonly string[]
  /** After the options. */
  readonly words: readonly string[]
}

/** @returns undefined for another command, or one with an option that may change what runs */
const readRun = ([program, ...rest]: readonly string[]): Run | undefined => {
  // A path to npx may name any program: it can be trusted as a `command`.
  if (program === 'npx' || program === 'npx.cmd') return readOptions(rest, 'npx')
  if (program !== 'npm' && program !== 'npm.cmd') return undefined
  return rest[0] === 'exec' || rest[0] === 'x' ? readOptions(rest.slice(1), 'npm') : undefined
}

/**
 * npx reads no options after the first plain word; `npm exec` reads options anywhere before `--`, and has
 * another meaning for `-p`.
 */
const readOptions = (words: readonly string[], program: 'npx' | 'npm'): Run | undefined => {
  const packages: string[] = []
  const plain: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--') return { packages, words: [...plain, ...words.slice(at + 1)] }
    if (word === '--package' || (word === '-p' && program === 'npx')) {
      packages.push(words[++at] ?? '')
    } else if (word.startsWith('--package=')) {
      packages.push(word.slice('--package='.length))
    } else if (!word.startsWith('-')) {
      if (program === 'npx') return { packages, words: words.slice(at) }
      plain.push(word)
    } else if (!harmless.has(word)) {
      return undefined
    }
  }
  return { packages, words: plain }
}

/** The parts of `NAME@VERSION`. */
export const packageParts = (spec: string): { readonly name: string; readonly version: string } => {
  const at = spec.lastIndexOf('@')
  return { name: spec.slice(0, at), version: spec.slice(at + 1) }
}

/** `@scope/name@1.2.3` → `name` */
const commandOf = (spec: string): string => packageParts(spec).name.replace(/^@[^/]*\//, '')

/**
 * Whether the folder in which npx runs, or one above it, contains the package or redirects npm. npx then runs
 * that instead of the registry's package (libnpmexec: the local package, `.bin` of every folder above, the
 * local tree). In doubt the answer is yes.
 * @param version undefined: any
 */
export const isBroughtAlong = async (
  from: string, name: string, version: string | undefined,
): Promise<boolean> => {
  const isIt = (found: DataObject | undefined, named: Data | undefined) =>
    named === name && (version === undefined || field(found, 'version') === version)
  const seen = new Set<string>()

  /** Whether a `node_modules`, or one within its packages, has the package. */
  const holds = async (folder: string): Promise<boolean> => {
    const real = await realpath(folder).catch(() => undefined)
    if (real === undefined || seen.has(real)) return false
    seen.add(real)
    const names = (await readdir(real).catch(() => [])).filter(one => !one.startsWith('.'))
    const found = await Promise.all(names.map(async one => {
      const own = join(real, one)
      if (one.startsWith('@')) return holds(own)
      const manifest = await objectIn(join(own, 'package.json'))
      return isIt(manifest, field(manifest, 'name')) || holds(join(own, 'node_modules'))
    }))
    return found.includes(true)
  }

  /** Whether npm's hidden lockfile lists the package: npm does not look further then. */
  const isListedIn = async (folder: string): Promise<boolean> => {
    const packages = field(await objectIn(join(folder, '.package-lock.json')), 'packages')
    return isRecord(packages) && Object.entries(packages).some(([path, noted]) => {
      if (!isRecord(noted)) return false
      return isIt(noted, field(noted, 'name') ?? path.split('node_modules/').at(-1))
    })
  }

  const spec = version === undefined ? name : `${name}@${version}`
  let hasPrefix = false
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    const manifest = await objectIn(join(folder, 'package.json'))
    const bin = field(manifest, 'bin')
    if (isIt(manifest, field(manifest, 'name')) || field(manifest, 'workspaces') !== undefined) return true
    if (isRecord(bin) && field(bin, spec) !== undefined) return true
    if (await exists(join(modules, '.bin', spec))) return true
    // The one in the home folder is the operator's own.
    if (folder !== homedir() && (await exists(join(folder, '.npmrc')))) return true
    // npm reads the packages of one folder: the nearest with a package.json or node_modules.
    if (!hasPrefix && ((await isListedIn(modules)) || (await holds(modules)))) return true
    hasPrefix ||= manifest !== undefined || (await exists(modules))
    if (dirname(folder) === folder) return false
  }
}

const exists = (file: string): Promise<boolean> => stat(file).then(() => true, () => false)

const objectIn = async (file: string): Promise<DataObject | undefined> => {
  try {
    const value = parseData(await readFile(file, 'utf8'))
    return isRecord(value) ? value : undefined
  } catch {
    // No manifest here.
    return undefined
  }
}
