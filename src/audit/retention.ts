import { rmSync, statSync } from 'node:fs'
import { lossNote } from './place.js'
import { logOf, firstRecord } from './read/logs.js'

/** What stays of the files beside the one that is written; whichever limit is reached first holds, and what is undefined or 0 days or bytes is none. */
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

/** Files that are there, with what the system says of them. */
export const statesOf = (files: readonly string[]): readonly State[] =>
  files.flatMap(file => {
    const state = statSync(file, { throwIfNoEntry: false })
    return state ? [{ file, size: state.size, modified: state.mtimeMs }] : []
  })

/**
 * Removes the oldest files. Of one log they go in the order of its records, whatever their names and the clock say: nothing is taken
 * out of the middle of a chain.
 * @param others all files beside the current one
 * @param isEnded whether nobody writes the log of this file any more
 */
export const removeOldest = (others: readonly string[], current: string, retention: Retention, isEnded: (file: string, modified: number) => boolean): void => {
  const { keep = Infinity, keepDays = 0, keepBytes = 0 } = retention
  const since = keepDays > 0 ? Date.now() - keepDays * day : -Infinity
  const states = statesOf(others)
  let left = states.length
  let bytes = [...states, ...statesOf([current])].reduce((sum, { size }) => sum + size, 0)
  const isOver = (written: number) => left > keep || (keepBytes > 0 && bytes > keepBytes) || written < since
  // Nearly always all of them may stay: that is known without a look into any.
  if (!isOver(Infinity) && states.every(({ modified }) => modified >= since)) return
  for (const { file, size, written } of inOrder(states.filter(({ file, modified }) => isEnded(file, modified)))) {
    if (!isOver(written)) return
    for (const one of [file, lossNote(file)]) rmSync(one, { force: true })
    left -= 1
    bytes -= size
  }
}

/** Oldest first: the files of each log by their records, logs among each other by when they were last written. */
const inOrder = (states: readonly State[]): readonly (State & { readonly written: number })[] => {
  const logs = new Map<string, (State & { readonly seq: number })[]>()
  for (const state of states) {
    const first = firstRecord(state.file)
    const log = first ? logOf(first) : state.file
    logs.set(log, [...(logs.get(log) ?? []), { ...state, seq: first?.seq ?? 0 }])
  }
  return [...logs.values()].flatMap(files => {
    let written = -Infinity
    return files.sort((a, b) => a.seq - b.seq).map(one => ({ ...one, written: (written = Math.max(written, one.modified)) }))
  }).sort((a, b) => a.written - b.written)
}
