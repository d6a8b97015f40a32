import type { Verdict } from '../core/findings.js'
import { columnsOf as measured, type Style } from '../inspect/terminal.js'
import type { ReadRecord } from './merge.js'
import type { LogRecord } from './record.js'
import { findingText, sentence } from './sentence.js'
import { shown } from './shown.js'
import { clockOf, dayOf, duration, size } from './units.js'

export interface ShowOptions {
  readonly style: Style
  /** Columns of the terminal; Infinity: lines are not cut. */
  readonly width: number
  /** More lines of each record: all that it holds, but for its payloads. */
  readonly long: boolean
}

/** Columns that a name may take: what is longer shifts the rest of its line. */
const widest = { server: 16, subject: 28 }
/** Characters of a name that are shown. */
const longestName = 64

/** Makes lines of records, one below the other. */
export class Show {
  readonly #options: ShowOptions
  /** So wide were the names so far. */
  #server = 8
  #subject = 20

  constructor(options: ShowOptions) {
    this.#options = options
  }

  /** @returns a line, or several, without the last line end */
  text({ file, number, record }: Omit<ReadRecord, 'text' | 'number'> & { readonly number: number | undefined }): string {
    const { long } = this.#options
    return [this.#line(record), ...(long ? details(record, file, number).map(line => `    ${line}`) : [])].join('\n')
  }

  #line(record: LogRecord): string {
    const { style, width } = this.#options
    const { time, verdict, ms, request, response } = record
    const [server, subject] = [shown(record.server, longestName), shown(record.tool ?? (record.from === 'server' ? `${record.event} (server)` : record.event), longestName)]
    this.#server = Math.max(this.#server, Math.min(columnsOf(server), widest.server))
    this.#subject = Math.max(this.#subject, Math.min(columnsOf(subject), widest.subject))
    const before = `${dayOf(time)} ${clockOf(time)}.${String(time % 1000).padStart(3, '0')}`
    const words = sentence(record)
    const cells = [
      style.dim(before),
      left(server, this.#server),
      record.tool === undefined ? style.dim(left(subject, this.#subject)) : left(subject, this.#subject),
      painted(verdict, style)(left(verdict ?? '', 6)),
      style.dim(right(ms === undefined ? '' : duration(ms), 8)),
      style.dim(`${right(request === undefined ? '' : size(request), 8)} ${right(response === undefined ? '' : size(response), 8)}`),
    ]
    const line = cells.join('  ')
    if (words === '') return line.trimEnd()
    return `${line}  ${width === Infinity ? words : cut(words, Math.max(width - columnsOf(line) - 2, 20))}`
  }
}

/** Nearly all texts are plain, and take no measuring. */
const columnsOf = (text: string): number => (/^[\x20-\x7e]*$/.test(text) ? text.length : measured(text))

const left = (text: string, columns: number): string => text + ' '.repeat(Math.max(0, columns - columnsOf(text)))
const right = (text: string, columns: number): string => ' '.repeat(Math.max(0, columns - columnsOf(text))) + text

const cut = (text: string, columns: number): string => {
  if (columnsOf(text) <= columns) return text
  let kept = ''
  let used = 1
  for (const character of text) {
    used += columnsOf(character)
    if (used > columns) break
    kept += character
  }
  return `${kept}…`
}

const painted = (verdict: Verdict | undefined, style: Style): ((text: string) => string) =>
  verdict === undefined || verdict === 'pass' ? style.dim : verdict === 'block' ? style.bad : style.warn

const longest = 2000

const details = (record: LogRecord, file: string, number: number | undefined): readonly string[] => {
  const { session, client, revision, id, peer, phase, error, reason, ms, serverMs, findings, more, seq, tool, event, from } = record
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ['event', tool === undefined ? undefined : event], ['asked by', from === 'client' ? undefined : from], ['session', session || undefined], ['client', client], ['revision', revision], ['id', id], ['phase', phase], ['from', peer],
    ['error', error], ['reason', reason],
    ['server', serverMs === undefined ? undefined : duration(serverMs)], ['relay', ms === undefined ? undefined : duration(Math.max(0, ms - (serverMs ?? 0)))],
  ]
  const said = facts.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${shown(String(value), longest)}`]))
  return [
    said.join(' · '),
    ...findings.map(findingText),
    ...(more > 0 ? [`and ${more} more`] : []),
    `${shown(file, longest)}${number === undefined ? '' : `:${number}`}${seq === undefined ? '' : ` (record ${seq})`}`,
  ].filter(line => line !== '')
}
