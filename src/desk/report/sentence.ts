import { reveal } from '#relay/base/plain.js'
import type { About } from '#relay/core/vocabulary.js'
import { ranked } from '#relay/core/danger.js'
import { isRecord, isString, parseData } from '#relay/protocol/unmetered.js'
import { isFrom, type LoggedFinding, type LogRecord } from '#relay/audit/read/record.js'
import type { ChangedText } from './summary.js'

const maxText = 300
/** Names are repeated with every record; longer ones are cut. */
const maxName = 128

/** Whether all characters are printable ASCII. A regular expression takes several times as long. */
const isPlain = (text: string): boolean => {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code < 0x20 || code > 0x7e) return false
  }
  return true
}

/**
 * An untrusted text, safe for a terminal and a page: on one line, cut, with hidden characters made visible.
 * @param max characters that are kept
 */
export const shownText = (text: string, max: number): string => {
  if (text.length <= max && isPlain(text)) return text
  const revealed = reveal(text.slice(0, max + 1))
  if (text.length <= max && revealed.length <= max) return revealed
  return `${revealed.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…`
}

export const shownName = (text: string): string => shownText(text, maxName)

/** Of a definition, more is shown: the end may say what the beginning hides. */
const maxChange = 800

/** Characters of which each stands for one of ASCII, and none is seen: instructions are hidden in them. */
const tags = /[\u{e0020}-\u{e007e}]{2,}/gu

const hiddenIn = (text: string): string =>
  `<hidden: ${Array.from(text, one => String.fromCodePoint((one.codePointAt(0) ?? 0) - 0xe0000)).join('').trim()}>`

/** The texts that changed, as they were and as they are. */
export const changesIn = ({ rule, value, declared }: LoggedFinding): readonly ChangedText[] => {
  if (!rule.startsWith('tool/')) return []
  const [before, after] = [declared, value].map(text => parseData(text ?? ''))
  if (!isRecord(after)) return []
  return Object.entries(after).flatMap(([path, now]) => {
    const was = isRecord(before) ? before[path] : undefined
    if (!isString(now)) return []
    return [{
      path: shownText(path, maxText), before: isString(was) && was !== '' ? shownText(was, maxChange) : undefined,
      after: shownText(now.replace(tags, hiddenIn), maxChange),
    }]
  })
}

/** A finding in words: `result/schema at /result/structuredContent/temperature: must be number`. */
export const findingText = (finding: LoggedFinding): string => {
  const { rule, path, message, mended, value, declared } = finding
  const place = path === '' ? '' : ` at ${shownText(path, maxText)}`
  const change = mended === undefined ? '' : ` (mended: ${shownText(mended, maxText)})`
  const changes = changesIn(finding).map(({ before, after }) =>
    ` (${before === undefined ? '' : `was: ${before}; `}now: ${after})`).join('')
  const got = changes !== '' || value === undefined ? changes : ` (got ${shownText(value, maxText)}` +
    `${declared === undefined ? '' : `, declared ${shownText(declared, maxText)}`})`
  return `${aboutText(finding)}${shownName(rule)}${place}: ${shownText(message, maxText)}${got}${change}`
}

const aboutText = ({ tool, prompt, resource }: About): string =>
  ([['tool', tool], ['prompt', prompt], ['resource', resource]] as const)
    .flatMap(([kind, name]) => (name === undefined ? [] : [`${kind} ${shownName(name)}: `])).join('')

/** Annotations are removed from every tool of an untrusted server: not worth reporting each time. */
export const removedAnnotations = 'tool/annotations'

/** A record in one line: its most dangerous finding, or else why it was written. */
export const sentence = (record: LogRecord): string => {
  const { event, findings, more, reason, error, client, revision, phase, peer, stderr } = record
  const [first] = ranked(findings)
  const others = findings.length - 1 + more
  if (first) return `${findingText(first)}${others > 0 ? ` (and ${others} more)` : ''}`
  const from = peer === undefined ? '' : ` (${shownName(peer)})`
  const word = stderr?.at(-1)
  const lastWord = word === undefined ? '' : `; its last words: ${shownText(word, maxText)}`
  if (reason !== undefined) return `${shownText(reason, maxText)}${from}${lastWord}`
  if (event === 'session/start' && isFrom(record, 'relay')) {
    const parts = [client, revision, peer && `from ${peer}`]
    return parts.flatMap(part => (part === undefined ? [] : [shownName(part)])).join(', ')
  }
  if (error !== undefined) return `error ${error}`
  return phase === undefined ? '' : shownName(phase)
}
