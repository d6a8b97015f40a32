import type { Limits } from '../config/limits.js'
import type { Checked, SchemaChecker, Subject } from '../core/check.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, isString, member } from '../protocol/unmetered.js'
import { parseFrame as parse } from '../protocol/parse.js'
import { createSchemaChecker as create } from '../schema/index.js'
import { readLimits } from './options.js'

/**
 * Performs the relay's `check` effects: untrusted schemas, used safely. Its checks never throw and never reject. To be closed.
 * @throws CustomsError BAD_CONFIG for a limit that is none
 */
export const createSchemaChecker = (limits: Partial<Limits> = {}): SchemaChecker => {
  const checker = create(readLimits(limits))
  return {
    check: (subject: unknown) => (isSubject(subject) ? checker.check(subject) : noSubject),
    close: () => checker.close(),
  }
}

const noSubject: Checked = [{ kind: 'unchecked', path: '', message: 'could not be judged: it is no JSON, or nested too deep' }]

// Callers without a compiler give anything. What is circular is too deep, in the end.
const isSubject = (subject: unknown): subject is Subject => {
  try {
    if (!isObject(subject) || !isString(member(subject, 'path')) || !isJson(member(subject, 'schema'))) return false
    const kind = member(subject, 'kind')
    return kind === 'schema' || (kind === 'value' && isJson(member(subject, 'value')))
  } catch {
    return false
  }
}

/** @throws RangeError for what is nested too deep */
const isJson = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.every(isJson)
  if (isObject(value)) return Object.values(value).every(inner => inner === undefined || isJson(inner))
  return value === null || isString(value) || typeof value === 'boolean' || Number.isFinite(value)
}

/**
 * Reads the bytes of one message, without its line end, for the relay's `frame-received`. Never throws for what is in the bytes:
 * what is wrong with them is in the frame's `faults`.
 * @throws CustomsError BAD_CONFIG for a limit that is none
 */
export const parseFrame = (bytes: Buffer, limits: Partial<Limits> = {}): Frame =>
  // All of it is parsed: what others hold can be cloned.
  parse(bytes, { ...readLimits(limits), judgedBytes: 0 })
