import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, parse, resolve } from 'node:path'
import { sha256 } from '#relay/base/canonical.js'
import { CustomsError } from '#relay/base/errors.js'
import { expand, makeFolder } from '#relay/base/platform/files.js'
import { formerStateFolders, stateFolder, type Machine } from '#relay/base/platform/machine.js'

/**
 * The folders where this user's relays write, and wrote.
 * @throws CustomsError CANNOT_AUDIT when none has written yet
 */
export const ownLogs = (machine: Machine): readonly string[] => {
  const folders = logFolders(machine).filter(folder => existsSync(folder))
  if (folders.length > 0) return folders
  throw new CustomsError(
    'CANNOT_AUDIT', `${stateFolder(machine)}: no relay of yours has written a log yet: put one in front of a ` +
      'client\'s servers with mcp-customs install, or name a log',
  )
}

/** Former folders only where they exist. */
export const logFolders = (machine: Machine): readonly string[] =>
  [stateFolder(machine), ...formerStateFolders(machine).flatMap(pattern => expand(pattern, machine))]

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
    other.startsWith(name) && other.endsWith(ext)
    && shape.test(other.slice(name.length, other.length - ext.length))
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
