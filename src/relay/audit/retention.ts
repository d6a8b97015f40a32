import { rmSync, statSync } from 'node:fs'
import { lossNote } from './place.js'
import { byLog } from './read/logs.js'

/** Which files are kept. All limits apply together; undefined, and 0 days or bytes, mean no limit. */
export interface Retention {
  /** Files beside the current one. */
  readonly keep?: number | undefined
  /** Days since a file was last written. */
  readonly keepDays?: number | undefined
  /** Bytes of all files together, the current one included. */
  readonly keepBytes?: number | undefined
}

const day = 86_400_000

interface State {
  readonly file: string
  readonly size: number
  readonly modified: number
}

/** The size and time of each of these files that exists. */
export const statesOf = (files: readonly string[]): readonly State[] =>
  files.flatMap(file => {
    const state = statSync(file, { throwIfNoEntry: false })
    return state ? [{ file, size: state.size, modified: state.mtimeMs }] : []
  })

/**
 * Removes the oldest files. The files of one log are removed in the order of their records, not of their
 * names or times, so that no file is taken out of the middle of a chain.
 * @param others all files beside the current one
 * @param isEnded true when the last process that wrote this file's log has ended
 */
export const removeOldest = (
  others: readonly string[], current: string, retention: Retention,
  isEnded: (file: string, modified: number) => boolean,
): void => {
  const { keep = Infinity, keepDays = 0, keepBytes = 0 } = retention
  const since = keepDays > 0 ? Date.now() - keepDays * day : -Infinity
  const states = statesOf(others)
  let left = states.length
  let bytes = [...states, ...statesOf([current])].reduce((sum, { size }) => sum + size, 0)
  const isOver = (written: number) => left > keep || (keepBytes > 0 && bytes > keepBytes) || written < since
  // Usually all files are kept; sizes and times show that before one is opened.
  if (!isOver(Infinity) && states.every(({ modified }) => modified >= since)) return
  for (const { file, size, written } of inOrder(states.filter(one => isEnded(one.file, one.modified)))) {
    if (!isOver(written)) return
    for (const one of [file, lossNote(file)]) rmSync(one, { force: true })
    left -= 1
    bytes -= size
  }
}

/** Oldest first: the files of a log by their records, the logs by when they were last written. */
const inOrder = (states: readonly State[]): readonly (State & { readonly written: number })[] =>
  byLog(states).flatMap(files => {
    let written = -Infinity
    return files.sort((a, b) => a.seq - b.seq)
      .map(one => ({ ...one, written: (written = Math.max(written, one.modified)) }))
  }).sort((a, b) => a.written - b.written)
