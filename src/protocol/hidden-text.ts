/** A character that a reader does not see, or that changes how the rest is shown. */
export interface Hidden {
  /** Where it stands, in UTF-16 code units. */
  readonly index: number
  readonly codePoint: number
  readonly name: string
}

/** A row of the table: the code points from `first` to `last`. */
interface Row {
  readonly first: number
  readonly last: number
  readonly name: string
  /** Where the character does its proper work and hides nothing; without it, nowhere. */
  readonly fine?: (text: string, index: number) => boolean
  /** As `fine`, for what works as a sequence: how many code units of it are fine, from the index on. */
  readonly fineFor?: (text: string, index: number) => number
}

/** The first hidden character of a text. */
export const findHidden = (text: string): Hidden | undefined => {
  // One pass of the regular expression engine settles most texts; the table is asked from the first doubt on.
  const doubt = text.search(doubtful)
  return doubt === -1 ? undefined : findFrom(text, doubt)
}

const findFrom = (text: string, from: number): Hidden | undefined => {
  let index = suspectFrom(text, from)
  while (index < text.length) {
    const codePoint = text.codePointAt(index) ?? 0
    const row = rowOf(text.charCodeAt(index), codePoint)
    const length = row === undefined || row.fine?.(text, index) === true ? 1 : (row.fineFor?.(text, index) ?? 0)
    if (row !== undefined && length === 0) return { index, codePoint, name: row.name }
    index = suspectFrom(text, index + length)
  }
  return undefined
}

/** The text without its hidden characters. */
export const stripHidden = (text: string): string => {
  let kept = ''
  let from = 0
  for (let found = findHidden(text); found !== undefined; found = findFrom(text, from)) {
    kept += text.slice(from, found.index)
    from = found.index + (found.codePoint > 0xffff ? 2 : 1)
  }
  return from === 0 ? text : kept + text.slice(from)
}

/** For a message: `U+202E, bidi override`. */
export const nameOf = ({ codePoint, name }: Hidden): string =>
  `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}, ${name}`

/** As far as the neighbours of a character matter, in code units. */
const reach = 8

const before = (text: string, index: number, length = reach): string => text.slice(Math.max(0, index - length), index)
const after = (text: string, index: number, length = reach): string => text.slice(index + 1, index + 1 + length)

/** Made when first needed: classes of whole scripts take milliseconds to read, and most texts need none of them. */
const lazy = (make: () => RegExp): (() => RegExp) => {
  let made: RegExp | undefined
  return () => (made ??= make())
}

/** Next to a character of a kind: `behind` and `ahead` are anchored at it. */
const beside = (behind: () => RegExp, ahead: () => RegExp) => (text: string, index: number) =>
  behind().test(before(text, index)) || ahead().test(after(text, index))

const follows = (behind: RegExp) => (text: string, index: number) => behind.test(before(text, index))

// Scripts in which a joiner decides how letters are shaped.
const joining =
  '\\p{scx=Adlam}\\p{scx=Arabic}\\p{scx=Bengali}\\p{scx=Devanagari}\\p{scx=Gujarati}\\p{scx=Gurmukhi}\\p{scx=Kannada}' +
  '\\p{scx=Khmer}\\p{scx=Malayalam}\\p{scx=Mandaic}\\p{scx=Mongolian}\\p{scx=Myanmar}\\p{scx=Nko}\\p{scx=Oriya}' +
  '\\p{scx=Phags_Pa}\\p{scx=Sinhala}\\p{scx=Syriac}\\p{scx=Tamil}\\p{scx=Telugu}\\p{scx=Tibetan}'
const besideJoining = beside(letter(joining, '$'), letter(joining, '^'))

// Scripts written without spaces, where a zero width space marks the end of a word.
const unspaced =
  '\\p{scx=Balinese}\\p{scx=Javanese}\\p{scx=Khmer}\\p{scx=Lao}\\p{scx=Myanmar}\\p{scx=Thai}\\p{scx=Tibetan}'
const besideUnspaced = beside(letter(unspaced, '$'), letter(unspaced, '^'))

/** One letter, mark or digit of the scripts at the end (`$`) or the beginning (`^`) of a text. */
function letter(scripts: string, at: '^' | '$'): () => RegExp {
  const one = `(?=[\\p{L}\\p{M}\\p{N}])(?!\\p{Default_Ignorable_Code_Point})[${scripts}]`
  return lazy(() => new RegExp(at === '$' ? `${one}$` : `^${one}`, 'u'))
}

// A mark may stand at a space or a full stop, so the letter is looked for a little further on; not past another mark.
const rightToLeft = '[\\p{scx=Hebrew}\\p{scx=Arabic}\\p{scx=Syriac}\\p{scx=Thaana}\\p{scx=Nko}\\p{scx=Adlam}]'
const besideRightToLeft = beside(
  lazy(() => new RegExp(`${rightToLeft}[^\\u200e\\u200f\\u061c]*$`, 'u')),
  lazy(() => new RegExp(`^[^\\u200e\\u200f\\u061c]*?${rightToLeft}`, 'u')),
)

const beforeJoiner = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?$/u
const afterJoiner = /^\p{Extended_Pictographic}/u
const inEmoji = (text: string, index: number) =>
  beforeJoiner.test(before(text, index)) && afterJoiner.test(after(text, index))

// One selector behind something that is seen. A second one, or one behind a space or a Latin letter, selects nothing.
const selectsVariant = follows(/[^\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}A-Za-z]$/u)
const selectsIdeograph = follows(/\p{Ideographic}$/u)

const followsMark = follows(/(?!\p{Default_Ignorable_Code_Point})[\p{M}\p{scx=Hebrew}]$/u)
const besideJamo = beside(() => /[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]$/, () => /^[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]/)

// The flag of a region: a black flag, the region's code in tags, the end tag.
const region = /[\u{e0061}-\u{e007a}]{2}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,3}\u{e007f}/uy
const inFlag = (text: string, index: number): number => {
  if (!text.startsWith('\u{1f3f4}', index - 2)) return 0
  region.lastIndex = index
  return region.test(text) ? region.lastIndex - index : 0
}

/** Every character that counts as hidden. Tab, line feed, carriage return, no-break space and soft hyphen do not. */
const table: readonly Row[] = [
  { first: 0x00, last: 0x08, name: 'control character' },
  { first: 0x0b, last: 0x0c, name: 'control character' },
  { first: 0x0e, last: 0x1a, name: 'control character' },
  { first: 0x1b, last: 0x1b, name: 'terminal escape' },
  { first: 0x1c, last: 0x1f, name: 'control character' },
  { first: 0x7f, last: 0x9f, name: 'control character' },
  { first: 0x034f, last: 0x034f, name: 'combining grapheme joiner', fine: followsMark },
  { first: 0x061c, last: 0x061c, name: 'bidi mark', fine: besideRightToLeft },
  { first: 0x115f, last: 0x1160, name: 'Hangul filler', fine: besideJamo },
  { first: 0x17b4, last: 0x17b5, name: 'invisible vowel' },
  { first: 0x180b, last: 0x180f, name: 'Mongolian selector', fine: follows(/(?=\p{L})\p{Script=Mongolian}$/u) },
  { first: 0x200b, last: 0x200b, name: 'zero width space', fine: besideUnspaced },
  { first: 0x200c, last: 0x200c, name: 'zero width non-joiner', fine: besideJoining },
  {
    first: 0x200d,
    last: 0x200d,
    name: 'zero width joiner',
    fine: (text, index) => inEmoji(text, index) || besideJoining(text, index),
  },
  { first: 0x200e, last: 0x200f, name: 'bidi mark', fine: besideRightToLeft },
  { first: 0x202a, last: 0x202e, name: 'bidi override' },
  { first: 0x2060, last: 0x2060, name: 'word joiner' },
  { first: 0x2061, last: 0x2064, name: 'invisible operator' },
  { first: 0x2065, last: 0x2065, name: 'invisible character' },
  { first: 0x2066, last: 0x2069, name: 'bidi isolate' },
  { first: 0x206a, last: 0x206f, name: 'invisible format character' },
  { first: 0x3164, last: 0x3164, name: 'Hangul filler' },
  { first: 0xfe00, last: 0xfe0f, name: 'variation selector', fine: selectsVariant },
  // Where a file's contents are quoted whole, its byte order mark comes along.
  { first: 0xfeff, last: 0xfeff, name: 'byte order mark', fine: (_, index) => index === 0 },
  { first: 0xffa0, last: 0xffa0, name: 'Hangul filler' },
  { first: 0xfff0, last: 0xfff8, name: 'invisible character' },
  { first: 0xfff9, last: 0xfffb, name: 'interlinear annotation' },
  { first: 0x1bca0, last: 0x1bca3, name: 'shorthand control' },
  { first: 0x1d173, last: 0x1d17a, name: 'musical control' },
  { first: 0xe0000, last: 0xe007f, name: 'tag character', fineFor: inFlag },
  { first: 0xe0080, last: 0xe00ff, name: 'invisible character' },
  { first: 0xe0100, last: 0xe01ef, name: 'variation selector', fine: selectsIdeograph },
  { first: 0xe01f0, last: 0xe0fff, name: 'invisible character' },
]

// Controls, and whatever lies past the Latin letters: where the quick look ends.
const doubtful = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u0300-\uffff]/

/** By UTF-16 code unit: 0 for one that is not in the table, else the number of its row, counted from 1. */
const suspects = new Uint8Array(0x10000)
/** A high surrogate with which code points of the table begin. */
const astral = 0xff
table.forEach(({ first, last }, number) => {
  if (last <= 0xffff) suspects.fill(number + 1, first, last + 1)
  else suspects.fill(astral, highSurrogate(first), highSurrogate(last) + 1)
})

function highSurrogate(codePoint: number): number {
  return 0xd800 + ((codePoint - 0x10000) >> 10)
}

/** The next character that is in the table; the text's length when there is none. Nearly all the time is spent here. */
const suspectFrom = (text: string, from: number): number => {
  let index = from
  while (index < text.length && suspects[text.charCodeAt(index)] === 0) index++
  return index
}

const rowOf = (unit: number, codePoint: number): Row | undefined => {
  const number = suspects[unit] ?? 0
  return number === astral
    ? table.find(({ first, last }) => first <= codePoint && codePoint <= last)
    : table[number - 1]
}
