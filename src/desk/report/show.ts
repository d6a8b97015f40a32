import { ranked } from '#relay/core/danger.js'
import type { Verdict } from '#relay/core/vocabulary.js'
import { type Style, wrapText } from '#desk/terminal/style.js'
import { explained } from '#relay/rules/index.js'
import type { MergedRecord } from './merge.js'
import { isNoise, type LogRecord } from '#relay/audit/read/record.js'
import { findingText, sentence, shownText } from './sentence.js'
import { clockOf, dayOf, duration, sizeText } from './units.js'

/** A record to show; the line number is unknown while a file is followed. */
type Shown = Omit<MergedRecord, 'text' | 'number'> & { readonly number: number | undefined }

interface ShowOptions {
  readonly style: Style
  /** Columns of the terminal; Infinity where each record is one line, with its whole time. */
  readonly width: number
  /** Adds lines with everything in the record except its payloads. */
  readonly long: boolean
}

/** Characters of a name that are shown. */
const maxName = 64
const maxDetail = 2000
const widestVerdict = 7

/** Formats records: when, the verdict, of which server and tool, and the finding, whole. */
export class Show {
  /** The day of the record before, on a terminal. */
  #day = ''
  /** Sessions whose noise was told. */
  readonly #noisy = new Set<string>()

  constructor(private readonly options: ShowOptions) {}

  /** @returns a line, or several, without the last line end; undefined for noise that was told before */
  text({ file, number, record }: Shown): string | undefined {
    const { style, width, long } = this.options
    if (isNoise(record) && !long) {
      const of = `${record.server} ${record.session}`
      if (this.#noisy.has(of)) return undefined
      this.#noisy.add(of)
    }
    const isCut = width < Infinity
    const day = dayOf(record.time)
    const heading = [
      ...(isCut && this.#day === '' ? [style.dim('time      verdict  server.tool  finding')] : []),
      ...(isCut && day !== this.#day ? [style.title(day)] : []),
    ]
    this.#day = day
    const milliseconds = String(record.time % 1000).padStart(3, '0')
    const time = isCut ? clockOf(record.time) : `${day} ${clockOf(record.time)}.${milliseconds}`
    const { verdict } = record
    const [word, paint] =
      isNoise(record) ? ['noise', style.dim] : [verdict ?? '', painterFor(verdict, style)]
    const event = record.from === 'server' ? `${record.event} (server)` : record.event
    const subject = record.tool === undefined
      ? `${shownText(record.server, maxName)} ${shownText(event, maxName)}`.trim()
      : `${shownText(record.server, maxName)}.${shownText(record.tool, maxName)}${mergedIn(record)}`
    const told = isNoise(record) && !long ? 'lines on stdout that are no messages (--long shows each)' : sentence(record)
    const said = [subject, told].filter(part => part !== '').join('  ')
    const before = `${style.dim(time)}  ${paint(word.padEnd(widestVerdict))}  `
    const indent = time.length + widestVerdict + 4
    return [
      ...heading,
      before + (isCut ? wrapText(said, Math.max(20, width - indent)).join(`\n${' '.repeat(indent)}`) : said),
      ...(long ? details(record, file, number) : [])
        .flatMap(line => (isCut ? wrapText(line, Math.max(20, width - 4)) : [line]).map(one => `    ${one}`)),
    ].join('\n')
  }
}

/** The tool's name at the merged endpoint. */
const mergedIn = ({ shown, tool }: LogRecord): string =>
  (shown === undefined || shown === tool ? '' : ` (shown as ${shownText(shown, maxName)})`)

const painterFor = (verdict: Verdict | undefined, style: Style): ((text: string) => string) =>
  verdict === undefined || verdict === 'pass' ? style.dim : verdict === 'block' ? style.bad : style.warn

const details = (record: LogRecord, file: string, number: number | undefined): readonly string[] => {
  const { client, revision, id, peer, phase, error, reason, ms, serverMs, findings, more, seq } = record
  const { health, server, stderr, request, response } = record
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ['event', record.tool === undefined ? undefined : record.event],
    ['asked by', record.from === 'client' ? undefined : record.from],
    ['session', record.session || undefined], ['client', client], ['revision', revision], ['id', id],
    ['phase', phase], ['health', health], ['from', peer], ['error', error], ['reason', reason],
    ['server', serverMs === undefined ? undefined : duration(serverMs)],
    ['relay', ms === undefined ? undefined : duration(Math.max(0, ms - (serverMs ?? 0)))],
    ['request', request === undefined ? undefined : sizeText(request)],
    ['response', response === undefined ? undefined : sizeText(response)],
  ]
  const given = facts.flatMap(([name, value]) =>
    (value === undefined ? [] : [`${name} ${shownText(String(value), maxDetail)}`]))
  const place = `${shownText(file, maxDetail)}${number === undefined ? '' : `:${number}`}`
  return [
    given.join(' · '),
    ...(stderr ?? []).map(line => `stderr: ${shownText(line, maxDetail)}`),
    ...ranked(findings).map(findingText),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...[...new Map(findings.map(({ rule, tool }) => [rule, tool]))].flatMap(([rule, tool]) => {
      const { means = '', next = [] } = explained(rule, server, record.tool ?? tool) ?? {}
      return means === '' ? [] : [`${rule}: ${means}`, ...next.map(step => `  → ${step}`)]
    }),
    `${place}${seq === undefined ? '' : ` (record ${seq})`}`,
  ].filter(line => line !== '')
}
