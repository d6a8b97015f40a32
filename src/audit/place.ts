import { existsSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, parse, resolve } from 'node:path'
import { sha256 } from '../canonical.js'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The folder for logs that nobody named: `$XDG_STATE_HOME/mcp-customs`, or below `~/.local/state` (XDG Base Directory
 * Specification); on Windows below `%LOCALAPPDATA%`.
 */
export const stateFolder = (environment: Environment, platform: NodeJS.Platform = process.platform): string => {
  const { XDG_STATE_HOME: state = '', LOCALAPPDATA: local = '' } = environment
  const home = homedir()
  // The specification: a relative path in the variable counts for nothing.
  if (isAbsolute(state)) return join(state, 'mcp-customs')
  if (platform !== 'win32') return join(home, '.local', 'state', 'mcp-customs')
  return join(isAbsolute(local) ? local : join(home, 'AppData', 'Local'), 'mcp-customs')
}

/** A name for a file, from a name for a server; two servers have two names even where not all of it can be kept. */
export const fileName = (server: string): string => {
  const safe = server.replace(/[^A-Za-z0-9._-]/g, '_').replace(/^[.-]+/, '_').slice(0, 64)
  return safe === server && safe !== '' ? safe : `${safe}-${sha256(server).slice(0, 8)}`
}

/** The file's one true path, so that two names of it are not taken for two files; its folder is made where it is missing. */
export const settle = (file: string): string => {
  const folder = dirname(resolve(file))
  makeFolder(folder)
  try {
    return realpathSync(file)
  } catch {
    return join(realpathSync(folder), basename(file))
  }
}

/** Step by step: below a folder like `/proc`, that takes none, Node's own recursion never comes to an end. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another relay may have been quicker.
    if (!existsSync(folder)) throw error
  }
}

/** `audit.ndjson` as `audit.2026-11-21T22-22-13.123Z.ndjson`: an ISO 8601 time that every file system takes in a name. */
export const stamped = (file: string, time: Date, process = ''): string => {
  const { dir, name, ext } = parse(file)
  return join(dir, `${name}.${time.toISOString().replaceAll(':', '-')}${process}${ext}`)
}

/** The files that are named so for this one, oldest first. @param process what stands behind the time: a pattern */
export const filesStamped = (file: string, process = ''): readonly string[] => {
  const { dir, name, ext } = parse(file)
  const shape = new RegExp(`^\\.\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\d\\.\\d{3}Z${process}$`)
  const isOne = (other: string): boolean => other.startsWith(name) && other.endsWith(ext) && shape.test(other.slice(name.length, other.length - ext.length))
  return readdirSync(dir === '' ? '.' : dir).filter(isOne).sort().map(other => join(dir, other))
}

/** The files that hold the log of which this is one, as far as names tell: oldest first. Of one that others were rotated out of, those; of a process's own, its own. */
export const filesOfLog = (file: string): readonly string[] => {
  const { dir, base } = parse(file)
  const [, name, process, ext] = /^(.*)\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(-\d+)(\.[^.]*)?$/s.exec(base) ?? []
  if (name !== undefined) return filesStamped(join(dir, `${name}${ext ?? ''}`), process)
  return [...filesStamped(file), file]
}

/** Beside a log: as long, in bytes, as the number of records that could not be written. A full disk has room for a hole. */
export const lossNote = (file: string): string => `${file}.lost`

/** How many records are missing in a file that does not say so, as its writer noted. */
export const notedLost = (file: string): number => statSync(lossNote(file), { throwIfNoEntry: false })?.size ?? 0
