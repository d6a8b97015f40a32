import {
  ideographs, joinedEmoji as joinedEmojis, joinsNext, joinsPrevious, selectorSets, variants, viramas,
} from './unicode-data.js'

/** Made at the first use: few texts need it, and it would slow down the start. */
export const lazy = <Made>(make: () => Made): (() => Made) => {
  let made: Made | undefined
  return () => (made ??= make())
}

/** Decodes the digit of each base, by code point; unicode-data.ts describes the encoding. */
const decode = (data: string): ReadonlyMap<number, number> => {
  const digits = new Map<number, number>()
  let codePoint = 0
  let skipped = 0
  for (const token of data) {
    if (token >= 'A' && token <= 'Z') skipped = skipped * 26 + (token.charCodeAt(0) - 64)
    else if (token !== '\n') {
      codePoint += skipped
      digits.set(codePoint++, parseInt(token, 36))
      skipped = 0
    }
  }
  return digits
}

const variantsOf = lazy(() => decode(variants))
const ideographsOf = lazy(() => decode(ideographs))
const joinedSequences = lazy(() => new Set(joinedEmojis.trim().split(/\s/)))

const firstIdeographic = 0xe0100

/** Whether Unicode or the Ideographic Variation Database lists this base with this selector. */
export const isVariation = (base: number, selector: number): boolean => {
  if (selector >= firstIdeographic) return selector - firstIdeographic < (ideographsOf().get(base) ?? 0)
  const set = variantsOf().get(base)
  return set !== undefined && selectorSets[set]?.includes(String.fromCodePoint(selector)) === true
}

/** Whether Unicode recommends the sequence of joined emoji, with any selectors and skin tones. */
export const isJoinedEmoji = (sequence: string): boolean =>
  joinedSequences().has(sequence.replace(/[\u200d\ufe0f\u{1f3fb}-\u{1f3ff}]/gu, ''))

/**
 * Decides whether an invisible character is ordinary text in its context.
 * @returns how many code units from the index on are allowed; 0 for none
 */
export type AllowedInContext = (text: string, index: number) => number

/** Compiled at the first use: classes of whole scripts take milliseconds. */
const lazily = (pattern: string) => lazy(() => new RegExp(pattern, 'vy'))

/** Allows the text that a pattern matches at the index. */
export const where = (pattern: string): AllowedInContext => {
  const compiled = lazily(pattern)
  return (text, index) => {
    const expression = compiled()
    expression.lastIndex = index
    return expression.test(text) ? expression.lastIndex - index : 0
  }
}

/** The match of a pattern at the index, then its capturing groups. */
const groups = (pattern: string) => {
  const compiled = lazily(pattern)
  return (text: string, index: number): readonly string[] => {
    const expression = compiled()
    expression.lastIndex = index
    return expression.exec(text) ?? []
  }
}

const letter = '[\\p{L}--\\p{DI}]'
const mark = '[\\p{M}--\\p{DI}]'
const mongolianSelector = '[\\u180b-\\u180d\\u180f]'

/** Visible characters of these scripts that are not Latin as well. */
const of = (...scripts: readonly string[]) =>
  `[[${scripts.map(script => `\\p{scx=${script}}`).join('')}]--[\\p{DI}\\p{scx=Latin}]]`

/** Not behind another such character: a single one may be allowed, a repeated one is a code. */
const alone = (pattern: string) => `(?<![\\p{DI}--${mongolianSelector}])(?:${pattern})`

/** A selector directly behind a character for which it is registered. */
export const variation: AllowedInContext = (text, index) => {
  const pair = text.codePointAt(index - 2) ?? 0
  const selector = text.codePointAt(index) ?? 0
  if (!isVariation(pair > 0xffff ? pair : text.charCodeAt(index - 1), selector)) return 0
  return selector > 0xffff ? 2 : 1
}

// A digit with a selector and a keycap is an emoji. Without a keycap, one digit with a selector is allowed,
// but not a second one close to it.
const digit = '[#*0-9][\\ufe0e\\ufe0f](?!\\u20e3)'
const repeatsDigit = where(`(?<=${digit}[\\s\\S]{0,31}[#*0-9])[\\ufe0e\\ufe0f](?!\\u20e3)`)

// The flags made of tags that Unicode recommends for interchange (RGI_Emoji_Tag_Sequence): England, Scotland,
// Wales.
const tags = (region: string) =>
  Array.from(region, one => `\\u{e00${one.charCodeAt(0).toString(16)}}`).join('')
const region = `(?:${['gbeng', 'gbsct', 'gbwls'].map(tags).join('|')})\\u{e007f}`
export const flagEmoji = where(`(?<=\\u{1f3f4}\\ufe0f?)${region}\\ufe0f?`)
const flagBase = where(`(?<=\\u{1f3f4})\\ufe0f(?=${region})`)
export const selector: AllowedInContext = (text, index) =>
  repeatsDigit(text, index) > 0 ? 0 : variation(text, index) || flagBase(text, index)

// A character that is an emoji by default needs no selector. No recommended sequence has more than four
// parts.
const pictograph = '(?:[\\p{EPres}--\\p{EMod}]\\p{EMod}?|[\\p{ExtPict}--\\p{EPres}][\\p{EMod}\\ufe0f]?)'
const joinedPictographs = groups(`(?<=(${pictograph}))(?:\\u200d${pictograph}){1,3}`)
const joinedEmoji: AllowedInContext = (text, index) => {
  const [rest = '', first = ''] = joinedPictographs(text, index)
  return isJoinedEmoji(first + rest) ? rest.length : 0
}

// Scripts in which a joiner changes the shape of letters.
const indic = of(
  'Bengali', 'Devanagari', 'Gujarati', 'Gurmukhi', 'Kannada', 'Malayalam', 'Myanmar', 'Oriya', 'Sinhala',
  'Tamil', 'Telugu',
)
const cursive = of(
  'Adlam', 'Arabic', 'Chorasmian', 'Hanifi_Rohingya', 'Mandaic', 'Manichaean', 'Mongolian', 'Nko',
  'Old_Uyghur', 'Phags_Pa', 'Psalter_Pahlavi', 'Sogdian', 'Syriac',
)
const joining = `[${cursive}${indic}]`
/** At a virama of any script, at a Khmer register shifter, before a Hebrew meteg. */
const atMark = (joiner: string) =>
  `(?<=[${viramas}\\u17c9\\u17ca])${joiner}|` +
  `(?<=[${letter}${mark}])${joiner}(?=[${viramas}\\u17c9\\u17ca\\u05bd])`

// The non-joiner is allowed beside these scripts. Writers type it whether or not it has an effect, and
// often twice before a letter. In Malayalam it also follows a joiner at a virama.
export const nonJoiner = where(
  alone(`\\u200c{1,2}(?=${joining})|(?<=${joining})\\u200c|${atMark('\\u200c')}`) +
    '|(?<=\\u0d4d\\u200d)\\u200c',
)

// In cursive scripts, the joiner is allowed if the letter on one side joins, and the character on the other
// side does not. Elsewhere it has no effect.
const behindJoining = `[${joinsNext}][[\\p{M}--\\p{DI}]${mongolianSelector}]*`
const scriptJoiner = where(alone(
  `(?<=${indic})\\u200d|\\u200d(?=${indic})|(?<=${behindJoining})\\u200d(?![${joinsPrevious}])|` +
    `(?<!${behindJoining})\\u200d(?=[${joinsPrevious}])|${atMark('\\u200d')}`,
))
// No part of a joined emoji lies below U+2000, and most of these scripts do.
export const joiner: AllowedInContext = (text, index) =>
  (text.charCodeAt(index - 1) < 0x2000 ? 0 : joinedEmoji(text, index)) || scriptJoiner(text, index)

// Marks the end of a word in scripts without spaces; in Khmer it is often typed twice.
const unspaced = of(
  'Ahom', 'Balinese', 'Javanese', 'Khmer', 'Lao', 'Myanmar', 'New_Tai_Lue', 'Tai_Le', 'Tai_Tham', 'Tai_Viet',
  'Thai', 'Tibetan',
)
export const zeroWidthSpace = where(alone(`(?<=${unspaced})\\u200b{1,2}|\\u200b{1,2}(?=${unspaced})`))

// A soft hyphen is allowed between two letters of scripts that hyphenate words.
const unhyphenated = `[${unspaced}${of('Bopomofo', 'Han', 'Hangul', 'Hebrew', 'Hiragana', 'Katakana')}]`
const parted = `[${letter}--${unhyphenated}]`
export const softHyphen = where(`(?<=${parted}${mark}*)\\xad(?=${parted})`)

// A direction mark is allowed in a line that has a letter of a right-to-left script before or after it,
// with no other mark in between. It is not allowed between two letters or digits, where it has no effect.
const rightToLeft =
  of('Adlam', 'Arabic', 'Hanifi_Rohingya', 'Hebrew', 'Mandaic', 'Nko', 'Samaritan', 'Syriac', 'Thaana')
const direction = '[\\u061c\\u200e\\u200f]'
const other = '[^\\u061c\\u200e\\u200f\\r\\n]'
const between = `(?!(?<=[\\p{L}\\p{N}]${mark}*)${direction}[\\p{L}\\p{N}])`
const directsLetters = where(alone(
  `${between}(?:(?<=${rightToLeft}${other}*)${direction}|${direction}(?=${other}*${rightToLeft}))`,
))
// A direction mark is also allowed near a number, because number formats of Unicode's locale data add one.
// Units and currencies may stand beside the number, but not words of left-to-right scripts.
const directsNumber = where(alone(
  `${between}(?:(?<=\\p{Nd}${direction}?${other}{0,3})${direction}|` +
    `(?:\\u200f[\\u200e\\u061c]|${direction})(?=${other}{0,2}${direction}?${other}{0,5}\\p{Nd}))`,
))
const word = /(?=[a-z]{0,2}[aeiou])[a-z]{3}|[A-Z]{4}|[\u00c0-\u058f\u0900-\u1fff\u2c00-\ud7ff]{3}/
const isAmongWords = (text: string, index: number): boolean =>
  word.test(text.slice(Math.max(0, index - 16), index + 16))
export const bidiMark: AllowedInContext = (text, index) =>
  directsLetters(text, index) || (isAmongWords(text, index) ? 0 : directsNumber(text, index))

// Between two marks that a normal form would reorder without it.
const marks = groups(`(?<=(${mark}))\\u034f(?=(${mark}))`)
export const graphemeJoiner: AllowedInContext = (text, index) => {
  const [, first = '', second = ''] = marks(text, index)
  return (first + second).normalize('NFD') === first + second ? 0 : 1
}

// In a syllable of old Hangul that lacks a letter.
const leading = '[\\u1100-\\u115e\\ua960-\\ua97c]'
const vowel = '[\\u1161-\\u11a7\\ud7b0-\\ud7c6]'
const trailing = '[\\u11a8-\\u11ff\\ud7cb-\\ud7fb]'
export const hangulFiller = where(
  `\\u115f(?=${vowel}|\\u1160${trailing})|(?<=${leading})\\u1160|(?<=\\u115f)\\u1160(?=${trailing})`,
)

// Behind a letter or a space, before the ending of the word.
const mongolian = '[\\p{L}&&\\p{Script=Mongolian}]'
export const vowelSeparator = where(`(?<=${mongolian}${mongolianSelector}?|\\s)\\u180e(?=${mongolian})`)

// A space between braille cells, or the padding of a line in a drawing made of them.
const cell = '[\\u2801-\\u28ff]'
export const brailleBlank =
  where(`(?<=${cell})\\u2800+(?=${cell}|[\\r\\n]|$)|(?<=^|[\\r\\n])\\u2800+(?=${cell})`)

// Quadrats of hieroglyphs (Unicode 17.0, section 11.4): arrangement of two signs, brackets, mirrored and
// blank signs.
const hieroglyph = '[\\u{13000}-\\u{1342f}\\u{13460}-\\u{143ff}]'
const sign = `[\\u{13000}-\\u{1342f}\\u{13441}-\\u{13455}\\u{13460}-\\u{143ff}][\\ufe00-\\ufe06]?\\u{13440}?`
const arranges = '[\\u{13430}-\\u{13436}\\u{13439}-\\u{1343b}]'
const opens = '[\\u{13437}\\u{1343c}\\u{1343e}]'
const closes = '[\\u{13438}\\u{1343d}\\u{1343f}]'
const blank = '[\\u{13441}\\u{13442}]'
export const hieroglyphControl = where(
  `(?<=${sign}${closes}{0,2})${arranges}(?=${opens}{0,2}${sign})|` +
    `${opens}(?=${opens}?${sign})|(?<=${sign}${closes}?)${closes}|` +
    `(?<=${hieroglyph}[\\ufe00-\\ufe06]?)\\u{13440}|` +
    `(?<=${hieroglyph}${arranges}?)${blank}|${blank}(?=${arranges}?${hieroglyph})`,
)

/** Behind a visible character of its own script. */
export const conjoiner = (script: string, codePoint: number): AllowedInContext => {
  const own = `\\u{${codePoint.toString(16)}}`
  return where(`(?<=[${of(script)}--${own}])${own}`)
}
