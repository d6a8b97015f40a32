import * as layout from '#relay/judge/layout.js'
import { isList, isRecord, isString } from '#relay/protocol/unmetered.js'
import { loneSurrogate } from '#relay/protocol/ambiguity.js'
import { Budget } from '../budget.js'
import type { SchemaNode } from '../schema-node.js'
import { keywordsAt } from '../keywords/index.js'
import { formatOf } from '../keywords/formats.js'
import { failed, matched, type Dfa } from '../pattern/automaton.js'
import { wholePattern } from '../pattern/pattern.js'
import {
  mayBeSole, onlyAssertion, soleTarget, typeOf, typesOf, unsupportedIn, type Keywords,
} from './support.js'
import { Writer } from './writer.js'

/** A schema in the form in which the byte validator reads it (src/relay/judge/layout.ts). */
export type Table = Buffer

/** Patterns whose DFA would have more states are not supported. */
const maxStates = 300

const combinations: ReadonlyMap<string, number> = new Map([
  ['allOf', layout.ALL_OF], ['anyOf', layout.ANY_OF], ['oneOf', layout.ONE_OF], ['not', layout.NOT],
])

/** References that are followed from one to the next. A longer chain, or a circle, is a combination. */
const maxHops = 8

const maxWord = 0xffffffff

/** Printing characters of ASCII that JSON spells as they are. */
const plainName = /^[ !#-[\]-~]*$/

/** The DFAs of the formats' patterns. */
const automata = new Map<string, Dfa | undefined>()

const automatonOf = (pattern: string): Dfa | undefined => {
  if (!automata.has(pattern)) automata.set(pattern, wholePattern(pattern, maxStates, new Budget(2 ** 20)))
  return automata.get(pattern)
}

/**
 * Compiles a schema for the byte validator. Unsupported keywords give UNKNOWN, so that the evaluator decides.
 * @returns undefined when the table would be too large
 * @throws Exhausted
 */
export const tableOf = (root: SchemaNode, budget: Budget): Table | undefined => {
  const writer = new TableWriter(root, budget)
  writer.advance(-Infinity)
  return writer.table
}

/** Writes a table in slices. */
export class TableWriter {
  readonly #writer = new Writer()
  readonly #nodes = new Map<SchemaNode, number>()
  readonly #left: (readonly [SchemaNode, number])[] = []
  /** The offset of each pattern's DFA. */
  readonly #patterns = new Map<string, number>()
  #nothing: number | undefined
  /** Undefined until it is made, and when it would be too large. */
  table: Table | undefined

  constructor(root: SchemaNode, private readonly budget: Budget) {
    // The schema that allows everything is written by the byte validator.
    const start = this.#writer.reserve(layout.ROOT + 4)
    this.#writer.setWord(start + layout.ROOT, this.#schema(root))
  }

  /**
   * Goes on until no more steps than these are left.
   * @returns false when there is more to write
   * @throws Exhausted
   */
  advance(steps: number): boolean {
    for (let next = this.#left.pop(); next !== undefined; next = this.#left.pop()) {
      this.#fill(...next)
      if (this.#writer.length > layout.TABLE_BYTES) return true
      if (this.budget.left < steps && this.#left.length > 0) return false
    }
    this.budget.keep(this.#writer.length)
    this.table = this.#writer.bytes
    return true
  }

  /** The offset of a keyword's schema; 0 if there is none. */
  #child(keywords: Keywords, node: SchemaNode, name: string): number {
    return keywords.has(name) ? this.#schema(node.child(name)) : 0
  }

  /** The offset of a schema; 0 if it allows everything. Without a node, all its types are unsupported. */
  #schema(node: SchemaNode | undefined): number {
    for (let hop = 0; node !== undefined && hop < maxHops && mayBeSole(node); hop++) {
      const target = soleTarget(node, this.#keywordsOf(node))
      if (target === undefined) break
      node = target
    }
    if (node === undefined) {
      return this.#writer.words(record(
        layout.SCHEMA_BYTES, [layout.TYPES, layout.ALL_TYPES], [layout.UNSUPPORTED, layout.ALL_TYPES],
      ))
    }
    if (node.schema === true) return 0
    if (node.schema === false) return (this.#nothing ??= this.#writer.reserve(layout.SCHEMA_BYTES))
    const known = this.#nodes.get(node)
    if (known !== undefined) return known
    this.budget.spend(200)
    const at = this.#writer.reserve(layout.SCHEMA_BYTES)
    this.#nodes.set(node, at)
    this.#left.push([node, at])
    return at
  }

  #keywordsOf(node: SchemaNode): Keywords {
    const keywords = new Map(keywordsAt(node).map(([{ name }, value]) => [name, value]))
    this.budget.spend(50 * keywords.size)
    return keywords
  }

  #fill(node: SchemaNode, at: number): void {
    const keywords = this.#keywordsOf(node)
    const set = (offset: number, value: number) => this.#writer.setWord(at + offset, value)
    const unsupported = unsupportedIn(keywords, node)
    const combined = this.#combinations(keywords, node)
    set(layout.TYPES, typesOf(keywords.get('type')))
    set(layout.UNSUPPORTED, unsupported)
    set(layout.IS_SIMPLE, Number(unsupported + combined === 0))
    set(layout.NUMBER_RULES, this.#numbers(keywords))
    set(layout.STRING_RULES, this.#strings(keywords))
    set(layout.ARRAY_RULES, this.#arrays(keywords, node))
    set(layout.OBJECT_RULES, this.#objects(keywords, node))
    set(layout.LISTED_VALUES, this.#values(keywords))
    set(layout.COMBINATIONS, combined)
    const only = onlyAssertion(keywords)
    if (only === 'anyOf' || only === 'oneOf') set(layout.CHOICE, combined + layout.FIRST_COMBINATION)
  }

  #numbers(keywords: Keywords): number {
    const bound = (name: string, otherwise: number) => {
      const limit = keywords.get(name)
      return typeof limit === 'number' ? limit : otherwise
    }
    // A fraction is not supported.
    const factor = Number.isSafeInteger(keywords.get('multipleOf')) ? bound('multipleOf', 0) : 0
    const fields = [
      [layout.MINIMUM, bound('minimum', -Infinity), -Infinity],
      [layout.MAXIMUM, bound('maximum', Infinity), Infinity],
      [layout.EXCLUSIVE_MINIMUM, bound('exclusiveMinimum', -Infinity), -Infinity],
      [layout.EXCLUSIVE_MAXIMUM, bound('exclusiveMaximum', Infinity), Infinity],
      [layout.MULTIPLE_OF, factor, 0],
    ] as const
    if (fields.every(([, value, none]) => value === none)) return 0
    const at = this.#writer.reserve(layout.MULTIPLE_OF + 8)
    for (const [offset, value] of fields) this.#writer.setDouble(at + offset, value)
    return at
  }

  #strings(keywords: Keywords): number {
    const [name, source] = [keywords.get('format'), keywords.get('pattern')]
    const [least, most] = sizes(keywords, 'minLength', 'maxLength')
    const known = isString(name) ? formatOf(name) : undefined
    const format = known && this.#pattern(known.pattern, automatonOf)
    const make = (text: string) => wholePattern(text, maxStates, this.budget)
    const pattern = isString(source) ? this.#pattern(source, make) : 0
    if (format === undefined && least === 0 && most === maxWord && pattern === 0) return 0
    return this.#writer.words(record(
      layout.PATTERN + 4, [layout.MIN_LENGTH, least], [layout.MAX_LENGTH, most],
      [layout.FORMAT, format ?? 0], [layout.PATTERN, pattern],
    ))
  }

  #pattern(source: string | undefined, make: (source: string) => Dfa | undefined): number {
    const known = source === undefined ? layout.UNKNOWN_PATTERN : this.#patterns.get(source)
    if (known !== undefined || source === undefined) return known ?? layout.UNKNOWN_PATTERN
    const whole = make(source)
    const at = whole === undefined ? layout.UNKNOWN_PATTERN : this.#automaton(whole)
    this.#patterns.set(source, at)
    return at
  }

  /** Bytes beyond ASCII are one class. Three states are final: VALID, INVALID, UNKNOWN (for those bytes). */
  #automaton({ width, kinds, rows }: Dfa): number {
    const rowBytes = 4 * (width + 2)
    const count = rows.length / (width + 1)
    const final = (verdict: number) => rowBytes * (count + verdict)
    const stateOf = (number: number) => {
      if (number === matched) return final(layout.VALID)
      return number === failed ? final(layout.INVALID) : rowBytes * number
    }
    const verdictOf = (ends: number | undefined) => (ends === 1 ? layout.VALID : layout.INVALID)
    const words = Array.from({ length: count }, (_, index) => {
      const [ends, ...next] = rows.slice((width + 1) * index, (width + 1) * (index + 1))
      return [verdictOf(ends), ...next.map(stateOf), final(layout.UNKNOWN)]
    }).flat()
    for (const verdict of [layout.INVALID, layout.VALID, layout.UNKNOWN]) {
      words.push(verdict, ...Array.from({ length: width + 1 }, () => final(verdict)))
    }
    const at = this.#writer.reserve(layout.ROWS + 4 * words.length)
    this.#writer.setWord(at + layout.FIRST_STATE, 0)
    for (let byte = 0; byte < 256; byte++) {
      this.#writer.setHalf(at + layout.BYTE_CLASSES + 2 * byte, 4 * (1 + (kinds[byte] ?? width)))
    }
    for (const [index, word] of words.entries()) this.#writer.setWord(at + layout.ROWS + 4 * index, word)
    return at
  }

  #arrays(keywords: Keywords, node: SchemaNode): number {
    const items = keywords.get('items')
    const positional = isList(items) ? 'items' : 'prefixItems'
    const list = keywords.get(positional)
    const before = isList(list) ? list.map((_, index) => this.#schema(node.child(positional, index))) : []
    const rest = this.#child(keywords, node, isList(items) ? 'additionalItems' : 'items')
    const [least, most] = sizes(keywords, 'minItems', 'maxItems')
    if (rest === 0 && before.length === 0 && least === 0 && most === maxWord) return 0
    const sizesAndRest = record(
      layout.PREFIX_ITEMS, [layout.MIN_ITEMS, least], [layout.MAX_ITEMS, most],
      [layout.ITEMS, rest], [layout.PREFIX_COUNT, before.length],
    )
    return this.#writer.words([...sizesAndRest, ...before])
  }

  #objects(keywords: Keywords, node: SchemaNode): number {
    const [least, most] = sizes(keywords, 'minProperties', 'maxProperties')
    const list = keywords.get('required')
    const required = new Set(isList(list) ? list.filter(isString) : [])
    const properties = keywords.get('properties')
    const declared = isRecord(properties) ? Object.keys(properties) : []
    // A member that matches a pattern is not additional.
    const rest = keywords.has('patternProperties')
      ? this.#schema(undefined)
      : this.#child(keywords, node, 'additionalProperties')
    if (required.size + declared.length + rest === 0 && least === 0 && most === maxWord) return 0
    // Required members that are not declared are additional. No valid text has a name with a lone surrogate.
    const names = [...new Set([...declared, ...required])].filter(name => !loneSurrogate.test(name))
    const members = names.flatMap(name => {
      this.budget.spend(20 + name.length)
      const isDeclared = isRecord(properties) && Object.hasOwn(properties, name)
      const schema = isDeclared ? this.#schema(node.child('properties', name)) : rest
      const [at, length] = this.#writer.text(`${name}":`)
      return record(
        layout.MEMBER_BYTES, [layout.NAME, at], [layout.NAME_LENGTH, length - 2],
        [layout.TOKEN_LENGTH, plainName.test(name) ? length : 0],
        [layout.IS_REQUIRED, Number(required.has(name))], [layout.MEMBER_SCHEMA, schema],
      )
    })
    const others = record(
      layout.DECLARED, [layout.MIN_PROPERTIES, least], [layout.MAX_PROPERTIES, most],
      [layout.REQUIRED_COUNT, required.size], [layout.ADDITIONAL, rest],
      [layout.DECLARED_COUNT, names.length],
    )
    return this.#writer.words([...others, ...members])
  }

  #values(keywords: Keywords): number {
    const list = keywords.get('enum')
    const constant = keywords.get('const')
    const values = constant !== undefined ? [constant] : isList(list) ? list : undefined
    if (values === undefined) return 0
    const scalars = values.filter(value =>
      !isList(value) && !isRecord(value) && !(isString(value) && loneSurrogate.test(value)))
    this.budget.spend(20 * scalars.length)
    const entries = scalars.flatMap(value => {
      const [word, length] = isString(value) ? this.#writer.text(value) : [value === true ? 0x74 : 0x66, 0]
      const type = typeOf(value === null ? 'null' : typeof value)
      return record(
        layout.VALUE_BYTES, [layout.VALUE_TYPE, type], [layout.VALUE, word], [layout.VALUE_LENGTH, length])
    })
    const header = record(layout.VALUES, [layout.VALUE_COUNT, scalars.length])
    const at = this.#writer.words([...header, ...entries])
    for (const [index, value] of scalars.entries()) {
      const entry = at + layout.VALUES + layout.VALUE_BYTES * index
      if (typeof value === 'number') this.#writer.setDouble(entry + layout.VALUE, value)
    }
    return at
  }

  #combinations(keywords: Keywords, node: SchemaNode): number {
    const found: number[] = []
    let count = 0
    const add = (kind: number, nodes: readonly (SchemaNode | undefined)[]) => {
      count++
      found.push(...record(layout.SCHEMAS, [layout.KIND, kind], [layout.SCHEMA_COUNT, nodes.length]))
      found.push(...nodes.map(one => this.#schema(one)))
    }
    for (const [name, kind] of combinations) {
      const value = keywords.get(name)
      if (value === undefined) continue
      add(kind, isList(value) ? value.map((_, index) => node.child(name, index)) : [node.child(name)])
    }
    for (const [name, { node: target, dynamic }] of node.targets) {
      if (keywords.has(name) && dynamic === undefined) add(layout.ALL_OF, [target])
    }
    if (count === 0) return 0
    return this.#writer.words([
      ...record(layout.FIRST_COMBINATION, [layout.COMBINATION_COUNT, count]), ...found,
    ])
  }
}

/** A record of words; fields are at offsets in bytes, and all others are 0. */
const record = (
  bytes: number, ...fields: readonly (readonly [offset: number, value: number])[]
): readonly number[] => {
  const words = Array.from({ length: bytes / 4 }, () => 0)
  for (const [offset, value] of fields) words[offset / 4] = value
  return words
}

/** The least and the greatest count that two keywords allow. */
const sizes = (keywords: Keywords, min: string, max: string): readonly [number, number] => {
  const [least, most] = [keywords.get(min), keywords.get(max)]
  return [
    typeof least === 'number' ? Math.min(Math.max(0, Math.ceil(least)), maxWord) : 0,
    typeof most === 'number' ? Math.min(Math.max(0, Math.floor(most)), maxWord) : maxWord,
  ]
}
