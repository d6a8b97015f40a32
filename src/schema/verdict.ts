import type { SchemaProblem } from '../core/check.js'
import type { Json } from '../protocol/unmetered.js'
import type { Budget } from './budget.js'
import { validate } from './evaluate/validate.js'
import type { Reading } from './read/read.js'

/** No verdict was possible. */
export const unchecked = (why: string): readonly SchemaProblem[] => [{ kind: 'unchecked', path: '', message: `could not be judged${why}` }]

/** The verdict on a value by a schema that was read. @throws Exhausted; RangeError when the native stack does not suffice */
export const verdict = ({ schema, problems }: Reading, value: Json, budget: Budget, depth: number): readonly SchemaProblem[] =>
  schema === undefined ? unchecked(`: the schema cannot be used: ${problems[0]?.message ?? ''}`) : validate(schema, value, budget, depth)
