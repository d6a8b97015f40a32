import { isList, isRecord, isString, field, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import type { Dialect } from '#relay/protocol/json-schema.js'
import type { Budget } from '../budget.js'
import type { SchemaNode, SchemaTarget } from '../schema-node.js'
import type { Evaluated } from './evaluated.js'
import type { Run } from '../run.js'

/** The kinds of values that checks are for. */
export interface Kinds {
  readonly null: null
  readonly boolean: boolean
  readonly number: number
  readonly string: string
  readonly array: readonly Data[]
  readonly object: DataObject
}

/** Applies a keyword of one schema to a value. `seen` is given where `unevaluated…` needs it. */
export type Check<Value> = (value: Value, run: Run, seen: Evaluated | undefined) => boolean

/** The checks of a keyword, for each kind of value that it concerns. */
export type KeywordChecks = { readonly [Kind in keyof Kinds]?: Check<Kinds[Kind]> | undefined }

/** A schema as its keywords' checks apply it. */
export interface Subschema {
  /**
   * @param seen records what was evaluated, for the schema that applies this one to the same value
   * @throws Exhausted
   */
  matches(value: Data, run: Run, seen: Evaluated | undefined): boolean
  /** Whether a member or an item of the current value matches. */
  matchesBelow(step: string | number, value: Data, run: Run): boolean
}

/** What a keyword's check is compiled from: the other keywords of its schema, and its subschemas. */
export class CompileContext {
  /**
   * @param budget pays for compiling the check
   * @param subschemaAt gives the schema of a node that only the evaluation finds ($dynamicRef)
   */
  constructor(
    private readonly node: SchemaNode,
    readonly budget: Budget,
    readonly subschemaAt: (node: SchemaNode) => Subschema,
  ) {}

  get dialect(): Dialect {
    return this.node.resource.dialect
  }

  sibling(keyword: string): Data | undefined {
    const { schema } = this.node
    return isRecord(schema) ? field(schema, keyword) : undefined
  }

  subschema(keyword: string, key?: string | number): Subschema | undefined {
    this.budget.spend(key === undefined ? 20 : 40 + (isString(key) ? key.length : 0))
    const node = key === undefined ? this.node.child(keyword) : this.node.child(keyword, key)
    return node && this.subschemaAt(node)
  }

  target(keyword: string): SchemaTarget | undefined {
    return this.node.targets.get(keyword)
  }
}

/**
 * What a keyword does. Its dialects, and where schemas stand in its value, are in protocol/json-schema.ts;
 * the meta-schemas say which values it may have.
 */
export interface Keyword {
  readonly name: string
  /** Where its subschemas apply: to the same value, or to members and items; undefined: only by reference. */
  readonly applies?: 'here' | 'below'
  /** A failing subschema can make a value valid (`not`, `oneOf`, `if`). */
  readonly nonMonotonic?: true
  /** This keyword is ignored without that one. */
  readonly needs?: string
  /** The message for a wrong value of the keyword, if the meta-schema's own message would be unclear. */
  readonly expected?: string
  /** Finds what is wrong with its value beyond what the meta-schemas check. */
  fault?(value: Data, budget: Budget): string | undefined
  /** Compiles its checks; undefined when there is nothing to check. */
  checks?(value: Data, context: CompileContext): KeywordChecks | undefined
  /** Whether its checks depend on what other keywords evaluated. */
  readonly tracks?: true
}

/** The same check for values of any kind. */
export const forAll = (check: Check<Data>): KeywordChecks =>
  ({ null: check, boolean: check, number: check, string: check, array: check, object: check })

/** The schemas of a keyword whose value is an array of them. */
export const schemasOf = (value: Data, context: CompileContext, keyword: string): readonly Subschema[] =>
  isList(value) ? value.flatMap((_, index) => context.subschema(keyword, index) ?? []) : []

/** A keyword whose value is one schema, which by default applies to members or items. */
export const ofSchema = (
  name: string, make: (schema: Subschema, context: CompileContext) => KeywordChecks | undefined,
  more: Partial<Keyword> = {},
): Keyword => ({
  name,
  applies: 'below',
  ...more,
  checks(_, context) {
    const schema = context.subschema(name)
    return schema && make(schema, context)
  },
})

/** A keyword that limits a size, from above if its name begins with `max`. */
export const ofSize = (
  name: string,
  noun: string,
  make: (fits: (size: number) => boolean, isMax: boolean, message: string) => KeywordChecks,
): Keyword => ({
  name,
  checks(limit) {
    if (typeof limit !== 'number') return undefined
    const isMax = name.startsWith('max')
    const nouns = limit === 1 ? noun : `${noun}s`
    const message = `must have at ${isMax ? 'most' : 'least'} ${limit} ${nouns} (${name})`
    return make(isMax ? size => size <= limit : size => size >= limit, isMax, message)
  },
})

/**
 * Whether a value matches a schema that may fail, such as a branch of `anyOf` or a `not`. Its mismatches are
 * not collected, and what it evaluated counts only if it matches.
 */
export const attempt = (branch: Subschema, value: Data, run: Run, seen: Evaluated | undefined): boolean => {
  run.mute()
  const valid = branch.matches(value, run, seen)
  run.unmute()
  return valid
}

/** Whether all hold. The first that does not ends the search, unless mismatches are collected. */
export const eachHolds = <One>(all: Iterable<One>, run: Run, holds: (one: One) => boolean): boolean => {
  let valid = true
  for (const one of all) {
    if (holds(one)) continue
    valid = false
    if (!run.collecting) break
  }
  return valid
}
