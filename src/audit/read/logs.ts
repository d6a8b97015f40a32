import { statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, CustomsError } from '../../errors.js'
import { checkpointOf } from '../checkpoint.js'
import { readLine, type Reading, type ReadRecord } from './line.js'
import { linesOf, type RawLine } from './lines.js'

/**
 * Which log a file is part of, by its first record: a chain that begins there is named by the hash of that record, and each file
 * that rotation begins says it again.
 */
export const logOf = (first: ReadRecord): string => checkpointOf(first.members)?.log ?? first.hash

/**
 * The logs that files and folders hold, each as its files in the order of its chain. Of a folder, and of all folders in it, those
 * that are named `*.ndjson` and are not empty.
 * @throws CustomsError CANNOT_AUDIT when one cannot be read
 */
export const findLogs = async (paths: readonly string[]): Promise<readonly (readonly string[])[]> => {
  const logs = new Map<string, Part[]>()
  for (const file of new Set((await Promise.all(paths.map(filesIn))).flat())) {
    const first = firstRecord(file)
    // Nobody knows what a file belongs to that does not say.
    const log = first ? logOf(first) : file
    logs.set(log, [...(logs.get(log) ?? []), { file, seq: first?.seq ?? 0, size: statSync(file).size }])
  }
  return [...logs.values()].flatMap(chainsIn)
}

interface Part {
  readonly file: string
  /** Of its first record. */
  readonly seq: number
  readonly size: number
}

/** The log, of which each record comes once; and copies of its files, each on its own: a backup beside a log is no part of its chain. */
const chainsIn = (parts: readonly Part[]): readonly (readonly string[])[] => {
  const sorted = [...parts].sort((a, b) => a.seq - b.seq || b.size - a.size)
  const isCopy = ({ seq }: Part, index: number) => sorted[index - 1]?.seq === seq
  return [sorted.filter((part, index) => !isCopy(part, index)), ...sorted.filter(isCopy).map(part => [part])]
    .map(chain => chain.map(({ file }) => file))
}

/** The lines of a log, file by file, each read as a record; no more of them is in memory than one. */
export function* readLog(files: readonly string[]): Generator<RawLine & Reading> {
  for (const file of files) {
    for (const line of linesOf(file)) yield { ...line, ...readLine(line.bytes) }
  }
}

/** Undefined when the first line is none. */
export const firstRecord = (file: string): ReadRecord | undefined => {
  for (const { bytes } of linesOf(file)) return readLine(bytes).record
  return undefined
}

const filesIn = async (path: string): Promise<readonly string[]> => {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const files = await logsIn(path)
    const sizes = await Promise.all(files.map(async file => (await stat(file)).size))
    return files.filter((_, index) => sizes[index] !== 0)
  } catch (cause) {
    throw new CustomsError('CANNOT_AUDIT', `${path}: cannot be read (${codeOf(cause)})`, { cause })
  }
}

/** Of a folder and of all folders in it, the files that are named `*.ndjson`, in the order of their names. */
export const logsIn = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile() && entry.name.endsWith('.ndjson')).map(entry => join(entry.parentPath, entry.name)).sort()
}
