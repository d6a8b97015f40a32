// An invisible character that is allowed in its context can still encode a secret where a text has many of
// them: characters that come and go, or change, between the same letters are such a code.

/** By UTF-16 code unit: 0 for a visible character, else the kind of the invisible one. */
const unseenKinds = new Uint8Array(0x10000)
const selector = 1
/** Optional for a writer: soft hyphen, bidi marks, Mongolian separator, zero width spaces and joiners. */
const optional = 2
for (const [kind, first, last] of [
  [selector, 0x180b, 0x180d], [selector, 0x180f, 0x180f], [selector, 0xfe00, 0xfe0f],
  [optional, 0xad, 0xad], [optional, 0x61c, 0x61c], [optional, 0x180e, 0x180e], [optional, 0x200b, 0x200f],
] as const) unseenKinds.fill(kind, first, last + 1)

const isAstralSelector = (codePoint: number): boolean => codePoint >= 0xe0100 && codePoint <= 0xe01ef

const letter = /[\p{L}\p{M}]/u
/** Whether a code unit is a letter: 0 not known yet, 1 no, 2 yes. */
const letterUnits = new Uint8Array(0x10000)

const isLetter = (codePoint: number): boolean => {
  if (codePoint > 0xffff) return letter.test(String.fromCodePoint(codePoint))
  const known = (letterUnits[codePoint] ||= letter.test(String.fromCharCode(codePoint)) ? 2 : 1)
  return known === 2
}

/** Allowed changes at equal places of one text; above that, one for every eight invisible characters. */
const maxChanges = 16
const oneIn = 8

/** Marks that are allowed in a window of letters: words of any script have fewer. */
const maxInWindow = 24
const windowLetters = 60

const kindOf = (codePoint: number): number =>
  codePoint > 0xffff ? (isAstralSelector(codePoint) ? selector : 0) : (unseenKinds[codePoint] ?? 0)

/** The code units of a text, because an array of numbers is read several times as fast as a string. */
const unitsOf = (text: string): Uint16Array => {
  const bytes = Buffer.allocUnsafeSlow(2 * text.length)
  bytes.write(text, 'utf16le')
  return new Uint16Array(bytes.buffer, 0, text.length)
}

const pointAt = (units: Uint16Array, at: number): number => {
  const high = units[at] ?? 0
  if (high < 0xd800 || high > 0xdbff || at + 1 >= units.length) return high
  const low = units[at + 1] ?? 0
  return low >= 0xdc00 && low <= 0xdfff ? (high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000 : high
}

const widthOf = (codePoint: number): number => (codePoint > 0xffff ? 2 : 1)

/** @returns the end of the characters of a kind that begin at the index */
const past = (units: Uint16Array, from: number, kind: number): number => {
  let at = from
  while (at < units.length) {
    const codePoint = pointAt(units, at)
    if (kindOf(codePoint) !== kind) break
    at += widthOf(codePoint)
  }
  return at
}

const bitOf = (before: number, one: number): number => (Math.imul(before, 31) ^ one) & 0xffff

/**
 * Two hashed sets, read before the exact comparison. A place is a character with the characters around it.
 * For nearly every place, a 0 here shows that no equal place of the text has an invisible character.
 */
interface Filters {
  /** The index is a hash of the next two visible characters after the invisible marks' own character. */
  readonly marks: Uint8Array
  /** By the character that has selectors behind it. */
  readonly selectors: Uint8Array
}

const filtersOf = (units: Uint16Array): Filters => {
  const [marks, selectors] = [new Uint8Array(0x10000), new Uint8Array(0x10000)]
  // The last visible character; whether marks follow the one before it; whether marks follow it.
  let [last, marked, isMarked] = [0, false, false]
  for (let at = 0; at < units.length;) {
    const codePoint = pointAt(units, at)
    const kind = kindOf(codePoint)
    at += widthOf(codePoint)
    if (kind === selector) selectors[last & 0xffff] = 1
    else if (kind === optional) isMarked = true
    else {
      if (marked) marks[bitOf(last, codePoint)] = 1
      marked = isMarked
      isMarked = false
      last = codePoint
    }
  }
  return { marks, selectors }
}

/** @returns the index at which a code is detected; undefined when there is none */
export const findVaried = (text: string): number | undefined => {
  const units = unitsOf(text)
  const filters = filtersOf(units)
  const forms = new Map<string, string>()
  const recent: number[] = []
  let [changes, unseen, letters, textStyles, emojiStyles] = [0, 0, 0, 0, 0]
  const differs = (place: string, form: string): boolean => {
    if (form !== '') unseen++
    const known = forms.get(place)
    forms.set(place, form)
    return known !== undefined && known !== form && ++changes > maxChanges && changes * oneIn > unseen
  }
  // The current character and the three before it, as code points, and the marks behind b and c.
  let [a, b, c, one] = [0, 0, 0, 0]
  let [behindB, behindC, marks] = ['', '', '']
  for (let at = 0; at < units.length;) {
    const codePoint = pointAt(units, at)
    const index = at
    at += widthOf(codePoint)
    if (kindOf(codePoint) !== 0) continue
    a = b
    b = c
    c = one
    one = codePoint
    behindB = behindC
    behindC = marks
    marks = ''
    let selected = ''
    if (at < units.length && kindOf(pointAt(units, at)) !== 0) {
      const selectedEnd = past(units, at, selector)
      selected = text.slice(at, selectedEnd)
      at = past(units, selectedEnd, optional)
      marks = text.slice(selectedEnd, at)
      if (selected === '\ufe0e') textStyles++
      if (selected === '\ufe0f') emojiStyles++
    }
    const isCode =
      (filters.marks[bitOf(c, one)] === 1 && differs(String.fromCodePoint(a, b, 32, c, one), behindB))
      || (filters.selectors[one & 0xffff] === 1 && differs(selectorPlace(c, one), selected))
      || (textStyles > maxChanges && emojiStyles > maxChanges)
    if (isCode) return index
    if (!isLetter(one)) continue
    letters++
    if (marks === '') continue
    recent.push(letters)
    const isDense = recent.length > maxInWindow && letters - (recent.shift() ?? 0) < windowLetters
    if (isDense) return index + widthOf(one) + selected.length
  }
  return undefined
}

/** In Mongolian the letter before decides which form a letter has. */
const selectorPlace = (before: number, one: number): string =>
  one >= 0x1800 && one <= 0x18af ? String.fromCodePoint(before, 32, one) : String.fromCodePoint(one)
