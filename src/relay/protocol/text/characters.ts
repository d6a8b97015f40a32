import {
  bidiMark, brailleBlank, conjoiner, flagEmoji, graphemeJoiner, hangulFiller, hieroglyphControl, joiner,
  nonJoiner, selector, softHyphen, variation, vowelSeparator, where, zeroWidthSpace, type AllowedInContext,
} from './in-context.js'

/** Code points from `first` to `last` that are invisible, or change how other text is shown. */
export interface HiddenCharacters {
  readonly first: number
  readonly last: number
  readonly name: string
  /** Contexts in which they are ordinary text; none by default. */
  readonly allowedInContext?: AllowedInContext
}

/** Invisible marks that join letters, by script (Indic_Syllabic_Category, notes of the names list). */
const conjoiners: readonly HiddenCharacters[] = Object.entries({
  Myanmar: 0x1039, Khmer: 0x17d2, Tai_Tham: 0x1a60, Sundanese: 0x1bab, Tifinagh: 0x2d7f, Meetei_Mayek: 0xaaf6,
  Kharoshthi: 0x10a3f, Brahmi: 0x1107f, Chakma: 0x11133, Dives_Akuru: 0x1193e, Zanabazar_Square: 0x11a47,
  Soyombo: 0x11a99, Masaram_Gondi: 0x11d45, Gunjala_Gondi: 0x11d97, Kawi: 0x11f42,
  Khitan_Small_Script: 0x16fe4, Duployan: 0x1bc9d,
}).map(([script, point]) =>
  ({ first: point, last: point, name: 'conjoining mark', allowedInContext: conjoiner(script, point) }))

const noncharacters: readonly HiddenCharacters[] = Array.from({ length: 17 }, (_, plane) => ({
  first: plane * 0x10000 + 0xfffe, last: plane * 0x10000 + 0xffff, name: 'noncharacter',
}))

/**
 * Controls except tab and line feed, format characters (Cf) except those shown before digits, default
 * ignorable code points, separators of lines and paragraphs, private use, noncharacters, and other characters
 * without a glyph.
 */
export const hiddenCharacters: readonly HiddenCharacters[] = [
  { first: 0x00, last: 0x08, name: 'control character' },
  { first: 0x0b, last: 0x0c, name: 'control character' },
  // On a terminal the following text overwrites the line. Allowed before a line feed and at the end.
  { first: 0x0d, last: 0x0d, name: 'carriage return', allowedInContext: where('\\r+(?=\\n|$)') },
  { first: 0x0e, last: 0x1a, name: 'control character' },
  { first: 0x1b, last: 0x1b, name: 'terminal escape' },
  { first: 0x1c, last: 0x1f, name: 'control character' },
  { first: 0x7f, last: 0x9f, name: 'control character' },
  { first: 0xad, last: 0xad, name: 'soft hyphen', allowedInContext: softHyphen },
  { first: 0x034f, last: 0x034f, name: 'combining grapheme joiner', allowedInContext: graphemeJoiner },
  { first: 0x061c, last: 0x061c, name: 'bidi mark', allowedInContext: bidiMark },
  {
    first: 0x070f, last: 0x070f, name: 'Syriac abbreviation mark',
    allowedInContext: where('\\u070f(?=[\\u0710-\\u074f])'),
  },
  { first: 0x115f, last: 0x1160, name: 'Hangul filler', allowedInContext: hangulFiller },
  {
    first: 0x1680, last: 0x1680, name: 'Ogham space',
    allowedInContext: where('(?<=[\\u1681-\\u169c])\\u1680|\\u1680(?=[\\u1681-\\u169c])'),
  },
  { first: 0x17b4, last: 0x17b5, name: 'invisible vowel' },
  { first: 0x180b, last: 0x180d, name: 'Mongolian selector', allowedInContext: variation },
  { first: 0x180e, last: 0x180e, name: 'Mongolian vowel separator', allowedInContext: vowelSeparator },
  { first: 0x180f, last: 0x180f, name: 'Mongolian selector', allowedInContext: variation },
  { first: 0x200b, last: 0x200b, name: 'zero width space', allowedInContext: zeroWidthSpace },
  { first: 0x200c, last: 0x200c, name: 'zero width non-joiner', allowedInContext: nonJoiner },
  { first: 0x200d, last: 0x200d, name: 'zero width joiner', allowedInContext: joiner },
  { first: 0x200e, last: 0x200f, name: 'bidi mark', allowedInContext: bidiMark },
  { first: 0x2028, last: 0x2029, name: 'line separator' },
  { first: 0x202a, last: 0x202e, name: 'bidi override' },
  { first: 0x2060, last: 0x2060, name: 'word joiner' },
  { first: 0x2061, last: 0x2064, name: 'invisible operator' },
  { first: 0x2065, last: 0x2065, name: 'invisible character' },
  { first: 0x2066, last: 0x2069, name: 'bidi isolate' },
  { first: 0x206a, last: 0x206f, name: 'invisible format character' },
  { first: 0x2800, last: 0x2800, name: 'braille blank', allowedInContext: brailleBlank },
  { first: 0x3164, last: 0x3164, name: 'Hangul filler' },
  { first: 0xe000, last: 0xf8ff, name: 'private use character' },
  { first: 0xfdd0, last: 0xfdef, name: 'noncharacter' },
  { first: 0xfe00, last: 0xfe0f, name: 'variation selector', allowedInContext: selector },
  // At the beginning: the contents of a whole file keep their byte order mark.
  {
    first: 0xfeff, last: 0xfeff, name: 'byte order mark',
    allowedInContext: (_, index) => (index === 0 ? 1 : 0),
  },
  { first: 0xffa0, last: 0xffa0, name: 'Hangul filler' },
  { first: 0xfff0, last: 0xfff8, name: 'invisible character' },
  { first: 0xfff9, last: 0xfffb, name: 'interlinear annotation' },
  { first: 0xfffc, last: 0xfffc, name: 'object replacement character' },
  { first: 0x13430, last: 0x13442, name: 'hieroglyph format control', allowedInContext: hieroglyphControl },
  { first: 0x1bca0, last: 0x1bca3, name: 'shorthand control' },
  // A note without a head; visible with a stem.
  {
    first: 0x1d159, last: 0x1d159, name: 'musical blank',
    allowedInContext: where('\\u{1d159}(?=[\\u{1d165}-\\u{1d172}])'),
  },
  { first: 0x1d173, last: 0x1d17a, name: 'musical control' },
  { first: 0xe0000, last: 0xe007f, name: 'tag character', allowedInContext: flagEmoji },
  { first: 0xe0080, last: 0xe00ff, name: 'invisible character' },
  { first: 0xe0100, last: 0xe01ef, name: 'variation selector', allowedInContext: variation },
  { first: 0xe01f0, last: 0xe0fff, name: 'invisible character' },
  { first: 0xf0000, last: 0xffffd, name: 'private use character' },
  { first: 0x100000, last: 0x10fffd, name: 'private use character' },
  ...conjoiners,
  ...noncharacters,
]
