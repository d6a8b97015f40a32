import type { SchemaProblem } from '../core/check.js'
import { isObject, isString, member, pointer, type Json } from '../protocol/json.js'
import { clip } from '../protocol/quote.js'
import { findCycle } from './cycles.js'
import { defaultDialect, dialectOf, idKeyword, isLegacy, type Dialect } from './dialect.js'
import { Place, type Base, type Document, type Resource } from './document.js'
import { canonical } from './equal.js'
import { References } from './references.js'
import { misshapen, schemasIn } from './shape-check.js'
import { shapesOf } from './shapes.js'
import { resolve, unnamed } from './uri.js'

/** A problem of a schema; `path` is a JSON Pointer into the schema. */
type Problem = SchemaProblem

export interface Inspected {
  /** The schema, read and with its references resolved; undefined when it cannot be used. */
  readonly root: Place | undefined
  /** Every schema in it, the root first. */
  readonly places: readonly Place[]
  readonly problems: readonly Problem[]
}

const mostProblems = 20

/**
 * Reads a schema that keeps the limits of bytes and depth: its dialect, the shape of every keyword, its ids and anchors, where its
 * references lead.
 * @param subschemas the most that there may be
 */
export const inspect = (schema: Json, subschemas: number): Inspected => new Inspection(subschemas).run(schema)

const failed = (problems: readonly Problem[]): Inspected => ({ root: undefined, places: [], problems })

const problem = (kind: Problem['kind'], at: string, message: string): Problem => ({ kind, path: clipped(at), message })

/** A pointer whose parts are fit for a message: escaped again after the cut. */
const clipped = (at: string): string =>
  pointer(...at.split('/').slice(1).map(part => clip(part.replace(/~1/g, '/').replace(/~0/g, '~'))))

class TooMany extends Error {}

/** One reading of one schema; nothing of it is shared with another's. */
export class Inspection {
  readonly resources = new Map<string, Resource>()
  readonly places: Place[] = []
  readonly #problems: Problem[] = []
  readonly #references = new References(this)
  #room: number
  /** Comparing is as long as the schemas are: a few twins are forgiven, thousands are made to cost. */
  #twins = 20

  constructor(subschemas: number) {
    this.#room = subschemas
  }

  run(schema: Json): Inspected {
    const dialect = this.#dialectOf(schema, '', defaultDialect)
    if (dialect === undefined) return failed(this.#problems)
    try {
      const root = this.open(schema, unnamed, dialect)
      this.#references.resolveAll()
      const cycle = findCycle(this.places)
      if (cycle !== undefined) this.report('schema', cycle.pointer, 'refers to itself without end ($ref)')
      return this.#problems.length > 0 ? failed(this.#problems) : { root, places: this.places, problems: [] }
    } catch (error) {
      if (error instanceof TooMany) return failed([problem('cost', '', 'has too many subschemas')])
      throw error
    }
  }

  report(kind: Problem['kind'], at: string, message: string): void {
    if (this.#problems.length < mostProblems) this.#problems.push(problem(kind, at, message))
  }

  /** Reads a whole document that is found at `uri`. */
  open(json: Json, uri: string, dialect: Dialect): Place | undefined {
    return this.read(json, '', { json, places: new Map() }, { uri, dialect })
  }

  /** An official document is not the server's: its schemas do not count against the limit. */
  openOfficial(json: Json, uri: string): void {
    const dialect = this.#dialectOf(json, '', defaultDialect)
    const room = this.#room
    this.#room = Infinity
    const root = dialect === undefined ? undefined : this.open(json, uri, dialect)
    this.#room = room
    if (root !== undefined) this.resources.set(uri, root.resource)
  }

  /**
   * Reads the schema at a pointer and all below it.
   * @param base the resource that it is part of, or for the root of a document its address
   */
  read(json: Json, at: string, document: Document, base: Base): Place | undefined {
    if (--this.#room < 0) throw new TooMany()
    if (!isObject(json) && (typeof json !== 'boolean' || base.dialect === 'draft-04')) {
      this.report('schema', at, base.dialect === 'draft-04' ? 'must be an object' : 'must be an object or a boolean')
      return undefined
    }
    const place = this.#place(json, at, document, base)
    document.places.set(at, place)
    this.places.push(place)
    if (isObject(place.schema)) this.#keywords(place, document)
    return place
  }

  #place(schema: Place['schema'], at: string, document: Document, base: Base): Place {
    const { own, anchor } = this.#identity(schema, at, base)
    const place = new Place(schema, at, document, own ?? base)
    if (place.isResource) this.#claim(place.resource)
    if (anchor !== undefined) this.#anchor(place, anchor)
    return place
  }

  /** What a schema's id says: where it is (undefined when it is part of its base), its anchor (up to draft-07). */
  #identity(schema: Place['schema'], at: string, base: Base): { own?: Base; anchor?: string } {
    const keyword = idKeyword(base.dialect)
    const id = isObject(schema) ? member(schema, keyword) : undefined
    const legacy = isLegacy(base.dialect)
    // Up to draft-07 a $ref hides the id beside it.
    if (!isString(id) || !isObject(schema) || (legacy && isString(member(schema, '$ref')))) return {}
    const address = resolve(base.uri, id)
    if (address === undefined) {
      this.report('schema', `${at}/${keyword}`, `must be a URI (${keyword})`)
      return {}
    }
    const anchor = legacy && address.fragment !== '' ? { anchor: address.fragment } : {}
    if (address.uri === base.uri) return anchor
    return { own: { uri: address.uri, dialect: this.#dialectOf(schema, at, base.dialect) ?? base.dialect }, ...anchor }
  }

  #dialectOf(schema: Json, at: string, otherwise: Dialect): Dialect | undefined {
    const named = isObject(schema) ? member(schema, '$schema') : undefined
    if (named === undefined) return otherwise
    const dialect = isString(named) ? dialectOf(named) : undefined
    if (dialect === undefined) this.report('schema', `${at}/$schema`, 'names an unknown dialect ($schema)')
    return dialect
  }

  /** The same schema inlined twice is harmless; two that differ would make a reference ambiguous. */
  #claim(resource: Resource): void {
    const other = this.resources.get(resource.uri)
    if (other === undefined) this.resources.set(resource.uri, resource)
    else this.#refuseTwin(other.root, resource.root, idKeyword(resource.dialect))
  }

  #anchor(place: Place, name: string, anchors = place.resource.anchors): void {
    const other = anchors.get(name)
    if (other === undefined) anchors.set(name, place)
    else if (other !== place) this.#refuseTwin(other, place, '$anchor')
  }

  #refuseTwin(first: Place, second: Place, keyword: string): void {
    if (this.#twins-- > 0 && canonical(first.schema) === canonical(second.schema)) return
    this.report('schema', second.pointer, `has the name of another schema (${keyword})`)
  }

  #keywords(place: Place, document: Document): void {
    const { schema, resource, pointer: at } = place
    if (!isObject(schema)) return
    const shapes = shapesOf(resource.dialect)
    for (const keyword of Object.keys(schema)) {
      const value = schema[keyword] ?? null
      const shape = shapes.get(keyword)
      if (shape === undefined) continue
      const fault = misshapen(shape, value)
      if (fault !== undefined) this.report('schema', `${at}/${keyword}`, `${fault} (${keyword})`)
      else {
        for (const [keys, child] of schemasIn(shape, value)) {
          const below = `/${keyword}${pointer(...keys)}`
          const read = this.read(child, at + below, document, resource)
          if (read !== undefined) place.children.set(below, read)
        }
      }
    }
    this.#draft04(place)
    this.#names(place)
    this.#references.collect(place)
  }

  #draft04({ schema, resource, pointer: at }: Place): void {
    if (resource.dialect !== 'draft-04' || !isObject(schema)) return
    for (const [flag, bound] of [['exclusiveMaximum', 'maximum'], ['exclusiveMinimum', 'minimum']] as const) {
      if (Object.hasOwn(schema, flag) && !Object.hasOwn(schema, bound)) {
        this.report('schema', `${at}/${flag}`, `needs ${bound} beside it (${flag})`)
      }
    }
  }

  #names(place: Place): void {
    const { schema, resource } = place
    if (!isObject(schema) || isLegacy(resource.dialect)) return
    const anchor = member(schema, '$anchor')
    if (isString(anchor)) this.#anchor(place, anchor)
    if (resource.dialect === '2020-12') {
      const dynamic = member(schema, '$dynamicAnchor')
      if (!isString(dynamic)) return
      this.#anchor(place, dynamic)
      this.#anchor(place, dynamic, resource.dynamicAnchors)
    } else if (member(schema, '$recursiveAnchor') === true && place.isResource) resource.recursive = true
  }
}

