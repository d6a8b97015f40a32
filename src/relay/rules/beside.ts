import { isArray, isObject, isString, type Json, member, type Meter, weigh } from '#relay/protocol/json.js'
import { referenceTarget } from '#relay/protocol/json-schema.js'
import type { CallResult, Problem } from '#relay/core/vocabulary.js'
import { stepsAlong } from './problem.js'

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
