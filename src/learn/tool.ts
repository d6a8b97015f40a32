import { promotionOf } from '../core/tool-results.js'
import { isArray, isObject, member, type JsonObject } from '../protocol/unmetered.js'
import { Meter } from '../protocol/json.js'
import { Blocks } from './blocks.js'
import { enough, membersIn, schemaOf, type Strictness } from './schema.js'
import { Shape } from './shape.js'

/** Fewer calls than these are marked, and what they show is only logged. */
export const fewest = 5

/**
 * structured: there is structuredContent. from-text: there is JSON in its one text block. prose: neither, in some result at least.
 */
export type Source = 'structured' | 'from-text' | 'prose'

/** few: fewer than five calls. fair: fewer than twenty, or the last half of them still brought something new. good: neither. */
export type Sureness = 'few' | 'fair' | 'good'

/** What a tool could be held to. */
export interface Contract {
  readonly source: Source
  readonly sureness: Sureness
  /** Results, those that are errors aside. */
  readonly calls: number
  readonly errors: number
  readonly members: number
  /** Of `structuredContent`; undefined where there is none, or where too little was seen of it to block by it. */
  readonly outputSchema: JsonObject | undefined
  /** Of the whole result: its blocks and their sizes; and of the structured content, where too little was seen of it for a schema of its own. */
  readonly resultSchema: JsonObject
}

/** What the results of one tool have in common. */
export class LearntTool {
  #calls = 0
  #errors = 0
  #structured = 0
  #fromText = 0
  /** Of `structuredContent`, or of the JSON in the text. */
  readonly #values: Shape
  readonly #blocks = new Blocks()

  /** @param hidden what stands in the place of what a capture does not keep */
  constructor(hidden?: string) {
    this.#values = new Shape(hidden)
  }

  see(result: JsonObject): void {
    // An error says what went wrong: it is nothing that others have in common.
    if (member(result, 'isError') === true) {
      this.#errors++
      return
    }
    this.#calls++
    const content = member(result, 'content')
    if (isArray(content)) this.#blocks.see(content)
    const structured = member(result, 'structuredContent')
    const value = structured ?? promotionOf(result, new Meter())?.value
    if (isObject(structured)) this.#structured++
    else if (isObject(value)) this.#fromText++
    if (isObject(value)) this.#values.see(value)
  }

  /** Undefined where nothing was seen but errors. */
  contract(strictness: Strictness): Contract | undefined {
    if (this.#calls === 0) return undefined
    const source = this.#structured === this.#calls ? 'structured' : this.#fromText === this.#calls ? 'from-text' : 'prose'
    const seen = { source, calls: this.#calls, errors: this.#errors, sureness: this.#sureness(source) } as const
    if (source === 'prose') return { ...seen, members: 0, outputSchema: undefined, resultSchema: this.#resultSchema(strictness, {}) }
    const schema = schemaOf(this.#values, strictness)
    const members = membersIn(this.#values)
    if (this.#calls >= fewest) return { ...seen, members, outputSchema: schema, resultSchema: this.#resultSchema(strictness, {}) }
    const structured = source === 'structured' ? { structuredContent: schema } : {}
    return { ...seen, members, outputSchema: undefined, resultSchema: this.#resultSchema(strictness, structured) }
  }

  #sureness(source: Source): Sureness {
    if (this.#calls < fewest) return 'few'
    const isSettled = source === 'prose' || this.#values.newest * 2 <= this.#values.objects
    return this.#calls >= enough && isSettled ? 'good' : 'fair'
  }

  #resultSchema(strictness: Strictness, more: JsonObject): JsonObject {
    const isError = { properties: { isError: { const: true } }, required: ['isError'] }
    const properties = { content: this.#blocks.schema(strictness), ...more }
    return { type: 'object', if: isError, else: { properties, required: Object.keys(properties) } }
  }
}
