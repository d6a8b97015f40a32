/** Characters as JSON Schema counts them: code points, each of one or two code units. */
export const countOf = (text: string): number => {
  let count = 0
  for (let index = 0; index < text.length; index++, count++) if ((text.codePointAt(index) ?? 0) > 0xffff) index++
  return count
}
