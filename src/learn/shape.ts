import { isArray, isString, type Json, type JsonObject } from '../protocol/unmetered.js'
import { Texts } from './texts.js'

/** What is deeper, or has more members, is data, not structure. */
const deepest = 32
const mostMembers = 256

/** Fewer keys than these show no pattern. */
const fewestKeys = 4

/** A key that no programmer would have given a member: a path, an address, a number, a date. */
const isData = (key: string): boolean => !/^[$@_\p{L}][\p{L}\p{N}_$ -]{0,63}$/u.test(key) || /\d{3}|[0-9a-f]{12}/i.test(key)

/** What the values in one place have in common; it grows with each. Of the values themselves it keeps a few short words. */
export class Shape {
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
  /** The last object that brought a member that was not known before, counted from 1. */
  newest = 0
  /** Of some values nothing is known. */
  isPartial = false
  readonly texts = new Texts()
  readonly members = new Map<string, Shape>()
  /** Of all elements of arrays. */
  items: Shape | undefined
  /** Of members beyond those that anybody declares. */
  #rest: Shape | undefined

  /** @param hidden what stands in the place of what was not kept */
  constructor(readonly hidden?: string) {}

  see(value: Json, depth = 0): void {
    this.count++
    if (value === null) this.nulls++
    else if (typeof value === 'boolean') this.booleans++
    else if (typeof value === 'number') this.#number(value)
    else if (isString(value)) this.#text(value)
    else if (isArray(value)) this.#array(value, depth)
    else this.#object(value, depth)
  }

  /** Takes in what was seen in another place. */
  add(other: Shape): void {
    this.count += other.count
    this.nulls += other.nulls
    this.booleans += other.booleans
    this.integers += other.integers
    this.fractions += other.fractions
    this.least = Math.min(this.least, other.least)
    this.most = Math.max(this.most, other.most)
    this.arrays += other.arrays
    this.shortest = Math.min(this.shortest, other.shortest)
    this.longest = Math.max(this.longest, other.longest)
    if (other.newest > 0) this.newest = this.objects + other.newest
    this.objects += other.objects
    this.isPartial ||= other.isPartial
    this.texts.add(other.texts)
    for (const [key, shape] of other.members) this.#member(key).add(shape)
    if (other.items) (this.items ??= new Shape(this.hidden)).add(other.items)
    if (other.#rest) (this.#rest ??= new Shape(this.hidden)).add(other.#rest)
  }

  /** Of the values of a map, an object that is keyed by data; undefined of a record. */
  get mapped(): Shape | undefined {
    if (!this.#isMap) return undefined
    const values = new Shape(this.hidden)
    for (const shape of this.members.values()) values.add(shape)
    if (this.#rest) values.add(this.#rest)
    return values
  }

  /** No key is in many of them, or all keys look like data; and the values are alike. */
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

  #text(text: string): void {
    if (this.hidden !== undefined && text.includes(this.hidden)) this.isPartial = true
    else this.texts.see(text)
  }

  #array(elements: readonly Json[], depth: number): void {
    this.arrays++
    this.shortest = Math.min(this.shortest, elements.length)
    this.longest = Math.max(this.longest, elements.length)
    if (depth >= deepest) return
    for (const element of elements) (this.items ??= new Shape(this.hidden)).see(element, depth + 1)
  }

  #object(object: JsonObject, depth: number): void {
    this.objects++
    if (depth >= deepest) return
    for (const [key, value = null] of Object.entries(object)) this.#member(key).see(value, depth + 1)
  }

  #member(key: string): Shape {
    const known = this.members.get(key)
    if (known !== undefined) return known
    if (this.members.size >= mostMembers) return (this.#rest ??= new Shape(this.hidden))
    this.newest = this.objects
    const made = new Shape(this.hidden)
    this.members.set(key, made)
    return made
  }
}

/** Of the same kinds, and objects with most of their members in common. */
const areAlike = (shapes: readonly Shape[]): boolean => {
  const [first, ...others] = shapes
  return first !== undefined && others.every(other => kindsOf(other) === kindsOf(first) && inCommon(first, other) >= 0.5)
}

const kindsOf = ({ booleans, integers, fractions, texts, objects, arrays }: Shape): string =>
  [booleans, integers + fractions, texts.count, objects, arrays].map(count => (count > 0 ? 1 : 0)).join('')

const inCommon = (a: Shape, b: Shape): number => {
  const all = new Set([...a.members.keys(), ...b.members.keys()])
  return all.size === 0 ? 1 : [...all].filter(key => a.members.has(key) && b.members.has(key)).length / all.size
}
