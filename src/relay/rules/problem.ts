import { step, wirePath } from '#relay/protocol/quote.js'
import type { Powers, Problem, Reading, SchemaProblem, CallResult } from '#relay/core/vocabulary.js'
import type { Misfit } from '#relay/protocol/revisions/shape.js'
import {
  isArray, isObject, keysOf, member, type Json, type Meter, isString, weigh,
} from '#relay/protocol/json.js'
import { stepsOf, referenceTarget } from '#relay/protocol/json-schema.js'
import type { Link, Part } from '#relay/protocol/places.js'

/** Problems that one rule reports of one value, so that a peer cannot cause endless work. */
export const maxProblems = 20

export const nothing: readonly Problem[] = []

export const one = (path: string, message: string): readonly Problem[] => [{ path, message }]

type Kind = SchemaProblem['kind']

export const isSchemaMismatch = (kind: Kind): boolean => kind === 'mismatch'
export const isFormat = (kind: Kind): boolean => kind === 'format'
export const isNoVerdict = (kind: Kind): boolean => !isSchemaMismatch(kind) && !isFormat(kind)

/** The problems of a check that are of a rule's kinds. */
export const ofKind =
  (problems: readonly SchemaProblem[] | undefined, isIts: (kind: Kind) => boolean): readonly Problem[] =>
  // Nearly every check finds none.
    problems === undefined || problems.length === 0 ? nothing : problems.filter(({ kind }) => isIts(kind))

export const ofMisfits = (misfits: readonly Misfit[], path: string): readonly Problem[] =>
  misfits.length === 0
    ? nothing
    : misfits.map(misfit => ({ path: pathBelow(path, ...misfit.path), message: misfit.message }))

/** A path with further steps, which come from the wire. */
export const pathBelow = (path: string, ...parts: readonly (string | number)[]): string =>
  path + wirePath(...parts)

/**
 * The steps in a value of a path that a finding has, where long names are cut.
 * @returns undefined where the path leads nowhere
 */
export const stepsAlong = (
  value: Json | undefined, path: string, meter: Meter,
): readonly (string | number)[] | undefined => {
  const steps: (string | number)[] = []
  let held = value
  for (const part of stepsOf(path)) {
    const at = held
    if (isArray(at)) steps.push(Number(part))
    else if (!isObject(at)) return undefined
    else if (Object.hasOwn(at, part)) steps.push(part)
    else steps.push(keysOf(at, meter).find(key => step(key) === part) ?? part)
    const [last = 0] = steps.slice(-1)
    held = isArray(at) ? at[Number(last)] : member(at, String(last))
  }
  return held === undefined ? undefined : steps
}

/** A rule for the results of tools and everything else that a model reads. */
export const readingRule = (judge: (reading: Reading, meter: Meter) => readonly Problem[]): Powers =>
  ({ onResult: judge, onReading: judge })

/** A rule for each piece of content that a model reads. */
export const partRule = (judge: (part: Part, reading: Reading, meter: Meter) => readonly Problem[]): Powers =>
  readingRule((reading, meter) => problemsOf(reading.parts, reading, meter, judge))

/** A rule for each icon, website or URI. */
export const linkRule = (
  kinds: readonly Link['kind'][], judge: (link: Link, meter: Meter) => readonly Problem[],
): Powers => {
  const judgeLink = (link: Link, _: Reading, meter: Meter) =>
    kinds.includes(link.kind) ? judge(link, meter) : nothing
  return readingRule((reading, meter) => problemsOf(reading.links, reading, meter, judgeLink))
}

/** A loop, because rules run for every piece of every result, and `flatMap` makes an array for each. */
const problemsOf = <Thing>(
  things: readonly Thing[], reading: Reading, meter: Meter,
  judge: (thing: Thing, reading: Reading, meter: Meter) => readonly Problem[],
): readonly Problem[] => {
  let found = nothing
  for (const thing of things) {
    meter.pay(1)
    const problems = judge(thing, reading, meter)
    if (problems.length > 0) found = [...found, ...problems]
    if (found.length >= maxProblems) return found.slice(0, maxProblems)
  }
  return found
}

/** Longest value that is kept, in bytes of memory. */
const maxWeight = 2000

const maxReferences = 8

/** The problems of structured content, with the value that stands there and what is declared for it. */
export const beside = (
  problems: readonly Problem[], result: CallResult, meter: Meter,
): readonly Problem[] => {
  const [schema] = result.tool?.outputSchemas ?? []
  const at = `${result.path}/structuredContent`
  const structured = member(result.value, 'structuredContent')
  return problems.map(problem => {
    const steps = stepsAlong(structured, problem.path.slice(at.length), meter)
    if (steps === undefined) return problem
    const value = steps.reduce(childOf, structured)
    const declared = declaredAt(schema, steps, problem.message)
    return { ...problem, ...(isShort(value) && { value }), ...(isShort(declared) && { declared }) }
  })
}

const isShort = (value: Json | undefined): value is Json =>
  value !== undefined && weigh(value, maxWeight) <= maxWeight

const childOf = (value: Json | undefined, step: string | number): Json | undefined => {
  if (isArray(value)) return value[Number(step)]
  return isObject(value) ? member(value, String(step)) : undefined
}

/** The keyword that a message names, with its value, where the way to it is plain. */
const declaredAt = (
  schema: Json | undefined, steps: readonly (string | number)[], message: string,
): Json | undefined => {
  const follow = (one: Json | undefined): Json | undefined => {
    let held = one
    for (let left = maxReferences; left > 0 && isObject(held) && isObject(schema); left--) {
      const reference = member(held, '$ref')
      if (!isString(reference)) break
      held = referenceTarget(schema, reference)
    }
    return held
  }
  const below = (one: Json | undefined, step: string | number): Json | undefined => {
    const held = follow(one)
    if (!isObject(held)) return undefined
    if (typeof step === 'number') return childOf(member(held, 'prefixItems'), step) ?? member(held, 'items')
    return childOf(member(held, 'properties'), step) ?? member(held, 'additionalProperties')
  }
  const declaring = follow(steps.reduce(below, schema))
  const [, keyword = ''] = /\((\$?\w+)\)$/.exec(message) ?? []
  const value = isObject(declaring) ? member(declaring, keyword) : undefined
  return value === undefined ? undefined : { [keyword]: value }
}
