import { attempt, eachHolds, forAll, schemasOf, type Keyword } from './keyword.js'

const allOf: Keyword = {
  name: 'allOf',
  applies: 'here',
  checks(value, site) {
    const schemas = schemasOf(value, site, 'allOf')
    return forAll((value, run, seen) => eachHolds(schemas, run, schema => schema.matches(value, run, seen)))
  },
}

const anyOf: Keyword = {
  name: 'anyOf',
  applies: 'here',
  checks(value, site) {
    const schemas = schemasOf(value, site, 'anyOf')
    return forAll((value, run, seen) => {
      let valid = false
      for (const schema of schemas) {
        if (attempt(schema, value, run, seen)) valid = true
        // The other branches matter only to those who go by what was evaluated.
        if (valid && seen === undefined) return true
      }
      return valid || run.fail('must fit at least one of the alternatives (anyOf)')
    })
  },
}

const oneOf: Keyword = {
  name: 'oneOf',
  turns: true,
  applies: 'here',
  checks(value, site) {
    const schemas = schemasOf(value, site, 'oneOf')
    return forAll((value, run, seen) => {
      let fitting = 0
      for (const schema of schemas) if (attempt(schema, value, run, seen) && ++fitting > 1) break
      if (fitting === 0) return run.fail('must fit one of the alternatives (oneOf)')
      return fitting === 1 || run.fail('must fit only one of the alternatives (oneOf)')
    })
  },
}

const not: Keyword = {
  name: 'not',
  turns: true,
  applies: 'here',
  checks(_, site) {
    const schema = site.subschema('not')
    return schema && forAll((value, run) => !attempt(schema, value, run, undefined) || run.fail('must not fit the schema (not)'))
  },
}

const conditional: Keyword = {
  name: 'if',
  turns: true,
  applies: 'here',
  checks(_, site) {
    const condition = site.subschema('if')
    if (condition === undefined) return undefined
    const [then, otherwise] = [site.subschema('then'), site.subschema('else')]
    return forAll((value, run, seen) => {
      const chosen = attempt(condition, value, run, seen) ? then : otherwise
      return chosen === undefined || chosen.matches(value, run, seen)
    })
  },
}

const chosen = (name: string): Keyword => ({ name, applies: 'here', needs: 'if' })

export const combinations: readonly Keyword[] = [allOf, anyOf, oneOf, not, conditional, chosen('then'), chosen('else')]
