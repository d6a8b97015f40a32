import { withDigits } from '#relay/lock/digits.js'
import { referenceTarget } from '#relay/protocol/json-schema.js'
import {
  isList, isRecord, isString, type Data, type DataObject, field, unmetered,
} from '#relay/protocol/unmetered.js'
import { plain } from '#relay/base/plain.js'

/** An argument of a tool, summarised in one line. */
export interface Argument {
  readonly name: string
  /** As in TypeScript: `string`, `"asc" | "desc"`, `integer[]`; `any` where the schema does not say. */
  readonly type: string
  readonly required: boolean
}

/**
 * The arguments of a tool, in the order of its schema. Arguments required by only one alternative are
 * optional.
 */
export const argumentsOf = (inputSchema: Data | undefined): readonly Argument[] =>
  new Reader(inputSchema).arguments()

/** The arguments as `name: type`, or `name?: type` when optional; `--json` has all of them. */
export const argumentPhrases = (inputSchema: Data | undefined): readonly string[] => {
  const all = argumentsOf(inputSchema)
  const told = all.slice(0, maxShown)
    .map(({ name, type, required }) => `${plain(name)}${required ? '' : '?'}: ${plain(type, 120)}`)
  const phrases = all.length > told.length ? [...told, `and ${all.length - told.length} more`] : told
  return enumerated(phrases)
}

/** Puts a comma after each phrase but the last. */
export const enumerated = (phrases: readonly string[]): readonly string[] =>
  phrases.map((phrase, index) => (index + 1 < phrases.length ? `${phrase},` : phrase))

const maxShown = 40

/** Bounds on the schemas visited and their nesting: with references, a small schema can have very many. */
const maxSchemas = 2000
const deepest = 8

/** So many members of a union are shown. */
const maxOfUnion = 6

const forms = [['allOf', true], ['anyOf', false], ['oneOf', false]] as const

class Reader {
  readonly #found = new Map<string, Argument>()
  #left = maxSchemas

  constructor(private readonly root: Data | undefined) {}

  arguments(): readonly Argument[] {
    this.#collect(this.root, true, 0)
    return [...this.#found.values()]
  }

  /** @param isAsked what the schema requires is required of every call */
  #collect(schema: Data | undefined, isAsked: boolean, depth: number): void {
    if (!isRecord(schema) || !this.#mayLook(depth)) return
    const required = isAsked ? elements(schema, 'required').filter(isString) : []
    const properties = field(schema, 'properties')
    for (const [name, property] of isRecord(properties) ? Object.entries(properties) : []) {
      this.#note(name, this.#typeOf(property, depth), false)
    }
    for (const name of required) this.#note(name, 'any', true)
    this.#collect(this.#referred(schema), isAsked, depth + 1)
    for (const [keyword, isEvery] of forms) {
      for (const form of elements(schema, keyword)) this.#collect(form, isAsked && isEvery, depth + 1)
    }
  }

  #note(name: string, type: string, required: boolean): void {
    const known = this.#found.get(name)
    this.#found.set(name, {
      name, type: known === undefined || known.type === 'any' ? type : known.type,
      required: required || known?.required === true,
    })
  }

  #typeOf(schema: Data | undefined, depth: number): string {
    if (schema === false) return 'never'
    if (!isRecord(schema) || !this.#mayLook(depth)) return 'any'
    const inner = (one: Data | undefined) => this.#typeOf(one, depth + 1)
    const target = this.#referred(schema)
    if (target !== undefined) return inner(target)
    const constant = field(schema, 'const')
    if (constant !== undefined) return withDigits(JSON.stringify(constant))
    if (field(schema, 'enum') !== undefined) {
      return union(elements(schema, 'enum'), choice => withDigits(JSON.stringify(choice)))
    }
    const alternatives = [...elements(schema, 'anyOf'), ...elements(schema, 'oneOf')]
    if (alternatives.length > 0) return union(alternatives, inner)
    const type = field(schema, 'type')
    if (isList(type)) return union(type, one => (isString(one) ? named(one, schema, inner) : 'any'))
    if (isString(type)) return named(type, schema, inner)
    if (field(schema, 'properties') !== undefined) return 'object'
    return elements(schema, 'allOf').map(inner).find(part => part !== 'any') ?? 'any'
  }

  #mayLook(depth: number): boolean {
    return depth <= deepest && this.#left-- > 0
  }

  /** Resolves a `$ref` within the schema; undefined for any other. */
  #referred(schema: DataObject): Data | undefined {
    const reference = field(schema, '$ref')
    if (!isString(reference) || !reference.startsWith('#/') || !isRecord(this.root)) return undefined
    return unmetered(referenceTarget(this.root, reference))
  }
}

const elements = (schema: DataObject, keyword: string): readonly Data[] => {
  const value = field(schema, keyword)
  return isList(value) ? value : []
}

const named = (type: string, schema: DataObject, inner: (schema: Data | undefined) => string): string => {
  if (type !== 'array') return type
  const items = inner(field(schema, 'items'))
  return items.includes(' | ') ? `(${items})[]` : `${items}[]`
}

const union = (all: readonly Data[], inWords: (one: Data) => string): string => {
  const words = [...new Set(all.slice(0, maxOfUnion).map(inWords))]
  return (all.length > maxOfUnion ? [...words, '…'] : words).join(' | ') || 'never'
}

/**
 * A tool's annotations in words. Unset hints are omitted, and so are those that the specification calls
 * meaningless for a read-only tool.
 */
export const claimsOf = (definition: DataObject | undefined): readonly string[] => {
  const annotations = field(definition, 'annotations')
  if (!isRecord(annotations)) return []
  const says = (hint: string): unknown => field(annotations, hint)
  const readOnly = says('readOnlyHint') === true
  return [
    word(says('readOnlyHint'), 'read-only', 'writes'),
    word(says('destructiveHint'), 'destructive', readOnly ? '' : 'not destructive'),
    word(says('idempotentHint'), readOnly ? '' : 'idempotent', ''),
    word(says('openWorldHint'), 'open world', 'closed world'),
  ].filter(claim => claim !== '')
}

const word = (hint: unknown, yes: string, no: string): string =>
  (hint === true ? yes : hint === false ? no : '')

/** In the order in which clients look for a title (MCP, Tool: title). */
export const titleOf = (definition: DataObject | undefined): string | undefined => {
  const annotations = field(definition, 'annotations')
  const title =
    field(definition, 'title') ?? (isRecord(annotations) ? field(annotations, 'title') : undefined)
  return isString(title) ? title : undefined
}
