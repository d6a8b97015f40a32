import type { Edit } from '#protocol/edit.js'
import type { Frame } from '#protocol/frame.js'
import {
  each, isArray, isObject, isString, type JsonArray, type JsonObject, lengthOf, member,
} from '#protocol/json.js'
import { quote } from '#protocol/quote.js'
import type { Path } from '#protocol/scan.js'
import type { Findings } from './findings.js'
import { changedResult, findingsMeta, summary } from './refusal.js'

/** Members of a result that stay, or are written anew. */
const kept: ReadonlySet<string> = new Set(['content', 'isError', 'resultType', '_meta'])

/**
 * The first part of a tool result that is too long, with a text that says how much is missing. It is an
 * error, because clients refuse a result without the structured content that its tool declares.
 * @param limit bytes of the blocks of content that stay
 */
export const shortened = (
  frame: Frame, at: Path, result: JsonObject, name: string, findings: Findings, limit: number,
): Frame => {
  const content = member(result, 'content')
  const blocks: JsonArray = isArray(content) ? content : []
  const { count, part, bytes } = firstPart(blocks, limit, findings)
  const explanation = {
    type: 'text',
    text:
      `mcp-customs: the result of the tool ${quote(name)} is too long: ${summary(findings)}. ` +
      `Above is its first part: ${bytes} bytes in ${count + (part === undefined ? 0 : 1)} of ` +
      `${lengthOf(blocks)} blocks of content; the rest is missing. Ask for less at once.`,
  }
  const added = [...(part === undefined ? [] : [part]), explanation].map(one => JSON.stringify(one))
  const place: Path = [...at, 'content']
  const others = [...each(result, findings.meter)].filter(([key]) => !kept.has(key))
  return changedResult(frame, [
    ...(isArray(content)
      ? [{ path: place, length: count }, ...added.map((replace, index): Edit =>
          ({ path: [...place, count + index], replace }))]
      : [{ path: place, replace: `[${added.join(',')}]` }]),
    ...others.map(([key]): Edit => ({ path: [...at, key], remove: true })),
    { path: [...at, 'isError'], replace: 'true' },
    { path: [...at, '_meta'], replace: findingsMeta(findings) },
  ])
}

interface FirstPart {
  /** The blocks that stay as they are. */
  readonly count: number
  /** A text block with the beginning of the next block. */
  readonly part: JsonObject | undefined
  readonly bytes: number
}

const firstPart = (blocks: JsonArray, limit: number, { meter }: Findings): FirstPart => {
  let count = 0
  let left = limit
  for (const [, block] of each(blocks, meter)) {
    const text = JSON.stringify(block)
    meter.payText(text)
    const length = Buffer.byteLength(text)
    if (length <= left) {
      left -= length
      count++
      continue
    }
    const whole = isObject(block) && member(block, 'type') === 'text' ? member(block, 'text') : undefined
    const part = isString(whole) && left > 0 ? beginning(whole, left) : ''
    return {
      count, part: part === '' ? undefined : { type: 'text', text: part },
      bytes: limit - left + Buffer.byteLength(part),
    }
  }
  return { count, part: undefined, bytes: limit - left }
}

/** The characters of a text that fit into a number of bytes. */
const beginning = (text: string, max: number): string => {
  const bytes = Buffer.from(text.slice(0, max))
  let end = Math.min(max, bytes.length)
  // A byte 10xxxxxx continues a character.
  while (end < bytes.length && end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
