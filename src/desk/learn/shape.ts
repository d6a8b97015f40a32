import { isList, isString, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { Texts } from './texts.js'

/** Deeper values are not examined. An object with more members is taken for a map that is keyed by data. */
const deepest = 32
const maxMembers = 256

/** An object with fewer keys is never taken for a map. */
const fewestKeys = 4

/** Whether a key looks like data (a path, an address, a number, a date), not like the name of a member. */
const isData = (key: string): boolean =>
  !/^[$@_\p{L}][\p{L}\p{N}_$ -]{0,63}$/u.test(key) || /\d{3}|[0-9a-f]{12}/i.test(key)

const counters = ['count', 'nulls', 'booleans', 'integers', 'fractions', 'arrays'] as const

/** The common shape of the values at one place: counts, bounds, and a few of the distinct texts. */
export class ValueShape {
  count = 0
  nulls = 0
  booleans = 0
  integers = 0
  fractions = 0
  least = Infinity
  most = -Infinity
  arrays = 0
  shortest = Infinity
  longest = 0
  objects = 0
  /** The last object with a new member, counted from 1. */
  newest = 0
  readonly texts = new Texts()
  readonly members = new Map<string, ValueShape>()
  /** The shape of all elements of arrays. */
  items: ValueShape | undefined
  /** The shape of all members beyond `maxMembers`. */
  #rest: ValueShape | undefined

  see(value: Data, depth = 0): void {
    this.count++
    if (value === null) this.nulls++
    else if (typeof value === 'boolean') this.booleans++
    else if (typeof value === 'number') this.#number(value)
    else if (isString(value)) this.texts.see(value)
    else if (isList(value)) this.#array(value, depth)
    else this.#object(value, depth)
  }

  /** Merges the shape of another place into this one. */
  add(other: ValueShape): void {
    for (const key of counters) this[key] += other[key]
    this.least = Math.min(this.least, other.least)
    this.most = Math.max(this.most, other.most)
    this.shortest = Math.min(this.shortest, other.shortest)
    this.longest = Math.max(this.longest, other.longest)
    if (other.newest > 0) this.newest = this.objects + other.newest
    this.objects += other.objects
    this.texts.add(other.texts)
    for (const [key, shape] of other.members) this.#member(key).add(shape)
    if (other.items) (this.items ??= new ValueShape()).add(other.items)
    if (other.#rest) (this.#rest ??= new ValueShape()).add(other.#rest)
  }

  /** The shape of a map's values; undefined unless the objects here are maps, which are keyed by data. */
  get mapped(): ValueShape | undefined {
    if (!this.#isMap) return undefined
    const values = new ValueShape()
    for (const shape of this.members.values()) values.add(shape)
    if (this.#rest) values.add(this.#rest)
    return values
  }

  /** Whether the values are alike, and all keys look like data or no key is in many of the objects. */
  get #isMap(): boolean {
    if (this.#rest !== undefined) return true
    const [keys, shapes] = [[...this.members.keys()], [...this.members.values()]]
    if (keys.length < fewestKeys || !areAlike(shapes)) return false
    if (keys.every(isData)) return true
    const held = shapes.reduce((sum, { count }) => sum + count, 0) / (keys.length * this.objects)
    return this.objects >= 5 && held < 0.25 && shapes.every(({ count }) => count < this.objects)
  }

  #number(value: number): void {
    if (Number.isInteger(value)) this.integers++
    else this.fractions++
    this.least = Math.min(this.least, value)
    this.most = Math.max(this.most, value)
  }

  #array(elements: readonly Data[], depth: number): void {
    this.arrays++
    this.shortest = Math.min(this.shortest, elements.length)
    this.longest = Math.max(this.longest, elements.length)
    if (depth >= deepest) return
    for (const element of elements) (this.items ??= new ValueShape()).see(element, depth + 1)
  }

  #object(object: DataObject, depth: number): void {
    this.objects++
    if (depth >= deepest) return
    for (const [key, value = null] of Object.entries(object)) this.#member(key).see(value, depth + 1)
  }

  #member(key: string): ValueShape {
    const known = this.members.get(key)
    if (known !== undefined) return known
    if (this.members.size >= maxMembers) return (this.#rest ??= new ValueShape())
    this.newest = this.objects
    const made = new ValueShape()
    this.members.set(key, made)
    return made
  }
}

/** Whether the shapes have the same types, and objects have most members in common. */
const areAlike = (shapes: readonly ValueShape[]): boolean => {
  const [first, ...others] = shapes
  return first !== undefined
    && others.every(other => kindsOf(other) === kindsOf(first) && inCommon(first, other) >= 0.5)
}

const kindsOf = ({ booleans, integers, fractions, texts, objects, arrays }: ValueShape): string =>
  [booleans, integers + fractions, texts.count, objects, arrays].map(count => (count > 0 ? 1 : 0)).join('')

const inCommon = (a: ValueShape, b: ValueShape): number => {
  const all = new Set([...a.members.keys(), ...b.members.keys()])
  return all.size === 0 ? 1 : [...all].filter(key => a.members.has(key) && b.members.has(key))
    .length / all.size
}
