/**
 * The same function of a text, remembering what it said: for texts that come again and again.
 * @param most so many are remembered, then it begins anew
 * @param longest text that is remembered, in characters
 */
export const remembering = <Value>(say: (text: string) => Value, most: number, longest = Infinity): ((text: string) => Value) => {
  const known = new Map<string, { readonly said: Value }>()
  return text => {
    if (text.length > longest) return say(text)
    const before = known.get(text)
    if (before !== undefined) return before.said
    const said = say(text)
    if (known.size >= most) known.clear()
    known.set(text, { said })
    return said
  }
}
