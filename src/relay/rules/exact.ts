import { decimal } from '#relay/protocol/decimal.js'
import { parseJson, type Meter } from '#relay/protocol/json.js'
import { afterScalar, afterSpace, afterString, byte, stringOf } from '#relay/protocol/scan.js'

/** A JSON value without rounding: strings, numbers and literals are texts, numbers of any length. */
export type Exact = string | Exact[] | Map<string, Exact>

/** Deeper than any structured content is. */
const maxDepth = 512

/** @returns undefined if it is not JSON, nested too deep, or has a duplicated key (readers differ there) */
export const readExactly = (text: string, meter: Meter): Exact | undefined => {
  meter.payText(text)
  if (parseJson(text) === undefined) return undefined
  const bytes = Buffer.from(text)
  const open: (Exact[] | Map<string, Exact>)[] = []
  let whole: Exact | undefined
  let key: string | undefined
  /** @returns false for a duplicated key */
  const put = (value: Exact): boolean => {
    const top = open.at(-1)
    if (top === undefined) whole = value
    else if (Array.isArray(top)) top.push(value)
    else {
      const name = key ?? ''
      key = undefined
      if (top.has(name)) return false
      top.set(name, value)
    }
    return true
  }
  for (let at = afterSpace(bytes, 0); at < bytes.length; at = afterSpace(bytes, at)) {
    meter.pay(1)
    const from = at
    const one = bytes[at++] ?? 0
    if (one === byte.comma || one === byte.colon) continue
    if (one === byte.closeObject || one === byte.closeArray) open.pop()
    else if (one === byte.openObject || one === byte.openArray) {
      const container = one === byte.openObject ? new Map<string, Exact>() : []
      if (!put(container) || open.push(container) > maxDepth) return undefined
    } else if (one === byte.quote) {
      at = afterString(bytes, from)
      const value = stringOf(bytes, from, at)
      if (open.at(-1) instanceof Map && key === undefined) key = value
      else if (!put(`"${value}`)) return undefined
    } else {
      at = afterScalar(bytes, from)
      if (!put(decimal(bytes.toString('latin1', from, at)))) return undefined
    }
  }
  return whole
}

/** Equal as JSON values; a null member equals a missing one, because serialisers differ there. */
export const sameData = (a: Exact | undefined, b: Exact | undefined, meter: Meter): boolean => {
  meter.pay(1)
  if (a === undefined || b === undefined || typeof a === 'string' || typeof b === 'string') {
    return (a ?? 'null') === (b ?? 'null')
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((element, index) => sameData(element, b[index], meter))
  }
  if (Array.isArray(a) || Array.isArray(b)) return false
  for (const [name, value] of a) if (!sameData(value, b.get(name), meter)) return false
  for (const [name, value] of b) if (!a.has(name) && value !== 'null') return false
  return true
}
