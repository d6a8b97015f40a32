import { statSync, type Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { cannotRead, codeOf, CustomsError, pathText } from '#relay/base/errors.js'
import { checkpointOf } from '../checkpoint.js'
import { lostRecordsIn } from '../place.js'
import { readLine, type ReadRecord } from './line.js'
import { linesOf } from './lines.js'

/**
 * The log that a file is part of, by the file's first record: a log is named by the hash of its first record,
 * which the first record of each later file repeats.
 */
export const logOf = (first: ReadRecord): string => checkpointOf(first.members)?.log ?? first.hash

/**
 * The logs in files and folders, each as its files in the order of its chain. In folders, and in the folders
 * below them, the files that are named `*.ndjson` and are not empty, or lack records, are read.
 * @throws CustomsError CANNOT_AUDIT when a file or folder cannot be read
 */
export const findLogs = async (paths: readonly string[]): Promise<readonly (readonly string[])[]> => {
  const files = [...new Set((await Promise.all(paths.map(filesIn))).flat())]
  return byLog(files.map(file => ({ file, size: statSync(file).size }))).flatMap(chainsIn)
}

/** The same, where there must be one. @throws CustomsError CANNOT_AUDIT also when there is none */
export const someLogs = async (paths: readonly string[]): Promise<readonly (readonly string[])[]> => {
  const logs = await findLogs(paths)
  if (logs.length === 0) throw new CustomsError('CANNOT_AUDIT', `${paths.join(', ')}: no audit log is there`)
  return logs
}

interface State {
  readonly file: string
  readonly size: number
}

/** A file, with the number of its first record. */
export type LogPart<Of extends State = State> = Of & { readonly seq: number }

/** The files of each log. A file whose first record cannot be read is a log by itself. */
export const byLog = <Of extends State>(files: readonly Of[]): readonly LogPart<Of>[][] => {
  const logs = new Map<string, LogPart<Of>[]>()
  for (const one of files) {
    const first = firstRecord(one.file)
    const log = first ? logOf(first) : one.file
    logs.set(log, [...(logs.get(log) ?? []), { ...one, seq: first?.seq ?? 0 }])
  }
  return [...logs.values()]
}

/** The chain of a log, and each copy of one of its files by itself: a backup is no part of the chain. */
const chainsIn = (parts: readonly LogPart[]): readonly (readonly string[])[] => {
  const sorted = [...parts].sort((a, b) => a.seq - b.seq || b.size - a.size)
  const isCopy = ({ seq }: LogPart, index: number) => sorted[index - 1]?.seq === seq
  return [sorted.filter((part, index) => !isCopy(part, index)), ...sorted.filter(isCopy).map(part => [part])]
    .map(chain => chain.map(({ file }) => file))
}

/** Undefined when it has none behind lines that a crash cut short, or is a pipe. */
export const firstRecord = (file: string): ReadRecord | undefined => {
  // What is read of a pipe is gone: nothing would be left to verify.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) return undefined
  for (const { bytes } of linesOf(file)) {
    const { record, torn } = readLine(bytes)
    if (record !== undefined || torn === undefined) return record
  }
  return undefined
}

const filesIn = async (path: string): Promise<readonly string[]> => {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const files = await logsIn(path)
    const sizes = await Promise.all(files.map(async file => (await stat(file)).size))
    return files.filter((file, index) => sizes[index] !== 0 || lostRecordsIn(file) > 0)
  } catch (cause) {
    throw cannotRead('CANNOT_AUDIT', path, cause)
  }
}

/** A folder of logs has fewer files and folders below it. */
const maxEntries = 100_000

/**
 * The files named `*.ndjson` in a folder and in all folders below it, sorted by name. Links to files that are
 * elsewhere are among them: a log that was put in another place must not go unread.
 * @throws CustomsError CANNOT_AUDIT for a whole disk, or more than `most` files and folders: a search would
 * take minutes
 */
export const logsIn = async (folder: string, most = maxEntries): Promise<readonly string[]> => {
  const [folders, named]: [string[], Dirent[]] = [[folder], []]
  let seen = dirname(resolve(folder)) === resolve(folder) ? Infinity : 0
  for (const one of folders) {
    const entries = await readdir(one, { withFileTypes: true }).catch((cause: unknown) => {
      if (one === folder) throw cause
      // A folder may be removed meanwhile.
      if (codeOf(cause) === 'ENOENT') return []
      throw cannotRead('CANNOT_AUDIT', one, cause)
    })
    seen += entries.length
    if (seen > most) {
      const reason = 'is too much to search: name the folder of the logs'
      throw new CustomsError('CANNOT_AUDIT', `${pathText(folder)}: ${reason}`)
    }
    folders.push(...entries.filter(entry => entry.isDirectory()).map(pathOf))
    named.push(...entries.filter(entry => entry.name.endsWith('.ndjson')))
  }
  const files = named.filter(entry => entry.isFile()).map(pathOf)
  const links = named.filter(entry => entry.isSymbolicLink()).map(pathOf)
  if (links.length === 0) return files.sort()
  const here = new Set(await Promise.all(files.map(file => realpath(file))))
  // A link that leads nowhere is told when it is read.
  const targets = await Promise.all(links.map(link => realpath(link).catch(() => link)))
  return [...files, ...links.filter((_, index) => !here.has(targets[index] ?? ''))].sort()
}

const pathOf = ({ parentPath, name }: Dirent): string => join(parentPath, name)
