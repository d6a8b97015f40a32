import {
  each, isArray, isObject, isString, weigh, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { schemasIn, referenceTarget } from '#relay/protocol/json-schema.js'

/** Most schemas copied in place of references, and most bytes (`weigh`); later references accept anything. */
const maxCopied = 2000
const maxCopiedBytes = 256 * 1024

/** The references of a schema: each is kept, or its target is copied in its place. */
export class References {
  /** True if each reference names an entry of `$defs` or `definitions` that is kept. */
  readonly areKept: boolean
  /** True if a part of the schema has an id (`$id`, `id`): references in that part are relative to it. */
  #hasResources = false
  #copied = 0
  #copiedBytes = 0

  /** @param knows true for keywords of the profile */
  constructor(
    private readonly root: JsonObject,
    private readonly knows: (keyword: string) => boolean,
    private readonly meter: Meter,
  ) {
    this.areKept = this.#survey(root) && knows('$ref')
  }

  /** Counts a schema in a copy. */
  countCopied(): void {
    this.#copied++
  }

  /**
   * The schema to be copied in place of a reference, or why there is none, as a note for the model.
   * @param within the targets whose copies the reference is in: to copy one of them again would have no end
   */
  find(
    keyword: string, reference: Json, within: readonly Json[],
  ): { readonly target: Json } | { readonly note: string } {
    const isLocal = keyword === '$ref' && isString(reference) && !this.#hasResources
    if (isLocal) this.meter.pay(reference.length)
    const target = isLocal ? referenceTarget(this.root, reference) : undefined
    if (target === undefined) return { note: 'accepts any type' }
    if (within.includes(target)) return { note: 'has the same structure again' }
    return this.#hasRoomFor(target) ? { target } : { note: 'accepts any type' }
  }

  #hasRoomFor(target: Json): boolean {
    if (this.#copied > maxCopied || this.#copiedBytes > maxCopiedBytes) return false
    const weight = weigh(target, maxCopiedBytes)
    this.meter.pay(weight >>> 6)
    this.#copiedBytes += weight
    return this.#copiedBytes <= maxCopiedBytes
  }

  /** @returns true if each reference names an entry of `$defs` or `definitions` that is kept */
  #survey(value: Json): boolean {
    this.meter.pay(1)
    let isPlain = true
    if (isArray(value)) for (const [, one] of each(value, this.meter)) isPlain = this.#survey(one) && isPlain
    if (!isObject(value)) return isPlain
    for (const [keyword, child] of each(value, this.meter)) {
      if (literals.has(keyword)) continue
      if (isString(child) && /^\$?id$/.test(keyword)) {
        if (value !== this.root) this.#hasResources = true
        isPlain = false
      } else if (isString(child) && /^\$(?:ref|dynamicRef|recursiveRef|anchor|dynamicAnchor)$/.test(keyword))
        isPlain = this.#isPlain(child) && isPlain
      // The names in a map of schemas are no keywords.
      const isMap = schemasIn(keyword) === 'members' && isObject(child)
      const parts = isMap ? [...each(child, this.meter)].map(([, one]) => one) : [child]
      for (const one of parts) isPlain = this.#survey(one) && isPlain
    }
    return isPlain
  }

  #isPlain(reference: string): boolean {
    const [, keyword] = /^#\/(\$defs|definitions)\/[^/%~]+$/.exec(reference) ?? []
    return keyword !== undefined && this.knows(keyword)
  }
}

/** Their values are data, not schemas. */
const literals: ReadonlySet<string> = new Set(['default', 'examples', 'enum', 'const'])
