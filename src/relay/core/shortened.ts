import type { Frame } from '#relay/protocol/frame.js'
import {
  isArray, isObject, isString, type JsonArray, type JsonObject, lengthOf, member, type Meter,
} from '#relay/protocol/json.js'
import { quote } from '#relay/protocol/quote.js'
import { eachChild, type Path, slice } from '#relay/protocol/scan.js'
import type { Findings } from './findings.js'
import { changedResult, findingsMeta, summary } from './refusal.js'

/**
 * The first part of a tool result that is too long, with a text that says how much is missing. It is an
 * error, because clients refuse a result without the structured content that its tool declares.
 * @param limit bytes of the blocks of content that stay, each as the server wrote it
 */
export const shortened = (
  frame: Frame, at: Path, result: JsonObject, name: string, findings: Findings, limit: number,
): Frame => {
  const content = member(result, 'content')
  const blocks: JsonArray = isArray(content) ? content : []
  const written = isArray(content) ? slice(frame, [...at, 'content']) : undefined
  const { kept, part, bytes } = firstPart(blocks, written ?? Buffer.from('[]'), limit, findings.meter)
  const explanation = {
    type: 'text',
    text:
      `mcp-customs: the result of the tool ${quote(name)} is too long: ${summary(findings)}. ` +
      `Above is its first part: ${bytes} bytes in ${kept.length + (part === undefined ? 0 : 1)} of ` +
      `${lengthOf(blocks)} blocks of content; the rest is missing. Ask for less at once.`,
  }
  const texts = [...kept, ...[part ?? [], explanation].flat().map(one => JSON.stringify(one))]
  const type = isString(member(result, 'resultType')) ? '"resultType":"complete",' : ''
  const replace =
    `{"content":[${texts.join(',')}],"isError":true,${type}"_meta":${findingsMeta(findings)}}`
  return changedResult(frame, [{ path: at, replace }])
}

interface FirstPart {
  /** The JSON texts of the blocks that stay. */
  readonly kept: readonly string[]
  /** A text block with the beginning of the next block. */
  readonly part: JsonObject | undefined
  readonly bytes: number
}

/** @param written the JSON text of the blocks */
const firstPart = (blocks: JsonArray, written: Buffer, limit: number, meter: Meter): FirstPart => {
  const kept: string[] = []
  let left = limit
  let part = ''
  eachChild(written, 0, ({ index, value, to }) => {
    meter.pay(1)
    if (to - value <= left) {
      left -= to - value
      kept.push(written.toString('utf8', value, to))
      return false
    }
    const block = blocks[index]
    const whole = isObject(block) && member(block, 'type') === 'text' ? member(block, 'text') : undefined
    part = isString(whole) && left > 0 ? beginning(whole, left) : ''
    return true
  })
  return {
    kept, part: part === '' ? undefined : { type: 'text', text: part },
    bytes: limit - left + Buffer.byteLength(part),
  }
}

/** The characters of a text that fit into a number of bytes. */
const beginning = (text: string, max: number): string => {
  const bytes = Buffer.from(text.slice(0, max))
  let end = Math.min(max, bytes.length)
  // A byte 10xxxxxx continues a character.
  while (end < bytes.length && end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
