import { isArray, isObject, isString, member, type Json } from '../../protocol/json.js'
import { jsonSchemaKeywords } from '../../protocol/json-schema.js'
import { mostTable } from '../../protocol/judged.js'
import { loneSurrogate } from '../../protocol/survey.js'
import type { Budget } from '../budget.js'
import type { Place } from '../document/place.js'
import { keywordsAt } from '../evaluate/keywords/index.js'
import { formatOf } from '../evaluate/keywords/formats.js'
import { wholePattern } from '../pattern/pattern.js'
import { Writer } from './writer.js'

/** A schema as the judge of bytes reads it (src/judge/assembly/check.ts says how). */
export type Table = Buffer

/** Types of values, a bit each. An integer is a number as well. */
const bits: Readonly<Record<string, number>> = { null: 1, boolean: 2, number: 4, integer: 8, string: 16, array: 32, object: 64 }
const kindOf = (type: string): number => bits[type] ?? 0
const [ofNumbers, ofStrings, ofArrays] = [kindOf('number'), kindOf('string'), kindOf('array')]
const ofAll = 127

const formats: ReadonlyMap<string, number> = new Map([['date', 1], ['date-time', 2], ['email', 3], ['uuid', 4], ['uri', 5]])
const unknownFormat = 255

/** Automata of more sets of states are not made: most have a few. */
const mostSets = 300
/** No pattern stands there. */
const unknownPattern = 1

const combinations: ReadonlyMap<string, number> = new Map([['allOf', 1], ['anyOf', 2], ['oneOf', 3], ['not', 4]])
const all = 1

const mostWord = 0xffffffff

/** Of an entry's words, where what is asked stands. */
const word = { types: 0, unknown: 4, numbers: 8, strings: 12, arrays: 16, objects: 20, values: 24, others: 28 } as const
const wordsOfSchema = 8

/**
 * Makes a table of a schema. What it cannot say of a value it leaves open, so that nothing is known of values of that type.
 * @returns undefined when it would be too large
 * @throws Exhausted
 */
export const tableOf = (root: Place, budget: Budget): Table | undefined => {
  const table = new TableWriter(budget)
  return table.write(root)
}

class TableWriter {
  readonly #writer = new Writer()
  readonly #places = new Map<Place, number>()
  readonly #left: (readonly [Place, number])[] = []
  readonly #budget: Budget
  #nothing: number | undefined

  constructor(budget: Budget) {
    this.#budget = budget
  }

  write(root: Place): Table | undefined {
    // Where the first schema stands. No schema stands at 0.
    const start = this.#writer.words(0, 0)
    this.#writer.setWord(start, this.#schema(root))
    for (let next = this.#left.pop(); next !== undefined; next = this.#left.pop()) {
      this.#fill(...next)
      if (this.#writer.length > mostTable) return undefined
    }
    this.#budget.keep(this.#writer.length)
    return this.#writer.bytes
  }

  /** Where the schema of a keyword stands; 0 where there is none. */
  #child(keywords: Keywords, place: Place, name: string): number {
    return keywords.has(name) ? this.#schema(place.child(name)) : 0
  }

  /** Where a schema stands; 0 for one that allows everything. Of one that is not there nothing is known. */
  #schema(place: Place | undefined): number {
    if (place === undefined) return this.#writer.words(ofAll, ofAll, 0, 0, 0, 0, 0, 0)
    if (place.schema === true) return 0
    if (place.schema === false) return (this.#nothing ??= this.#writer.reserve(4 * wordsOfSchema))
    const known = this.#places.get(place)
    if (known !== undefined) return known
    this.#budget.spend(200)
    const at = this.#writer.reserve(4 * wordsOfSchema)
    this.#places.set(place, at)
    this.#left.push([place, at])
    return at
  }

  #fill(place: Place, at: number): void {
    const keywords = new Map(keywordsAt(place).map(([{ name }, value]) => [name, value]))
    this.#budget.spend(50 * keywords.size)
    const set = (which: keyof typeof word, value: number) => this.#writer.setWord(at + word[which], value)
    set('types', typesOf(keywords.get('type')))
    set('unknown', unknownIn(keywords, place))
    set('numbers', this.#numbers(keywords))
    set('strings', this.#strings(keywords))
    set('arrays', this.#arrays(keywords, place))
    set('objects', this.#objects(keywords, place))
    set('values', this.#values(keywords))
    set('others', this.#others(keywords, place))
  }

  #numbers(keywords: Keywords): number {
    const bound = (name: string, otherwise: number) => {
      const limit = keywords.get(name)
      return typeof limit === 'number' ? limit : otherwise
    }
    // Of a fraction nothing is known.
    const factor = Number.isSafeInteger(keywords.get('multipleOf')) ? bound('multipleOf', 0) : 0
    const [least, most] = [bound('minimum', -Infinity), bound('maximum', Infinity)]
    const [over, under] = [bound('exclusiveMinimum', -Infinity), bound('exclusiveMaximum', Infinity)]
    if (factor === 0 && least === -Infinity && most === Infinity && over === -Infinity && under === Infinity) return 0
    return this.#writer.doubles(least, most, over, under, factor)
  }

  #strings(keywords: Keywords): number {
    const format = keywords.get('format')
    const known = isString(format) && formatOf(format) !== undefined ? (formats.get(format) ?? unknownFormat) : 0
    const [least, most] = sizes(keywords, 'minLength', 'maxLength')
    const pattern = keywords.get('pattern')
    if (known === 0 && least === 0 && most === mostWord && pattern === undefined) return 0
    return this.#writer.words(least, most, known, isString(pattern) ? this.#pattern(pattern) : 0)
  }

  #pattern(source: string): number {
    const whole = wholePattern(source, mostSets, this.#budget)
    if (whole === undefined) return unknownPattern
    return this.#writer.words(whole.first, whole.width, ...whole.kinds, ...whole.rows)
  }

  #arrays(keywords: Keywords, place: Place): number {
    const items = keywords.get('items')
    const positional = isArray(items) ? 'items' : 'prefixItems'
    const list = keywords.get(positional)
    const before = isArray(list) ? list.map((_, index) => this.#schema(place.child(positional, index))) : []
    const rest = this.#child(keywords, place, isArray(items) ? 'additionalItems' : 'items')
    const [least, most] = sizes(keywords, 'minItems', 'maxItems')
    if (rest === 0 && before.length === 0 && least === 0 && most === mostWord) return 0
    return this.#writer.words(least, most, rest, before.length, ...before)
  }

  #objects(keywords: Keywords, place: Place): number {
    const [least, most] = sizes(keywords, 'minProperties', 'maxProperties')
    const list = keywords.get('required')
    const required = new Set(isArray(list) ? list.filter(isString) : [])
    const properties = keywords.get('properties')
    const declared = isObject(properties) ? Object.keys(properties) : []
    // What a pattern names is none of the rest.
    const rest = keywords.has('patternProperties') ? this.#schema(undefined) : this.#child(keywords, place, 'additionalProperties')
    if (required.size + declared.length + rest === 0 && least === 0 && most === mostWord) return 0
    // What is required and not declared is one of the rest. A name with half of a surrogate pair is in no text.
    const names = [...new Set([...declared, ...required])].filter(name => !loneSurrogate.test(name))
    const members = names.flatMap(name => {
      this.#budget.spend(20 + name.length)
      const schema = isObject(properties) && Object.hasOwn(properties, name) ? this.#schema(place.child('properties', name)) : rest
      return [...this.#writer.text(name), Number(required.has(name)), schema]
    })
    return this.#writer.words(least, most, required.size, rest, names.length, ...members)
  }

  #values(keywords: Keywords): number {
    const list = keywords.get('enum')
    const constant = keywords.get('const')
    const values = constant !== undefined ? [constant] : isArray(list) ? list : undefined
    if (values === undefined) return 0
    const scalars = values.filter(value => !isArray(value) && !isObject(value) && !(isString(value) && loneSurrogate.test(value)))
    this.#budget.spend(20 * scalars.length)
    const entries = scalars.map((value): readonly number[] => {
      if (isString(value)) return [ofStrings, 0, ...this.#writer.text(value)]
      if (typeof value === 'boolean') return [kindOf('boolean'), 0, value ? 0x74 : 0x66, 0]
      return typeof value === 'number' ? [ofNumbers, 0, 0, 0] : [kindOf('null'), 0, 0, 0]
    })
    const at = this.#writer.words(entries.length, 0, ...entries.flat())
    for (const [index, value] of scalars.entries()) if (typeof value === 'number') this.#writer.setDouble(at + 16 * (index + 1), value)
    return at
  }

  #others(keywords: Keywords, place: Place): number {
    const found: (readonly number[])[] = []
    for (const [name, what] of combinations) {
      const value = keywords.get(name)
      if (value === undefined) continue
      const places = isArray(value) ? value.map((_, index) => place.child(name, index)) : [place.child(name)]
      found.push([what, places.length, ...places.map(one => this.#schema(one))])
    }
    for (const [name, { place: target, dynamic }] of place.targets) {
      if (keywords.has(name) && dynamic === undefined) found.push([all, 1, this.#schema(target)])
    }
    return found.length === 0 ? 0 : this.#writer.words(found.length, ...found.flat())
  }
}

type Keywords = ReadonlyMap<string, Json>

const typesOf = (value: Json | undefined): number => {
  if (value === undefined) return ofAll
  return (isArray(value) ? value : [value]).reduce<number>((sum, type) => sum | (isString(type) ? kindOf(type) : 0), 0)
}

/** Whole numbers, as `least` and `most` of what is counted. */
const sizes = (keywords: Keywords, min: string, max: string): readonly [number, number] => {
  const [least, most] = [keywords.get(min), keywords.get(max)]
  return [
    typeof least === 'number' ? Math.min(Math.max(0, Math.ceil(least)), mostWord) : 0,
    typeof most === 'number' ? Math.min(Math.max(0, Math.floor(most)), mostWord) : mostWord,
  ]
}

/** The types of values of which the table cannot say all. */
const unknownIn = (keywords: Keywords, place: Place): number => {
  let unknown = 0
  for (const [name, value] of keywords) unknown |= leftOpen(name, value, keywords, place)
  return unknown
}

/** Keywords of which the table says all; without `if`, `then` and `else` say nothing. */
const supported: ReadonlySet<string> = new Set((
  'type enum exclusiveMinimum exclusiveMaximum minLength maxLength format pattern properties required additionalProperties minProperties maxProperties ' +
  'items prefixItems additionalItems minItems maxItems allOf anyOf oneOf not $defs definitions contentSchema $id $anchor $dynamicAnchor then else'
).split(' '))

const leftOpen = (name: string, value: Json, keywords: Keywords, place: Place): number => {
  switch (name) {
    case 'const':
      return keywords.has('enum') ? ofAll : 0
    // Up to draft-04 a flag beside a bound excludes the bound itself.
    case 'minimum':
    case 'maximum':
      return isObject(place.schema) && typeof member(place.schema, name === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum') === 'boolean' ? ofNumbers : 0
    case 'multipleOf':
      return Number.isSafeInteger(value) ? 0 : ofNumbers
    case 'uniqueItems':
      return value === true ? ofArrays : 0
    case '$ref':
    case '$dynamicRef':
    case '$recursiveRef':
      return place.targets.get(name)?.dynamic === undefined ? 0 : ofAll
    default:
      return supported.has(name) ? 0 : kindOf(jsonSchemaKeywords.get(name)?.of ?? '') || ofAll
  }
}
