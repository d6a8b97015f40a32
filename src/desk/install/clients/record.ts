import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CustomsError } from '#relay/base/errors.js'
import { isSamePath, pathsOf, stateFolder, type Machine } from '#relay/base/platform/machine.js'
import { readAs, shape } from '#relay/base/own-json.js'
import { isList, isRecord, field, parseData, type Data } from '#relay/protocol/unmetered.js'
import { readFileText, replace } from './save.js'

/** What `install` wrote into an entry, and what stood there before: with its secrets, so the mode is 600. */
export interface Note {
  /** The client's file, as a path without symbolic links. */
  readonly file: string
  readonly path: readonly string[]
  /** The words that were written to start us. An entry with such words counts as wrapped. */
  readonly words: readonly string[]
  /** The entry's text before and after. Absent where it was not as `install` had left it. */
  readonly before?: string | undefined
  readonly after?: string | undefined
}

/** In the state folder, beside the audit logs. */
export const recordFile = (machine: Machine): string => pathsOf(machine).join(stateFolder(machine), 'installed.json')

/** The notes, or none if they cannot be read: uninstall needs little that is not in the entry itself. */
export const readRecord = async (file: string): Promise<readonly Note[]> => {
  const text = (await readFileText(file).catch(() => undefined)) ?? ''
  const record = parseData(text)
  const notes = isRecord(record) ? field(record, 'entries') : undefined
  return isList(notes) ? notes.flatMap(noteOf) : []
}

const { fields, list, text } = shape
const place = fields({ file: text, path: list(text) })
const start = fields({ words: list(text) })
const texts = fields({ before: text, after: text })

/** A note without the texts of its entry serves as well: one that is wrong costs no other. */
const noteOf = (value: Data): readonly Note[] => {
  const at = readAs(place, value)
  return at ? [{ ...at, words: readAs(start, value)?.words ?? [], ...readAs(texts, value) }] : []
}

/** Adds notes; they replace those about the same entries. */
export const addNotes = (file: string, added: readonly Note[]): Promise<void> => rewrite(file, added, added)

export const removeNotes = (file: string, removed: readonly Note[]): Promise<void> =>
  rewrite(file, removed, [])

/** @throws CustomsError BAD_CONFIG */
const rewrite = async (file: string, out: readonly Note[], added: readonly Note[]): Promise<void> => {
  if (out.length === 0) return
  const others = (await readRecord(file)).filter(note => !out.some(one => isSame(one, note)))
  const text = `${JSON.stringify({ version: 1, entries: [...others, ...added] }, undefined, 2)}\n`
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await replace(file, text, { mode: 0o600 }, () => Promise.resolve())
  } catch (cause) {
    throw new CustomsError(
      'BAD_CONFIG', `${file}: cannot be written, and holds what uninstall needs: nothing was changed`,
      { cause },
    )
  }
}

const isSame = (a: Pick<Note, 'file' | 'path'>, b: Pick<Note, 'file' | 'path'>): boolean =>
  isSamePath(a.file, b.file) && JSON.stringify(a.path) === JSON.stringify(b.path)

export const noteFor = (notes: readonly Note[], file: string, path: readonly string[]): Note | undefined =>
  notes.find(note => isSame(note, { file, path }))
