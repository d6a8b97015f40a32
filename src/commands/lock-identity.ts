import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, join, resolve } from 'node:path'
import type { ProcessServer, ServerConfiguration } from '../config/configuration.js'
import { isSame } from '../lock/compare.js'
import { isObject, member, type Json, type JsonObject } from '../protocol/unmetered.js'
import { isPackage, packageOf, packageOfFile } from './installed-package.js'
import { processEnvironment } from './process-environment.js'
import { targetOf } from './server-target.js'
import { isLauncher, subjectOf, type Subject } from './subject.js'

/**
 * Who a server is, in the operator's words: its command line or its URL, without secrets; the digest of the program where that is a
 * file of its own, or of the image that is named by it; and its package, where it is one. What it says of itself proves nothing.
 */
export const identityOf = async (server: ServerConfiguration): Promise<JsonObject> => {
  if ('url' in server) return { url: targetOf(server) }
  const subject = subjectOf(server.command)
  const command = targetOf(server)
  if (isPackage(subject)) {
    const its = await packageOf(server, subject)
    return { command, ...(its && { package: its }) }
  }
  const [, image] = /@sha256:([0-9a-f]{64})$/.exec(subject.word) ?? []
  if (image !== undefined) return { command, sha256: image }
  const { file, sha256 } = (await programOf(server, subject)) ?? {}
  const installed = file === undefined ? undefined : await packageOfFile(file)
  return { command, ...(sha256 !== undefined && { sha256 }), ...(installed && { package: installed }) }
}

/** What to do about an identity that says nothing of the program's bytes; undefined where it does. */
export const adviceOn = (server: ServerConfiguration, identity: JsonObject): string | undefined => {
  const its = member(identity, 'package')
  if ('url' in server || member(identity, 'sha256') !== undefined) return undefined
  if (isObject(its) && member(its, 'from') !== undefined) return 'the working directory brings the package along: start it in another folder'
  if (isObject(its) && member(its, 'integrity') !== undefined) return undefined
  const subject = subjectOf(server.command)
  if (isPackage(subject)) return its === undefined ? 'name the exact version of the package' : 'its version is all that is held'
  return /^(?:docker|podman)$/.test(subject.launcher ?? '') ? 'name the image by its digest (IMAGE@sha256:...)' : 'name the program by its path'
}

/**
 * Who it is now, to be held against what was accepted. That nothing is known of a package is no change: that depends on the machine,
 * and on whether npx has fetched it yet.
 */
export const comparableIdentity = (accepted: JsonObject, { package: its, ...now }: JsonObject): JsonObject => {
  const known = member(accepted, 'package')
  const isBrought = isObject(its) && member(its, 'from') !== undefined
  if (known === undefined) return isBrought ? { ...now, package: its } : now
  return { ...now, package: its === undefined || (!isBrought && saysLess(its, known)) ? known : its }
}

/** Of two packages of one name and version, the integrity of one is not known. */
const saysLess = (one: Json, other: Json): boolean => {
  if (!isObject(one) || !isObject(other)) return false
  const isKnown = [one, other].every(each => member(each, 'integrity') !== undefined)
  return !isKnown && ['name', 'version', 'from'].every(key => member(one, key) === member(other, key))
}

/** Who it is now, to be accepted: what was known of its package stays where it is not known here. */
export const settledIdentity = (accepted: JsonObject, now: JsonObject): JsonObject => {
  const [known, its] = [member(accepted, 'package'), member(now, 'package')]
  if (!isSame(member(accepted, 'command'), member(now, 'command')) || !isObject(known)) return now
  return its === undefined || (saysLess(its, known) && member(known, 'integrity') !== undefined) ? { ...now, package: known } : now
}

interface Program {
  readonly file: string
  readonly sha256: string
}

/** The program's own file, where there is one. An interpreter is none: it is brought up to date without anybody's asking. */
const programOf = async (server: ProcessServer, { word, option, folder, launcher, isInterpreted }: Subject): Promise<Program | undefined> => {
  const cwd = resolve(server.cwd ?? '.', folder ?? '')
  if (launcher === undefined && isLauncher(word)) return undefined
  if (option === '-m') return first(modulesOf(word, [cwd, ...pathsOf(server, cwd)]))
  // A word that is looked up in PATH is no file of its own.
  if (isInterpreted !== true && !/[\\/]|\.py$/.test(word)) return undefined
  return first([resolve(cwd, word), join(resolve(cwd, word), '__main__.py'), ...(isInterpreted === true ? scriptsOf(cwd, word) : [])])
}

/** Where Python looks for `-m` (the working directory, PYTHONPATH); what was installed is not looked for. */
const modulesOf = (name: string, folders: readonly string[]): readonly string[] => {
  const path = name.replaceAll('.', '/')
  return folders.flatMap(folder => [join(folder, path, '__main__.py'), join(folder, `${path}.py`)])
}

const pathsOf = (server: ProcessServer, cwd: string): readonly string[] =>
  (processEnvironment(server, process.env)['PYTHONPATH'] ?? '').split(delimiter).filter(path => path !== '').map(path => resolve(cwd, path))

/** Node finds `server` in `server.js`, and a folder's main file. */
const scriptsOf = (cwd: string, word: string): readonly string[] => {
  try {
    return [createRequire(join(cwd, 'any')).resolve(resolve(cwd, word))]
  } catch {
    return []
  }
}

const first = async (files: readonly string[]): Promise<Program | undefined> => {
  for (const file of files) {
    // A pipe in the file's place would hold us up for ever.
    const isFile = await stat(file).then(found => found.isFile(), () => false)
    const content = isFile ? await readFile(file).catch(() => undefined) : undefined
    if (content !== undefined) return { file, sha256: createHash('sha256').update(content).digest('hex') }
  }
  return undefined
}
