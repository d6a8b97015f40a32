import { randomUUID } from 'node:crypto'
import { isRecord, field, parseData, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { decimal } from '#relay/protocol/decimal.js'
import { afterScalar, afterString, byte } from '#relay/protocol/scan.js'

/**
 * Marks the digits of a number that a double cannot represent. It is random: no string of a server has it.
 */
const mark = `${randomUUID()} `
const marked = new RegExp(`"${mark}([^"]*)"`, 'g')

/** A double represents every number of up to 15 digits without an exponent. */
const suspect = /[0-9.]{16}|[0-9][eE]/

/**
 * The JSON text with each number that a double cannot represent as a marked string, so that such numbers are
 * compared digit by digit after parsing.
 * @returns undefined if there is no such number
 */
export const markLongNumbers = (bytes: Buffer): Buffer | undefined => {
  if (!suspect.test(bytes.toString('latin1'))) return undefined
  const parts: Buffer[] = []
  let kept = 0
  for (let at = 0; at < bytes.length;) {
    const one = bytes[at] ?? 0
    if (one === byte.quote) at = afterString(bytes, at)
    else if (one !== 0x2d && (one < 0x30 || one > 0x39)) at++
    else {
      const end = afterScalar(bytes, at)
      const digits = longDigits(bytes.toString('latin1', at, end))
      if (digits !== undefined) {
        parts.push(bytes.subarray(kept, at), Buffer.from(`"${mark}${digits}"`))
        kept = end
      }
      at = end
    }
  }
  return kept === 0 ? undefined : Buffer.concat([...parts, bytes.subarray(kept)])
}

/** The result of a response with marked numbers; undefined if doubles represent all its numbers. */
export const resultDigits = (bytes: Buffer): DataObject | undefined => {
  const marked = markLongNumbers(bytes)
  const response = marked === undefined ? undefined : parseData(marked.toString())
  const result = isRecord(response) ? field(response, 'result') : undefined
  return isRecord(result) ? result : undefined
}

/** The JSON text with the digits in place of marked strings. */
export const withDigits = (text: string): string => text.replace(marked, '$1')

/** The value with doubles in place of marked strings. */
export const asDoubles = (value: Data): Data => {
  const text = JSON.stringify(value)
  return text.includes(mark) ? (parseData(withDigits(text)) ?? null) : value
}

/** The number in one form for all its spellings; undefined if a double represents it. */
const longDigits = (token: string): string | undefined => {
  const own = decimal(token)
  return own === decimal(String(Number(token))) ? undefined : own
}
