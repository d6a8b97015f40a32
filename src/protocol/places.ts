import {
  each, isArray, isObject, isString, member, type Json, type JsonArray, type JsonObject, type Meter,
} from './json.js'
import { wirePath } from './quote.js'
import {
  every, hasToolMember, isModern, isOf, place, placeWhen, type Kind, type Place,
} from './revisions/definition.js'
import { inEveryError, inEveryResult, methodOf } from './revisions/index.js'

type Way = readonly (string | number)[]

/** A value that a rule judges, and where it stands. */
class Found<Its extends Kind, Value extends Json> {
  /**
   * @param holder the object that its place is counted from: for the result of a task, the task's state
   * @param at JSON Pointer of the value that was searched
   * @param way steps from there
   */
  constructor(
    readonly kind: Its, readonly value: Value, readonly holder: JsonObject, readonly at: string,
    readonly way: Way,
  ) {}

  /** JSON Pointer into the frame. */
  get path(): string {
    return this.at + wirePath(...this.way)
  }
}

const oneOf = <One extends Kind>(...kinds: readonly One[]) =>
  (kind: Kind): kind is One => (kinds as readonly Kind[]).includes(kind)

const isLinkKind = oneOf('icon', 'website', 'uri')
const isPartKind = oneOf('block', 'sampled', 'resource', 'listed')

/** A block of content, the contents of a resource, or a resource as it is listed. */
export type Part = Found<'block' | 'sampled' | 'resource' | 'listed', JsonObject>

/** A value of any type where a client expects a URI or an Icon. */
export type Link = Found<'icon' | 'website' | 'uri', Json>

/** A value of any type where the result of a tool belongs. */
export type Outcome = Found<'outcome', Json>

/** A request inside another message, or the params of one. */
type Requested = Found<'request' | 'elicitation', JsonObject>

/** What a search found, by the rules that judge it. */
export interface Collected {
  readonly parts: readonly Part[]
  readonly links: readonly Link[]
  readonly requests: readonly Requested[]
  readonly outcomes: readonly Outcome[]
}

const isLink = isOf('resource_link')

const inBlock: readonly Place[] = [
  placeWhen(isOf('resource'), 'resource', 'resource'),
  placeWhen(isLink, 'uri', 'uri'),
  placeWhen(isLink, 'uri', 'icons', 'src'),
  placeWhen(isLink, 'icon', 'icons'),
]

const inside: Readonly<Partial<Record<Kind, readonly Place[]>>> = {
  outcome: [place('block', 'content')],
  block: inBlock,
  sampled: [...inBlock, placeWhen(isOf('tool_result'), 'block', 'content')],
  resource: [place('uri', 'uri')],
  listed: [place('uri', 'uri'), place('uri', 'uriTemplate'), place('icon', 'icons')],
  tool: [place('icon', 'icons')],
  prompt: [place('icon', 'icons')],
  implementation: [place('icon', 'icons'), place('website', 'websiteUrl')],
  elicitation: [place('uri', 'url')],
  task: [
    place('outcome', 'result'), placeWhen(hasToolMember, 'outcome'),
    placeWhen(isModern, 'request', 'inputRequests', every),
  ],
}

const none: readonly Place[] = []

/** Steps of the meter for each value on a way, and for the value at its end. */
const perValue = 4
const perFound = 16

/** An object or array that the search is in. */
interface Open {
  /** @returns false when nothing is left in it */
  readonly step: () => boolean
  readonly outer: Open | undefined
}

/** Finds the values that rules judge in a part of a message. Call `find` until it returns true. */
export class Places implements Collected {
  readonly parts: Part[] = []
  readonly links: Link[] = []
  readonly requests: Requested[] = []
  readonly outcomes: Outcome[] = []
  /** The innermost object or array that the search is in. */
  #open: Open | undefined = undefined

  /** @param at JSON Pointer of the value in the frame */
  constructor(readonly at: string, readonly modern: boolean, readonly meter: Meter) {}

  /**
   * @returns false when the event loop should be handed back before the search goes on
   * @throws OverBudget
   */
  find(): boolean {
    while (this.#step()) if (this.meter.isTurnSpent) return false
    return true
  }

  /** Searches without handing back the event loop. @throws OverBudget */
  findAll(): this {
    while (this.#step());
    return this
  }

  /** Names a part of a message from the server. */
  in(part: 'params' | 'result' | 'error', method: string, value: JsonObject): this {
    if (part === 'error') return this.#below(value, inEveryError, [])
    if (part === 'params') return this.#below(value, methodOf(method)?.inParams, [])
    return this.#below(value, inEveryResult, []).#below(value, methodOf(method)?.inResult, [])
  }

  /** Names the result of a tool. */
  inOutcome(result: JsonObject): this {
    return this.#below(result, inEveryResult, []).#below(result, inside.outcome, [])
  }

  inTool(tool: JsonObject): this {
    return this.#below(tool, inside.tool, [])
  }

  #step(): boolean {
    const open = this.#open
    if (open?.step() === false) this.#open = open.outer
    return open !== undefined
  }

  #below(holder: JsonObject, places: readonly Place[] = none, way: Way): this {
    // Nearly all places are empty: a holder is opened only when one is not.
    let next = this.#nextIn(holder, places, 0)
    if (next < places.length) {
      const step = () => {
        const one = places[next]
        if (one === undefined) return false
        next = this.#nextIn(holder, places, next + 1)
        this.#along(holder, holder, one, 0, way)
        return true
      }
      this.#open = { step, outer: this.#open }
    }
    return this
  }

  /** @returns the index of the next place that is not empty */
  #nextIn(holder: JsonObject, places: readonly Place[], from: number): number {
    for (let index = from; index < places.length; index++) {
      const one = places[index]
      const first = one?.way[0]
      const isThere = first === undefined || member(holder, first) !== undefined
      if (isThere && one?.when?.(holder, this.modern) !== false) return index
    }
    return places.length
  }

  /** @param step how many steps of the place's way lead to the value */
  #along(value: Json | undefined, holder: JsonObject, one: Place, step: number, way: Way): void {
    if (value === undefined || value === null) return
    const { kind, way: { [step]: key } } = one
    // The way is copied at each step.
    this.meter.pay(key === undefined ? perFound + way.length : perValue + way.length)
    if (key === undefined && kind === 'outcome') {
      this.outcomes.push(this.#found(kind, value, holder, way))
      if (isObject(value)) this.#below(value, inside.outcome, way)
    } else if (isArray(value)) this.#eachAlong(value, holder, one, key === every ? step + 1 : step, way)
    else if (key === every && isObject(value)) this.#eachAlong(value, holder, one, step + 1, way)
    else if (key !== undefined) {
      if (isObject(value)) this.#along(member(value, key), holder, one, step + 1, [...way, key])
    } else if (isLinkKind(kind)) this.links.push(this.#found(kind, value, holder, way))
    else if (isObject(value) && kind !== 'outcome') {
      const isRequested = kind === 'request' || kind === 'elicitation'
      if (isRequested) this.requests.push(this.#found(kind, value, holder, way))
      else if (isPartKind(kind)) this.parts.push(this.#found(kind, value, holder, way))
      this.#below(value, inside[kind], way)
      if (kind === 'request') this.#inRequest(value, way)
    }
  }

  #eachAlong(value: JsonArray | JsonObject, holder: JsonObject, one: Place, step: number, way: Way): void {
    const children = each(value, this.meter)
    const next = () => {
      const { done, value } = children.next()
      if (done !== true) this.#along(value[1], holder, one, step, [...way, value[0]])
      return done !== true
    }
    this.#open = { step: next, outer: this.#open }
  }

  #found<Its extends Kind, Value extends Json>(
    kind: Its, value: Value, holder: JsonObject, way: Way,
  ): Found<Its, Value> {
    return new Found(kind, value, holder, this.at, way)
  }

  #inRequest(request: JsonObject, way: Way): void {
    const method = member(request, 'method')
    const params = member(request, 'params')
    if (!isString(method) || !isObject(params)) return
    this.#below(params, methodOf(method)?.inParams, [...way, 'params'])
  }
}

/** A text block of a result. */
export interface Text {
  /** In `content`. */
  readonly index: number
  /** Among the text blocks. */
  readonly place: number
  readonly text: string
  /** The trimmed text, when it begins and ends as a JSON object or array does. */
  readonly json: string | undefined
}

export const textsOf = (result: JsonObject, meter: Meter): readonly Text[] => {
  const content = member(result, 'content')
  if (!isArray(content)) return []
  const texts: Text[] = []
  for (const [index, block] of each(content, meter)) {
    const text = isObject(block) && member(block, 'type') === 'text' ? member(block, 'text') : undefined
    if (isString(text)) texts.push({ index, place: texts.length, text, json: jsonIn(text) })
  }
  return texts
}

const jsonIn = (text: string): string | undefined => {
  const trimmed = text.trim()
  const ends = trimmed.charAt(0) + trimmed.charAt(trimmed.length - 1)
  return ends === '{}' || ends === '[]' ? trimmed : undefined
}
