import { isArray, isObject, type Json } from '../protocol/json.js'

/**
 * The size of a value: one for each value and member in it, and one for each 32 characters of text. Counting ends at `most`.
 * @param each is told of each value, so that somebody may put an end to it
 */
export const weigh = (value: Json, most: number, each?: () => void): number => {
  let weight = 0
  const stack: Json[] = [value]
  for (let top = stack.pop(); top !== undefined && weight < most; top = stack.pop()) {
    weight++
    each?.()
    if (typeof top === 'string') weight += top.length >> 5
    else if (isArray(top)) {
      // No more than is counted is put aside: an array may have millions of items.
      const end = Math.min(top.length, Math.ceil(most - weight))
      for (let index = 0; index < end; index++) stack.push(top[index] ?? null)
      weight += top.length - end
    } else if (isObject(top)) {
      for (const key of Object.keys(top)) {
        weight += 1 + (key.length >> 5)
        stack.push(top[key] ?? null)
      }
    }
  }
  return weight
}
