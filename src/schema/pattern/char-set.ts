/** Code points as sorted, disjoint, inclusive ranges. */
export type CharSet = readonly (readonly [number, number])[]

export const lastCodePoint = 0x10ffff

export const charSet = (...ranges: readonly (readonly [number, number])[]): CharSet => {
  const merged: [number, number][] = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

export const complement = (set: CharSet): CharSet => {
  const rest: [number, number][] = []
  let from = 0
  for (const [low, high] of set) {
    if (low > from) rest.push([from, low - 1])
    from = high + 1
  }
  if (from <= lastCodePoint) rest.push([from, lastCodePoint])
  return rest
}

export const overlap = (a: CharSet, b: CharSet): boolean => {
  for (let [i, j] = [0, 0]; ; ) {
    const [one, other] = [a[i], b[j]]
    if (one === undefined || other === undefined) return false
    if (one[0] <= other[1] && other[0] <= one[1]) return true
    if (one[1] < other[1]) i++
    else j++
  }
}

export const digits = charSet([0x30, 0x39])
export const wordCharacters = charSet([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a])
/** ECMA-262 WhiteSpace and LineTerminator. */
export const spaces = charSet(
  [0x09, 0x0d], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029], [0x202f, 0x202f],
  [0x205f, 0x205f], [0x3000, 0x3000], [0xfeff, 0xfeff],
)
/** What `.` does not match. */
export const lineEnds = charSet([0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029])
