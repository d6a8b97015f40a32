import { equal, type JsonObject } from '#relay/protocol/json.js'
import type { Schema, Tool } from './vocabulary.js'

/** A definition of a tool that was listed, and the number of `list_changed` notifications before it. */
interface Variant {
  readonly tool: Tool
  readonly generation: number
}

/**
 * Most older variants of a tool. Beyond them the oldest stay, so that a server cannot displace the definition
 * that the client was shown by listing many others.
 */
const maxVariants = 16

/**
 * The listed definitions of each tool, the newest first. A server may show the relay and the client different
 * schemas, so a call is validated against every variant since the last `list_changed`.
 */
export class Variants {
  readonly #variants = new Map<string, readonly Variant[]>()
  readonly #weightOf: (definition: JsonObject) => number
  /** Memory of the older variants, in bytes, for the session's ledger. */
  weight = 0

  constructor(weightOf: (definition: JsonObject) => number) {
    this.#weightOf = weightOf
  }

  names(): Iterable<string> {
    return this.#variants.keys()
  }

  /** @returns the tool with the schemas of all its variants */
  add(tool: Tool, generation: number): Tool {
    const others =
      this.#since(tool.name, generation).filter(variant => variant.tool.definition !== tool.definition)
    const variants = [{ tool, generation }, ...others.slice(-maxVariants)]
    this.#keep(tool.name, variants)
    if (variants.length === 1) return tool
    return {
      ...tool,
      inputSchemas: distinct(variants.flatMap(variant => variant.tool.inputSchemas)),
      outputSchemas: distinct(variants.flatMap(variant => variant.tool.outputSchemas)),
    }
  }

  /** Forgets the variants of a tool that is no longer listed, except those since the last list_changed. */
  forgetUnlisted(name: string, generation: number): void {
    this.#keep(name, this.#since(name, generation))
  }

  /** The variants of the tool since the last list_changed. */
  #since(name: string, last: number): readonly Variant[] {
    return (this.#variants.get(name) ?? []).filter(({ generation }) => generation === last)
  }

  #keep(name: string, variants: readonly Variant[]): void {
    this.weight += this.#olderWeight(variants) - this.#olderWeight(this.#variants.get(name))
    if (variants.length > 0) this.#variants.set(name, variants)
    else this.#variants.delete(name)
  }

  #olderWeight(variants: readonly Variant[] = []): number {
    return variants.slice(1).reduce((sum, { tool }) => sum + this.#weightOf(tool.definition), 0)
  }
}

const distinct = (schemas: readonly Schema[]): readonly Schema[] =>
  schemas.filter((schema, index) => schemas.findIndex(one => equal(one, schema)) === index)
