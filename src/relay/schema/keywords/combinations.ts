import type { Data } from '#relay/protocol/unmetered.js'
import type { SchemaNode } from '../schema-node.js'
import type { Run, Scope } from '../run.js'
import {
  attempt, eachHolds, forAll, ofSchema, schemasOf, type Check, type Keyword, type Subschema,
} from './keyword.js'

/** A keyword whose value is a list of schemas for the same value. */
const ofList = (
  name: string, check: (schemas: readonly Subschema[]) => Check<Data>, more: Partial<Keyword> = {},
): Keyword => ({
  name, applies: 'here', ...more,
  checks: (value, context) => forAll(check(schemasOf(value, context, name))),
})

const allOf = ofList('allOf', schemas => (value, run, seen) =>
  eachHolds(schemas, run, schema => schema.matches(value, run, seen)))

const anyOf = ofList('anyOf', schemas => (value, run, seen) => {
  let valid = false
  for (const schema of schemas) {
    if (attempt(schema, value, run, seen)) valid = true
    // The other branches must run only if an `unevaluated…` keyword needs to know what they evaluate.
    if (valid && seen === undefined) return true
  }
  return valid || run.fail('must fit at least one of the alternatives (anyOf)')
})

const oneOf = ofList('oneOf', schemas => (value, run, seen) => {
  let fitting = 0
  for (const schema of schemas) if (attempt(schema, value, run, seen) && ++fitting > 1) break
  if (fitting === 0) return run.fail('must fit one of the alternatives (oneOf)')
  return fitting === 1 || run.fail('must fit only one of the alternatives (oneOf)')
}, { nonMonotonic: true })

const not = ofSchema('not', schema => forAll((value, run) =>
  !attempt(schema, value, run, undefined) || run.fail('must not fit the schema (not)'),
), { applies: 'here', nonMonotonic: true })

const conditional = ofSchema('if', (condition, context) => {
  const [then, otherwise] = [context.subschema('then'), context.subschema('else')]
  return forAll((value, run, seen) => {
    const branch = attempt(condition, value, run, seen) ? then : otherwise
    return branch === undefined || branch.matches(value, run, seen)
  })
}, { applies: 'here', nonMonotonic: true })

const chosen = (name: string): Keyword => ({ name, applies: 'here', needs: 'if' })

/** Finds the target of a reference in the outermost scope that has one (2020-12 core, 8.2.3.2). */
const outermost = (run: Run, find: (scope: Scope) => SchemaNode | undefined): SchemaNode | undefined => {
  let found: SchemaNode | undefined
  for (let scope = run.scope; scope !== undefined; scope = scope.outer) {
    run.spend(2)
    found = find(scope) ?? found
  }
  return found
}

const reference = (name: string, find: (scope: Scope, name: string) => SchemaNode | undefined): Keyword => ({
  name,
  checks(_, context) {
    const target = context.target(name)
    if (target === undefined) return undefined
    const { dynamic } = target
    const schema = context.subschemaAt(target.node)
    if (dynamic === undefined) return forAll((value, run, seen) => schema.matches(value, run, seen))
    return forAll((value, run, seen) => {
      const found = outermost(run, scope => find(scope, dynamic))
      return (found === undefined ? schema : context.subschemaAt(found)).matches(value, run, seen)
    })
  },
})

/** Keywords that apply schemas to the same value. */
export const combinations: readonly Keyword[] = [
  reference('$ref', () => undefined),
  reference('$dynamicRef', ({ resource }, name) => resource.dynamicAnchors.get(name)),
  reference('$recursiveRef', ({ resource }) => (resource.recursive ? resource.root : undefined)),
  allOf, anyOf, oneOf, not, conditional, chosen('then'), chosen('else'),
]
