import { diffWordsWithSpace } from 'diff'
import type { Change } from '#relay/lock/compare.js'
import { type ChangeClass, changeClasses } from '#relay/lock/comparison.js'
import { withDigits } from '#relay/lock/digits.js'
import { plainJson } from '#relay/protocol/quote.js'
import {
  isList, isRecord, isString, type Data, field, pointer, unmetered,
} from '#relay/protocol/unmetered.js'
import { argumentPhrases } from './definition.js'
import { plain, reveal, revealAll } from '#relay/base/plain.js'
import { count, fill, type Style, wrapText } from '#desk/terminal/style.js'

/** The differences between two catalogues. */
export interface OfferComparison {
  /** Names of the two. */
  readonly before: string
  readonly after: string
  readonly changes: readonly Change[]
  /** Lists that only one of the two has. */
  readonly incomparable: readonly string[]
}

/** The comparison as JSON; a change omits `before` or `after` where there was nothing. */
export const diffJson = (comparison: OfferComparison): string =>
  `${withDigits(plainJson({ version: 1, ...diffValue(comparison) }))}\n`

export const diffValue = ({ changes, ...comparison }: OfferComparison) => ({
  ...comparison,
  changes: changes.map(({ part, name, path, before, after, ...kind }) => ({
    of: part, name, ...kind, path: pointer(...path), before, after,
  })),
})

/** So many changes are shown; `--json` has them all. */
const maxChanges = 500

/**
 * The comparison as text, grouped by tool, prompt or resource, with hidden characters made visible.
 * @param width in characters
 */
export const diffReport = (
  { before, after, changes, incomparable }: OfferComparison, style: Style, width: number,
): string => {
  const told = changes.slice(0, maxChanges)
  const notes = [
    ...(changes.length > told.length ? [`and ${count(changes.length - told.length, 'more change')}`] : []),
    ...(incomparable.length > 0
      ? [`not compared, for only one of the two has it: ${incomparable.join(', ')}`]
      : []),
  ]
  return [
    style.title(`${plain(before, width)} → ${plain(after, width)}`),
    ...things(told).map(its => thing(its, style, width)),
    [...notes.flatMap(note => wrapText(note, width)).map(style.dim), summary(changes, style, width)].join('\n'),
  ].join('\n\n') + '\n'
}

/** Groups changes of the same element, which are adjacent. */
const things = (changes: readonly Change[]): readonly (readonly [Change, ...Change[]])[] => {
  const all: [Change, ...Change[]][] = []
  for (const change of changes) {
    const last = all.at(-1)
    const isSame =
      last?.[0].part === change.part && last[0].name === change.name && last[0].era === change.era
    if (isSame) last.push(change)
    else all.push([change])
  }
  return all
}

const thing = (changes: readonly [Change, ...Change[]], style: Style, width: number): string => {
  const [first] = changes
  const name = `${first.part} ${shortly(first.name)}`.trim() +
    (first.era === undefined ? '' : ` (as ${first.era} clients see it)`)
  if (first.path.length > 0) {
    return [style.title(`~ ${name}`), ...changes.flatMap(change => changeLines(change, style, width))].join('\n')
  }
  if (first.class === 'renamed' && isString(first.after)) {
    return style.warn(`~ ${name} → ${shortly(first.after)}`) + style.dim('  renamed')
  }
  if (first.after === undefined) return style.bad(`- ${name}`) + style.dim('  removed')
  if (first.before === undefined) {
    return [
      style.good(`+ ${name}`) + style.dim('  added'), ...newcomer(unmetered(first.after), width),
    ].join('\n')
  }
  return [style.title(`~ ${name}`), ...changeLines(first, style, width)].join('\n')
}

/** The arguments and description of an added element. */
const newcomer = (definition: Data, width: number): readonly string[] => {
  const object = isRecord(definition) ? definition : undefined
  const given = argumentPhrases(field(object, 'inputSchema'))
  const description = field(object, 'description')
  return [
    ...(given.length === 0 ? [] : fill(given, width - 2)),
    ...(isString(description) ? wrapText(show(description), width - 2) : []),
  ].map(line => `  ${line}`)
}

const changeLines = (change: Change, style: Style, width: number): readonly string[] => [
  `  ${plain(pointer(...change.path), width) || '(whole)'}  ${style.dim(changeClasses[change.class])}`,
  ...value(change, style, width - 4).map(line => `    ${line}`),
]

const value = (change: Change, style: Style, width: number): readonly string[] => {
  const [before, after] = [unmetered(change.before), unmetered(change.after)]
  const lines = (sign: '-' | '+', value: Data): readonly string[] =>
    wrapText(`${sign} ${show(value)}`, width).map(sign === '-' ? style.bad : style.good)
  if (isList(before) && isList(after)) {
    const [gone, come] = [without(before, after), without(after, before)]
    if (gone.length + come.length === 0) return ['the same, in another order or number']
    return [...gone.flatMap(one => lines('-', one)), ...come.flatMap(one => lines('+', one))]
  }
  const phrases = isLong(before) && isLong(after) ? changedWords(before, after, style) : undefined
  if (phrases !== undefined) return fill(phrases, width)
  return [
    ...(before === undefined ? [] : lines('-', before)), ...(after === undefined ? [] : lines('+', after)),
  ]
}

const isLong = (value: Data | undefined): value is string =>
  isString(value) && value.length > 40 && withDigits(JSON.stringify(value)).startsWith('"')

const without = (list: readonly Data[], other: readonly Data[]): readonly Data[] => {
  const texts = new Set(other.map(element => JSON.stringify(element)))
  return list.filter(element => !texts.has(JSON.stringify(element)))
}

/** So many characters of a value are shown. */
const maxOfValue = 1000

const show = (value: Data): string => {
  const text = withDigits(JSON.stringify(value))
  return text.length <= maxOfValue
    ? reveal(text)
    : `${reveal(text.slice(0, maxOfValue).replace(/[\ud800-\udbff]$/, ''))}… (${text.length} characters)`
}

const shortly = (name: string): string => reveal(name.slice(0, 200))

const summary = (changes: readonly Change[], style: Style, width: number): string => {
  if (changes.length === 0) return style.good('✓ no change')
  const counts = new Map<ChangeClass, number>()
  for (const change of changes) counts.set(change.class, (counts.get(change.class) ?? 0) + 1)
  const words = [...counts].map(([kind, number]) => `${number} ${changeClasses[kind]}`)
  return wrapText(`${count(changes.length, 'change')}: ${words.join(', ')}`, width).join('\n')
}

/**
 * The search gives up after this many changed words. Texts with more changes have little in common, and the
 * search would take long.
 */
const maxEdits = 400

/** How many characters of unchanged text are shown before and after a change. */
const context = 40

/**
 * A text by its changed words: `[-taken out-]`, `{+put in+}`, and a little of what stands around them.
 * @returns phrases, to be broken between lines; undefined when the texts have little in common
 */
export const changedWords = (before: string, after: string, style: Style): readonly string[] | undefined => {
  const pieces = diffWordsWithSpace(before, after, { maxEditLength: maxEdits })
  if (pieces === undefined) return undefined
  const kept =
    pieces.reduce((sum, { added, removed, value }) => (added || removed ? sum : sum + value.length), 0)
  if (kept * 3 < Math.max(before.length, after.length)) return undefined
  // If the texts are equal in NFKC, they look alike, so the code points are shown too.
  const show = before.normalize('NFKC') === after.normalize('NFKC') ? revealAll : reveal
  const phrases = pieces.map(({ added, removed, value }, index) => {
    if (added) return styled(`{+${show(value)}+}`, style.good)
    if (removed) return styled(`[-${show(value)}-]`, style.bad)
    return reveal(shortened(value, index > 0, index + 1 < pieces.length))
  })
  return phrases.join('').split(' ')
}

/** Each word by itself, so that a style does not run over the end of a line. */
const styled = (text: string, style: (text: string) => string): string => text.split(' ').map(style).join(' ')

const shortened = (text: string, hasBefore: boolean, hasAfter: boolean): string => {
  const from = hasBefore ? context : 0
  const to = hasAfter ? context : 0
  return text.length <= from + to + 1
    ? text
    : `${cut(text.slice(0, from))}…${to === 0 ? '' : cut(text.slice(-to))}`
}

/** The cut may have gone through a character. */
const cut = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
