import { ideographs, joinedEmoji, selectorSets, variants } from './unicode-data.js'

/** Made when it is first asked for: few texts need it, and no start should wait for it. */
export const lazy = <Made>(make: () => Made): (() => Made) => {
  let made: Made | undefined
  return () => (made ??= make())
}

/** The digit of each base, by its code point; how they are encoded stands with the data. */
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
const joined = lazy(() => new Set(joinedEmoji.trim().split(/\s/)))

const firstIdeographic = 0xe0100

/** Whether Unicode or the Ideographic Variation Database has this sequence of a base and a selector, given as code points. */
export const isVariation = (base: number, selector: number): boolean => {
  if (selector >= firstIdeographic) return selector - firstIdeographic < (ideographsOf().get(base) ?? 0)
  const set = variantsOf().get(base)
  return set !== undefined && selectorSets[set]?.includes(String.fromCodePoint(selector)) === true
}

/** Whether Unicode recommends this sequence of joined emoji, whatever selectors and skin tones it has. */
export const isJoinedEmoji = (sequence: string): boolean =>
  joined().has(sequence.replace(/[\u200d\ufe0f\u{1f3fb}-\u{1f3ff}]/gu, ''))
