import { isArray, isObject, isString, member, type JsonObject } from '../protocol/json.js'
import { each, type Meter } from '../protocol/meter.js'
import { quote } from '../protocol/quote.js'
import { traitsOf } from '../protocol/revision.js'
import type { Problem } from '../core/rule.js'
import { nothing, one, partRule } from './problem.js'

export const type = partRule(({ kind, value, path }, { revision }) => {
  const { contentTypes, samplingTypes } = traitsOf(revision)
  const known = kind === 'block' ? contentTypes : kind === 'sampled' ? samplingTypes : undefined
  const type = member(value, 'type')
  return known === undefined || !isString(type) || known.has(type)
    ? nothing
    : one(`${path}/type`, `${quote(type)} is no content type of revision ${revision}`)
})

export const annotations = partRule(({ value, path }, _, meter) => {
  const annotations = member(value, 'annotations')
  return isObject(annotations) ? judge(annotations, `${path}/annotations`, meter) : nothing
})

// A member of another type than it should have is the shape's affair.
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

/** A calendar date by ISO 8601, in the extended form or in the basic one, with or without a time of day; the day must exist. */
const isIsoTime = (text: string): boolean => {
  const found = text.length > 64 ? null : (extended.exec(text) ?? basic.exec(text))
  if (!found) return false
  const [, year, month = '01', day = '01'] = found
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day)
}

// Midnight at the end of a day is 24:00:00 and no later; clocks go at most 14 hours ahead of UTC, and 12 behind.
const time = (colon: string): string => {
  const fraction = '(?:[.,]\\d+)?'
  const zone = `(?:Z|\\+(?:(?:0\\d|1[0-3])(?:${colon}[0-5]\\d)?|14(?:${colon}00)?)|-(?:(?:0\\d|1[01])(?:${colon}[0-5]\\d)?|12(?:${colon}00)?))`
  const ofDay = `(?:(?:[01]\\d|2[0-3])(?:${colon}[0-5]\\d(?:${colon}(?:[0-5]\\d|60)${fraction})?)?|24(?:${colon}00(?:${colon}00(?:[.,]0+)?)?)?)`
  return `(?:[T ]${ofDay}${zone}?)?`
}
const extended = new RegExp(`^(\\d{4})(?:-(\\d\\d)(?:-(\\d\\d)${time(':')})?)?$`)
const basic = new RegExp(`^(\\d{4})(\\d\\d)(\\d\\d)${time('')}$`)
