import { isFrom, type LoggedFinding, type LogRecord } from './record.js'
import { shown, shownName } from './shown.js'

const longest = 300

/** A finding in words: `result/schema at /result/structuredContent/temperature: must be number`. */
export const findingText = ({ rule, path, message, mended }: LoggedFinding): string =>
  `${shownName(rule)}${path === '' ? '' : ` at ${shown(path, longest)}`}: ${shown(message, longest)}${mended === undefined ? '' : ` (mended: ${shown(mended, longest)})`}`

/** What there is to say about a record, in one line: its first finding that is news, or else why it was made. */
export const sentence = (record: LogRecord): string => {
  const { event, findings, more, reason, error, client, revision, phase, peer } = record
  // Annotations are taken from every tool of every server that is not trusted: no news.
  const first = findings.find(({ rule }) => rule !== 'tool/annotations') ?? findings[0]
  const others = findings.length - 1 + more
  if (first) return `${findingText(first)}${others > 0 ? ` (and ${others} more)` : ''}`
  if (reason !== undefined) return `${shown(reason, longest)}${peer === undefined ? '' : ` (${shownName(peer)})`}`
  if (event === 'session/start' && isFrom(record, 'relay')) {
    const parts = [client, revision, peer && `from ${peer}`]
    return parts.flatMap(part => (part === undefined ? [] : [shownName(part)])).join(', ')
  }
  if (error !== undefined) return `error ${error}`
  return phase === undefined ? '' : shownName(phase)
}
