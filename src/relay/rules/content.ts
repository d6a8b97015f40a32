import { Buffer } from 'node:buffer'
import { excerpt } from '#relay/core/changed-texts.js'
import type { Powers, Problem } from '#relay/core/vocabulary.js'
import { findHidden, characterName, type Hidden } from '#relay/protocol/text/hidden.js'
import { isMediaType } from '#relay/protocol/headers.js'
import {
  each, isArray, isObject, isString, member, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import type { Part } from '#relay/protocol/places.js'
import { quote } from '#relay/protocol/quote.js'
import { traitsOf } from '#relay/protocol/revisions/index.js'
import { charactersOf, isKnownBase64 } from '#relay/protocol/unread.js'
import { contradicted } from './mime.js'
import { pathBelow, maxProblems, nothing, one, partRule, readingRule } from './problem.js'

export const type = partRule((part, { revision }) => {
  // The path of a part is made only when it is needed.
  const { contentTypes, samplingTypes } = traitsOf(revision)
  const known =
    part.kind === 'block' ? contentTypes : part.kind === 'samplingContent' ? samplingTypes : undefined
  const type = member(part.value, 'type')
  return known === undefined || !isString(type) || known.has(type)
    ? nothing
    : one(`${part.path}/type`, `${quote(type)} is no content type of revision ${revision}`)
})

export const contentAnnotations = partRule((part, _, meter) => {
  const annotations = member(part.value, 'annotations')
  return isObject(annotations) ? judge(annotations, `${part.path}/annotations`, meter) : nothing
})

// A member of the wrong type is judged by result/shape.
const judge = (annotations: JsonObject, path: string, meter: Meter): readonly Problem[] => {
  const priority = member(annotations, 'priority')
  const audience = member(annotations, 'audience')
  const lastModified = member(annotations, 'lastModified')
  const isRole = (role: unknown) => role === 'user' || role === 'assistant'
  return [
    ...(typeof priority === 'number' && !(priority >= 0 && priority <= 1)
      ? one(`${path}/priority`, 'must be from 0 to 1')
      : nothing),
    ...(isArray(audience) && [...each(audience, meter)].some(([, role]) => !isRole(role))
      ? one(`${path}/audience`, 'may name "user" and "assistant" only')
      : nothing),
    ...(isString(lastModified) && !isIsoTime(lastModified)
      ? one(`${path}/lastModified`, 'must be a time by ISO 8601, such as 2025-01-12T15:00:58Z')
      : nothing),
  ]
}

/** An existing calendar date by ISO 8601, in extended or basic form, with or without a time of day. */
const isIsoTime = (text: string): boolean => {
  const found = text.length > 64 ? null : (extended.exec(text) ?? basic.exec(text))
  if (!found) return false
  const [, year, month = '01', day = '01'] = found
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day)
}

// A day ends at 24:00:00. Zones are at most 14 hours ahead of UTC, and 12 behind.
const time = (colon: string): string => {
  const fraction = '(?:[.,]\\d+)?'
  const minutes = `(?:${colon}[0-5]\\d)?`
  const zero = `(?:${colon}00)?`
  const zone = `(?:Z|\\+(?:(?:0\\d|1[0-3])${minutes}|14${zero})|-(?:(?:0\\d|1[01])${minutes}|12${zero}))`
  const hours = `(?:[01]\\d|2[0-3])(?:${colon}[0-5]\\d(?:${colon}(?:[0-5]\\d|60)${fraction})?)?`
  return `(?:[T ](?:${hours}|24(?:${colon}00(?:${colon}00(?:[.,]0+)?)?)?)${zone}?)?`
}
const extended = new RegExp(`^(\\d{4})(?:-(\\d\\d)(?:-(\\d\\d)${time(':')})?)?$`)
const basic = new RegExp(`^(\\d{4})(\\d\\d)(\\d\\d)${time('')}$`)

// Characters; a multiple of four, small enough that a piece and its bytes stay in the processor's cache.
const piece = 16384
const bytes = Buffer.allocUnsafe((piece / 4) * 3)

/**
 * Base64 by RFC 4648, section 4: the standard alphabet, padded, no line ends. The decoder of node:buffer
 * accepts anything, so its output is encoded again and compared, which is several times faster than a regular
 * expression.
 */
export const isBase64 = (text: string | Buffer): boolean => {
  if (text.length % 4 !== 0) return false
  for (let from = 0; from < text.length; from += piece) {
    const last = from + piece >= text.length
    const part = firstOf(text, piece, from)
    if (!last && part.endsWith('=')) return false
    const length = bytes.write(part, 'base64')
    // Unused bits of the last character may be set: decoders ignore them.
    if (bytes.toString('base64', 0, length) !== part && !(last && loosely.test(part))) return false
  }
  return true
}

const firstOf = (text: string | Buffer, length: number, from = 0): string =>
  (isString(text) ? text.slice(from, from + length) : text.toString('latin1', from, from + length))

const loosely = /^[A-Za-z0-9+/]*={0,2}$/

/** The member of a part that holds base64. */
const payloadOf = (
  { kind, value }: Part,
): { readonly key: string; readonly data: string | Buffer } | undefined => {
  const type = member(value, 'type')
  const key = kind === 'resource' ? 'blob' : type === 'image' || type === 'audio' ? 'data' : undefined
  const data = key === undefined ? undefined : charactersOf(value, key)
  return key !== undefined && data !== undefined ? { key, data } : undefined
}

export const base64 = partRule(part => {
  const payload = payloadOf(part)
  return payload === undefined || isKnownBase64(part.value, payload.key) || isBase64(payload.data)
    ? nothing
    : one(`${part.path}/${payload.key}`, 'is not base64 (standard alphabet, padded, one line)')
})

export const mime = partRule(part => {
  const given = member(part.value, 'mimeType')
  if (!isString(given)) return nothing
  if (!isMediaType(given)) return one(`${part.path}/mimeType`, `${quote(given)} is no media type`)
  const data = payloadOf(part)?.data
  const seen = data === undefined ? undefined : contradicted(given, firstOf(data, 24))
  return seen === undefined ? nothing : one(`${part.path}/mimeType`, `${quote(given)}, but the data ${seen}`)
})

export const toolHiddenText: Powers = {
  onTool: ({ definition, path }, meter) =>
    definition === undefined ? nothing : search(definition, path, meter, true),
}

export const contentHiddenText: Powers =
  readingRule(({ value, path, plain }, meter) => (plain ? nothing : search(value, path, meter)))

/** Texts of this length are tested for base64 first, which is faster and hides nothing. */
const long = 4096

/** Suspicious characters that are checked in one message: a book in Persian has fewer joiners. */
const maxSuspects = 150_000

const found = (holder: string, hidden: Hidden): string =>
  `the ${holder} has a hidden character at position ${hidden.index} (${characterName(hidden)})`

/**
 * Searches every string below a value, the names of members included.
 * @param isDefinition the text is a server's own, so that the finding may show it
 */
const search = (root: Json, path: string, meter: Meter, isDefinition = false): readonly Problem[] => {
  const problems: Problem[] = []
  // The steps to the current value; they become a path only for a finding.
  const way: (string | number)[] = []

  const budget = { left: maxSuspects, pay: (steps: number) => meter.pay(steps) }

  const look = (text: string, part?: string | number) => {
    if (text.length === 0 || problems.length >= maxProblems || (text.length >= long && isBase64(text))) return
    meter.payText(text)
    const hidden = findHidden(text, budget)
    if (hidden === undefined) return
    const at = [...way, ...(part === undefined ? [] : [part])]
    problems.push({
      path: pathBelow(path, ...at), message: found('text', hidden),
      ...(isDefinition && { value: { [pathBelow('', ...at)]: excerpt(text, hidden.index) } }),
    })
  }

  const lookAtName = (key: string) => {
    meter.payText(key)
    const hidden = problems.length < maxProblems ? findHidden(key, budget) : undefined
    if (hidden === undefined) return
    const message = found(`name of the member ${quote(key)}`, hidden)
    problems.push({ path: pathBelow(path, ...way), message })
  }

  const step = (part: string | number, value: Json | undefined) => {
    if (isString(value)) look(value, part)
    else if (typeof value === 'object' && value !== null) {
      way.push(part)
      walk(value)
      way.pop()
    }
  }

  const walk = (value: Json) => {
    if (isArray(value)) for (const [index, element] of each(value, meter)) step(index, element)
    else if (isObject(value)) {
      for (const [key, member] of each(value, meter)) {
        lookAtName(key)
        step(key, member)
      }
    } else if (isString(value)) look(value)
  }

  walk(root)
  return problems
}
