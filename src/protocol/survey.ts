import type { Fault, FrameLimits } from './frame.js'
import { wirePath } from './quote.js'
import { afterScalar, afterSpace, afterString, byte, stringOf } from './scan.js'

/** More are not told. The rest of the message is looked at all the same, for its depth. */
const mostFaults = 20

/** A container that is open where the survey stands. */
interface Open {
  /** The keys so far; undefined in an array. */
  readonly keys: Set<string> | undefined
  /** The key or index of the member at hand. */
  member: string | number
}

/**
 * Looks at every token of a JSON text (one that `JSON.parse` accepts) for what two parsers could read differently,
 * and for nesting that is too deep. Exact and slow: it is asked when there is a doubt.
 */
export const survey = (bytes: Buffer, limits: FrameLimits): readonly Fault[] => {
  const faults: Fault[] = []
  const open: Open[] = []
  const ambiguous = (message: string) => {
    if (faults.length >= mostFaults) return
    const path = wirePath(...open.map(({ member }) => member))
    faults.push({ kind: 'ambiguous', path, message })
  }

  for (let at = afterSpace(bytes, 0); at < bytes.length; at = afterSpace(bytes, at)) {
    const top = open.at(-1)
    const one = bytes[at++] ?? 0
    switch (one) {
      case byte.openObject:
      case byte.openArray:
        if (open.length >= limits.depth) return [...faults, tooDeep(limits)]
        open.push(one === byte.openObject ? { keys: new Set(), member: '' } : { keys: undefined, member: 0 })
        break
      case byte.closeObject:
      case byte.closeArray:
        open.pop()
        break
      case byte.comma:
        if (typeof top?.member === 'number') top.member++
        break
      case byte.colon:
        break
      case byte.quote: {
        const end = afterString(bytes, at - 1)
        const text = stringOf(bytes, at - 1, end)
        at = end
        if (top?.keys !== undefined && bytes[afterSpace(bytes, end)] === byte.colon) {
          top.member = text
          if (top.keys.has(text)) ambiguous('the same key twice')
          top.keys.add(text)
        }
        if (loneSurrogate.test(text)) ambiguous('half of a surrogate pair')
        break
      }
      default: {
        const end = afterScalar(bytes, at)
        const finite = !isNumber(one) || Number.isFinite(Number(bytes.toString('latin1', at - 1, end)))
        if (!finite) ambiguous('a number beyond the range of a double')
        at = end
      }
    }
  }
  return faults
}

/** True of a string that holds half of a surrogate pair: with the `u` flag, whole pairs are one character. */
export const loneSurrogate = /\p{Surrogate}/u

export const tooDeep = (limits: FrameLimits): Fault => ({
  kind: 'size',
  path: '',
  message: `nested deeper than ${limits.depth} levels`,
})

const isNumber = (first: number): boolean => first === 0x2d || (first >= 0x30 && first <= 0x39)
