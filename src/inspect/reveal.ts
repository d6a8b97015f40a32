/**
 * Text of a stranger's, with everything in it to be seen: `<U+200B>` for what has no shape or is a space of another kind, `⏎` for
 * the end of a line, and the code point behind a letter that passes for a Latin one. Fit for a terminal.
 */
export const reveal = (text: string): string =>
  text
    .replace(/\p{L}+/gu, word => (disguise.test(word) ? marked(word) : word))
    .replace(/\r\n|[\n\r]/g, '⏎')
    .replaceAll('\t', '⇥')
    .replace(unseen, codePoint)

/** The same of a text of which each character past ASCII is in question: its like is spelt in another way. */
export const revealAll = (text: string): string => reveal(marked(text))

const marked = (text: string): string => text.replace(/[^\x00-\x7f\p{C}\p{Z}]/gu, letter => letter + codePoint(letter))

const codePoint = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`

// A letter with more marks than these climbs over the lines around it; the blank of Braille has a shape by name alone.
const unseen = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?<=\p{M}{4})\p{M}/gu

/** A word of Latin letters and of letters that are drawn as those are, Cyrillic and Greek ones; with at least one of the latter. */
const disguise = /^(?=.*[^\x00-\x7f])[a-zA-ZаеорсухіјѕԁӏһԛԝАВЕКМНОРСТУХІЈЅοναικρυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]+$/u
