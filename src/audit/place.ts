import { existsSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, parse, resolve } from 'node:path'
import { sha256 } from '#canonical.js'
import { CustomsError } from '#errors.js'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The folder for logs without a name of the operator's: `$XDG_STATE_HOME/mcp-customs`, or below
 * `~/.local/state` (XDG Base Directory Specification); on Windows below `%LOCALAPPDATA%`.
 */
export const stateFolder = (environment: Environment, platform = process.platform): string => {
  const { XDG_STATE_HOME: state = '', LOCALAPPDATA: local = '' } = environment
  const home = homedir()
  // The XDG specification: a relative path in the variable is ignored.
  if (isAbsolute(state)) return join(state, 'mcp-customs')
  if (platform !== 'win32') return join(home, '.local', 'state', 'mcp-customs')
  return join(isAbsolute(local) ? local : join(home, 'AppData', 'Local'), 'mcp-customs')
}

/**
 * The folder where this user's relays write.
 * @throws CustomsError CANNOT_AUDIT when none has written yet
 */
export const ownLogs = (environment: Environment): string => {
  const folder = stateFolder(environment)
  if (existsSync(folder)) return folder
  throw new CustomsError(
    'CANNOT_AUDIT', `${folder}: no relay of yours has written a log yet: put one in front of a client's ` +
      'servers with mcp-customs install, or name a log',
  )
}

/** A file name for a server's name. A digest is added where characters were replaced: names stay unique. */
export const fileName = (server: string): string => {
  const safe = server.replace(/[^A-Za-z0-9._-]/g, '_').replace(/^[.-]+/, '_').slice(0, 64)
  return safe === server && safe !== '' ? safe : `${safe}-${sha256(server).slice(0, 8)}`
}

/** The file's real path, so that two paths of one file are recognised. A missing folder is created. */
export const settle = (file: string): string => {
  const folder = dirname(resolve(file))
  makeFolder(folder)
  try {
    return realpathSync(file)
  } catch {
    // The file does not exist yet.
    return join(realpathSync(folder), basename(file))
  }
}

/** One folder at a time: in `/proc`, which takes no folders, Node's own recursion does not end. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another relay may have created it meanwhile.
    if (!existsSync(folder)) throw error
  }
}

/** `audit.ndjson` as `audit.2026-11-21T22-22-13.123Z.ndjson`: no file system refuses such a name. */
export const stamped = (file: string, time: Date, process = ''): string => {
  const { dir, name, ext } = parse(file)
  return join(dir, `${name}.${time.toISOString().replaceAll(':', '-')}${process}${ext}`)
}

const stamp = '\\.\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\d\\.\\d{3}Z'

/** The files with such names, in the order of their times. @param process pattern of what follows the time */
export const filesStamped = (file: string, process = ''): readonly string[] => {
  const { dir, name, ext } = parse(file)
  const shape = new RegExp(`^${stamp}${process}$`)
  const isStamped = (other: string): boolean =>
    other.startsWith(name) && other.endsWith(ext) &&
    shape.test(other.slice(name.length, other.length - ext.length))
  return readdirSync(dir === '' ? '.' : dir).filter(isStamped).sort().map(other => join(dir, other))
}

const ownFileName = new RegExp(`^(.*)${stamp}(-\\d+)(\\.[^.]*)?$`, 's')

/** The files of the log that this file is part of, by their names: oldest first. */
export const filesOfLog = (file: string): readonly string[] => {
  const { dir, base } = parse(file)
  const [, name, process, ext] = ownFileName.exec(base) ?? []
  if (name !== undefined) return filesStamped(join(dir, `${name}${ext ?? ''}`), process)
  return [...filesStamped(file), file]
}

/**
 * A file beside a log whose length in bytes is the number of records that could not be written. It has no
 * content: a file system without free blocks can still set its length.
 */
export const lossNote = (file: string): string => `${file}.lost`

/** How many records are missing in a file, by the note beside it. */
export const lostRecordsIn = (file: string): number =>
  statSync(lossNote(file), { throwIfNoEntry: false })?.size ?? 0
