import * as fs from 'node:fs'
import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { codeOf } from '../errors.js'
import { isWindows, pathsOf, type Machine } from './machine.js'

/**
 * Windows does not replace a file that any process has open: another relay that reads it, a virus scanner,
 * the search index. They close it soon (as graceful-fs and write-file-atomic take for granted).
 */
const refusals: ReadonlySet<string> = new Set(['EPERM', 'EACCES', 'EBUSY'])
const longestPauseMs = 500
/** Longest time in all, in milliseconds. */
const patienceMs = 3000

/** Whether an operation may have failed because a process has the file open; on Windows only. */
export const isHeldOpen = (error: unknown, platform: NodeJS.Platform = process.platform): boolean =>
  isWindows(platform) && refusals.has(codeOf(error))

/**
 * Renames a file over another one, and tries again for 3 s where Windows refuses it for a moment.
 * @throws the system's error; the new file is where it was
 */
export const replaceFile = async (
  from: string, to: string,
  { platform = process.platform, move = rename, wait = (ms: number): Promise<unknown> => pause(ms) } = {},
): Promise<void> => {
  for (let waited = 0, ms = 10; ; waited += ms, ms = Math.min(2 * ms, longestPauseMs)) {
    try {
      return await move(from, to)
    } catch (error) {
      if (!isHeldOpen(error, platform) || waited >= patienceMs) throw error
      await wait(ms)
    }
  }
}

/**
 * One folder at a time: in `/proc`, which takes no folders, Node's own recursion does not end. A drive that
 * is not there is its own parent.
 * @throws the system's error
 */
export const makeFolder = (
  folder: string, { existsSync, mkdirSync }: Pick<typeof fs, 'existsSync' | 'mkdirSync'> = fs,
  parentOf: (path: string) => string = dirname,
): void => {
  if (existsSync(folder)) return
  const parent = parentOf(folder)
  if (parent !== folder) makeFolder(parent, { existsSync, mkdirSync }, parentOf)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another relay may have created it meanwhile.
    if (!existsSync(folder)) throw error
  }
}

/** The paths that a pattern stands for: a `*` in it is any part of one folder's name. */
export const expand = (pattern: string, machine: Machine): readonly string[] => {
  const { sep } = pathsOf(machine)
  const parts = pattern.split(sep)
  const star = parts.findIndex(part => part.includes('*'))
  if (star < 0) return [pattern]
  const folder = parts.slice(0, star).join(sep)
  const [before = '', after = ''] = (parts[star] ?? '').split('*')
  const fitting = namesIn(folder).filter(name => name.startsWith(before) && name.endsWith(after))
  return fitting.map(name => [folder, name, ...parts.slice(star + 1)].join(sep))
}

/** What a folder holds; nothing where it cannot be read. */
export const namesIn = (folder: string): readonly string[] => {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}
