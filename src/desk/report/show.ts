import type { Verdict } from '#relay/core/findings.js'
import { columnsOf as measured, type Style } from '#desk/terminal/style.js'
import { explained } from '#relay/rules/index.js'
import type { ReadRecord } from './merge.js'
import { isNoise, type LogRecord } from '#relay/audit/read/record.js'
import { findingText, sentence, shown } from './sentence.js'
import { clockOf, dayOf, duration, size } from './units.js'

/** A record to show; the line number is unknown while a file is followed. */
type Shown = Omit<ReadRecord, 'text' | 'number'> & { readonly number: number | undefined }

interface ShowOptions {
  readonly style: Style
  /** Columns of the terminal; Infinity when lines are not cut. */
  readonly width: number
  /** Adds lines with everything in the record except its payloads. */
  readonly long: boolean
}

/** The widest that these columns get; a longer name shifts the rest of its line. */
const widest = { server: 16, subject: 28 }
/** Characters of a name that are shown. */
const maxName = 64
const maxDetail = 2000

/** Formats records as lines of a table whose columns grow with the names. */
export class Show {
  readonly #options: ShowOptions
  /** Current widths of the columns. */
  #server = 8
  #subject = 20

  constructor(options: ShowOptions) {
    this.#options = options
  }

  /** @returns a line, or several, without the last line end */
  text({ file, number, record }: Shown): string {
    const more = this.#options.long ? details(record, file, number) : []
    return [this.#line(record), ...more.map(line => `    ${line}`)].join('\n')
  }

  #line(record: LogRecord): string {
    const { style, width } = this.#options
    const { time, verdict, ms, request, response } = record
    const event = record.from === 'server' ? `${record.event} (server)` : record.event
    const [server, subject] = [shown(record.server, maxName), shown(record.tool ?? event, maxName)]
    this.#server = Math.max(this.#server, Math.min(columnsOf(server), widest.server))
    this.#subject = Math.max(this.#subject, Math.min(columnsOf(subject), widest.subject))
    const before = `${dayOf(time)} ${clockOf(time)}.${String(time % 1000).padStart(3, '0')}`
    const words = sentence(record)
    const cells = [
      style.dim(before),
      left(server, this.#server),
      record.tool === undefined ? style.dim(left(subject, this.#subject)) : left(subject, this.#subject),
      isNoise(record) ? style.dim(left('noise', 6)) : painted(verdict, style)(left(verdict ?? '', 6)),
      style.dim(right(ms === undefined ? '' : duration(ms), 8)),
      style.dim([request, response].map(bytes => right(bytes === undefined ? '' : size(bytes), 8)).join(' ')),
    ]
    const line = cells.join('  ')
    if (words === '') return line.trimEnd()
    return `${line}  ${width === Infinity ? words : cut(words, Math.max(width - columnsOf(line) - 2, 20))}`
  }
}

/** Nearly all texts are ASCII and need no measuring. */
const columnsOf = (text: string): number => (/^[\x20-\x7e]*$/.test(text) ? text.length : measured(text))

const blank = (text: string, columns: number): string => ' '.repeat(Math.max(0, columns - columnsOf(text)))
const left = (text: string, columns: number): string => text + blank(text, columns)
const right = (text: string, columns: number): string => blank(text, columns) + text

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

const details = (record: LogRecord, file: string, number: number | undefined): readonly string[] => {
  const { client, revision, id, peer, phase, error, reason, ms, serverMs, findings, more, seq } = record
  const { health, server, stderr } = record
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ['event', record.tool === undefined ? undefined : record.event],
    ['asked by', record.from === 'client' ? undefined : record.from],
    ['session', record.session || undefined], ['client', client], ['revision', revision], ['id', id],
    ['phase', phase], ['health', health], ['from', peer], ['error', error], ['reason', reason],
    ['server', serverMs === undefined ? undefined : duration(serverMs)],
    ['relay', ms === undefined ? undefined : duration(Math.max(0, ms - (serverMs ?? 0)))],
  ]
  const given = facts.flatMap(([name, value]) =>
    (value === undefined ? [] : [`${name} ${shown(String(value), maxDetail)}`]))
  const place = `${shown(file, maxDetail)}${number === undefined ? '' : `:${number}`}`
  return [
    given.join(' · '),
    ...stderr.map(line => `stderr: ${shown(line, maxDetail)}`),
    ...findings.map(findingText),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...[...new Map(findings.map(({ rule, tool }) => [rule, tool]))].flatMap(([rule, tool]) => {
      const { means = '', next = [] } = explained(rule, server, record.tool ?? tool) ?? {}
      return means === '' ? [] : [`${rule}: ${means}`, ...next.map(step => `  → ${step}`)]
    }),
    `${place}${seq === undefined ? '' : ` (record ${seq})`}`,
  ].filter(line => line !== '')
}
