import { isArray, isObject, isString, member, type Json } from '../../protocol/unmetered.js'
import type { Dialect } from '../../protocol/json-schema.js'
import type { Budget } from '../budget.js'
import type { Place, Target } from '../document/place.js'
import { Evaluated } from './evaluated.js'
import { keywordsAt } from './keywords/index.js'
import { forAll, type Check, type Kinds, type Site, type Subschema } from './keywords/keyword.js'
import type { Run } from './run.js'

type Lists = { readonly [Kind in keyof Kinds]: readonly Check<Kinds[Kind]>[] }

/** What a schema asks of each kind of value. */
interface Made extends Lists {
  /** Whether the schema itself goes by what was evaluated. */
  readonly tracks: boolean
  /** Whether it leads to no other schema but those of members and items. */
  readonly flat: boolean
}

/** A schema made into checks. They are made when a value comes first to the schema: most schemas of a list are never used. */
export class Validator implements Subschema {
  readonly #place: Place
  #made: Made | undefined

  constructor(place: Place) {
    this.#place = place
  }

  matches(value: Json, run: Run, seen: Evaluated | undefined): boolean {
    const made = (this.#made ??= make(this.#place, run))
    if (made.flat && typeof value !== 'object') {
      run.spend(4)
      return holds(made, value, run, undefined)
    }
    run.enter()
    const { resource } = this.#place
    const outer = run.scope
    if (outer?.resource !== resource) run.scope = { resource, outer }
    const own = made.tracks || seen !== undefined ? new Evaluated(run.budget) : undefined
    const valid = holds(made, value, run, own)
    if (valid && own !== undefined) seen?.merge(own)
    run.scope = outer
    run.leave()
    return valid
  }

  matchesBelow(step: string | number, value: Json, run: Run): boolean {
    if (!run.tracing) return this.matches(value, run, undefined)
    run.path.push(step)
    const valid = this.matches(value, run, undefined)
    run.path.pop()
    return valid
  }
}

const holds = (made: Made, value: Json, run: Run, seen: Evaluated | undefined): boolean => {
  if (typeof value === 'string') return all(made.string, value, run, seen)
  if (typeof value === 'number') return all(made.number, value, run, seen)
  if (value === null) return all(made.null, value, run, seen)
  if (typeof value === 'boolean') return all(made.boolean, value, run, seen)
  if (isArray(value)) return all(made.array, value, run, seen)
  return isObject(value) ? all(made.object, value, run, seen) : run.fail('is no JSON')
}

/** Up to the first check that fails, unless more is to be told. */
const all = <Value>(checks: readonly Check<Value>[], value: Value, run: Run, seen: Evaluated | undefined): boolean => {
  const only = checks[0]
  if (checks.length < 2) return only === undefined || only(value, run, seen)
  let valid = true
  for (let index = 0; index < checks.length; index++) {
    if (checks[index]?.(value, run, seen) === true) continue
    valid = false
    if (!run.collecting) break
  }
  return valid
}

// Held as long as the schema is: official ones for good, so that they are made once for all.
const validators = new WeakMap<Place, Validator>()

export const validatorOf = (place: Place): Validator => {
  const known = validators.get(place)
  if (known !== undefined) return known
  const made = new Validator(place)
  validators.set(place, made)
  return made
}

const nothingAllowed = forAll((_, run) => run.fail('nothing is allowed here (false)'))

/** Bytes of memory that a schema's checks take, and each of them. */
const bytesOfValidator = 900
const bytesOfCheck = 150

/** Making the checks is work too, and charged to the evaluation that is the first to need them. */
const make = (place: Place, run: Run): Made => {
  run.spend(200)
  run.budget.keep(bytesOfValidator)
  const site = new PlaceSite(place, run.budget)
  const present = keywordsAt(place)
  const checks = present.flatMap(([keyword, value]) => {
    run.spend(50)
    run.budget.keep(bytesOfCheck)
    return keyword.checks?.(value, site) ?? []
  })
  if (place.schema === false) checks.push(nothingAllowed)
  return {
    null: checks.flatMap(one => one.null ?? []),
    boolean: checks.flatMap(one => one.boolean ?? []),
    number: checks.flatMap(one => one.number ?? []),
    string: checks.flatMap(one => one.string ?? []),
    array: checks.flatMap(one => one.array ?? []),
    object: checks.flatMap(one => one.object ?? []),
    tracks: present.some(([keyword]) => keyword.tracks === true),
    flat: present.every(([keyword]) => keyword.applies !== 'here') && place.targets.size === 0,
  }
}

class PlaceSite implements Site {
  readonly #place: Place
  readonly budget: Budget

  constructor(place: Place, budget: Budget) {
    this.#place = place
    this.budget = budget
  }

  get dialect(): Dialect {
    return this.#place.resource.dialect
  }

  sibling(keyword: string): Json | undefined {
    const { schema } = this.#place
    return isObject(schema) ? member(schema, keyword) : undefined
  }

  subschema(keyword: string, key?: string | number): Subschema | undefined {
    this.budget.spend(key === undefined ? 20 : 40 + (isString(key) ? key.length : 0))
    const place = key === undefined ? this.#place.child(keyword) : this.#place.child(keyword, key)
    return place && validatorOf(place)
  }

  subschemaAt(place: Place): Subschema {
    return validatorOf(place)
  }

  target(keyword: string): Target | undefined {
    return this.#place.targets.get(keyword)
  }
}
