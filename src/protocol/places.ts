import { each, isArray, isObject, isString, member, type Json, type JsonArray, type JsonObject, type Meter } from './json.js'
import { every, hasToolMember, methodOf, place, placeWhen, type Kind, type Place } from './methods.js'
import { wirePath } from './quote.js'

type Way = readonly (string | number)[]

/** Something that is judged, and where it stands. */
class Found<Its extends Kind, Value extends Json> {
  /**
   * @param holder from which its place is counted: of the outcome of a task, the task's state
   * @param at JSON Pointer of the value that was searched
   * @param way from there
   */
  constructor(readonly kind: Its, readonly value: Value, readonly holder: JsonObject, readonly at: string, readonly way: Way) {}

  /** JSON Pointer into the frame. */
  get path(): string {
    return this.at + wirePath(...this.way)
  }
}

const linkKinds = ['icon', 'website', 'uri'] as const

type LinkKind = (typeof linkKinds)[number]

const isLinkKind = (kind: Kind): kind is LinkKind => (linkKinds as readonly Kind[]).includes(kind)

const partKinds = ['block', 'sampled', 'resource', 'listed'] as const

type PartKind = (typeof partKinds)[number]

const isPartKind = (kind: Kind): kind is PartKind => (partKinds as readonly Kind[]).includes(kind)

/** A piece of content, or a resource as it is listed. */
export type Part = Found<PartKind, JsonObject>

/** What a client may fetch or follow; of whatever type, where a URI or an Icon belongs. */
export type Link = Found<LinkKind, Json>

/** Where a tool's result belongs; of whatever type. */
export type Outcome = Found<'outcome', Json>

/** What a server asks for in another message: a request, or the params of one. */
export type Requested = Found<'request' | 'elicitation', JsonObject>

/** What stands in a part of a message, sorted by who judges it. */
export interface Collected {
  readonly parts: readonly Part[]
  readonly links: readonly Link[]
  readonly requests: readonly Requested[]
  readonly outcomes: readonly Outcome[]
}

const isModern = (_: JsonObject, modern: boolean): boolean => modern
const isOf = (type: string) => (block: JsonObject): boolean => member(block, 'type') === type
const isLink = isOf('resource_link')

/** In every result, and in the state of every task (2026-07-28, InputRequiredResult, ResultMetaObject; SEP-2663). */
const inEveryResult: readonly Place[] = [
  placeWhen(isModern, 'request', 'inputRequests', every),
  placeWhen(isModern, 'implementation', '_meta', 'io.modelcontextprotocol/serverInfo'),
]

/** Of any error: its code decides nothing for a client that looks for elicitations (2025-11-25, URLElicitationRequiredError). */
const inEveryError: readonly Place[] = [place('elicitation', 'data', 'elicitations')]

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
  task: [place('outcome', 'result'), placeWhen(hasToolMember, 'outcome'), placeWhen(isModern, 'request', 'inputRequests', every)],
}

const none: readonly Place[] = []

/** Steps for one value on a way, and for one at its end. */
const perValue = 4
const perThing = 16

/** A holder or an array that a walk is in. */
interface Open {
  /** @returns false when there was nothing more in it */
  readonly step: () => boolean
  readonly outer: Open | undefined
}

/** Finds what is judged in a part of a message: name the part, then call `find` until it is done. */
export class Places implements Collected {
  readonly parts: Part[] = []
  readonly links: Link[] = []
  readonly requests: Requested[] = []
  readonly outcomes: Outcome[] = []
  /** The innermost of the holders and arrays that the walk is in. */
  #open: Open | undefined = undefined

  /** @param at JSON Pointer of the value in the frame */
  constructor(readonly at: string, readonly modern: boolean, readonly meter: Meter) {}

  /** @returns true when all was found; false when the event loop should be handed back first @throws OverBudget */
  find(): boolean {
    while (this.#step()) if (this.meter.isTurnSpent) return false
    return true
  }

  /** All at once, for those who cannot hand back the event loop. @throws OverBudget */
  findAll(): this {
    while (this.#step());
    return this
  }

  /** In a part of a message of the server's. */
  in(part: 'params' | 'result' | 'error', method: string, value: JsonObject): this {
    if (part === 'error') return this.#below(value, inEveryError, [])
    if (part === 'params') return this.#below(value, methodOf(method)?.inParams, [])
    return this.#below(value, inEveryResult, []).#below(value, methodOf(method)?.inResult, [])
  }

  /** In a tool's result that is not at hand as a part of what was searched. */
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
    // Nearly all places are empty: only what has one is opened.
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

  /** Which of the places from there on has something in it. */
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
    // A way is copied at each step.
    this.meter.pay(key === undefined ? perThing + way.length : perValue + way.length)
    if (key === undefined && kind === 'outcome') {
      this.outcomes.push(this.#found(kind, value, holder, way))
      if (isObject(value)) this.#below(value, inside.outcome, way)
    } else if (isArray(value)) this.#eachAlong(value, holder, one, key === every ? step + 1 : step, way)
    else if (key === every && isObject(value)) this.#eachAlong(value, holder, one, step + 1, way)
    else if (key !== undefined) {
      if (isObject(value)) this.#along(member(value, key), holder, one, step + 1, [...way, key])
    } else if (isLinkKind(kind)) this.links.push(this.#found(kind, value, holder, way))
    else if (isObject(value) && kind !== 'outcome') {
      if (kind === 'request' || kind === 'elicitation') this.requests.push(this.#found(kind, value, holder, way))
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

  #found<Its extends Kind, Value extends Json>(kind: Its, value: Value, holder: JsonObject, way: Way): Found<Its, Value> {
    return new Found(kind, value, holder, this.at, way)
  }

  #inRequest(request: JsonObject, way: Way): void {
    const method = member(request, 'method')
    const params = member(request, 'params')
    if (isString(method) && isObject(params)) this.#below(params, methodOf(method)?.inParams, [...way, 'params'])
  }
}

/** A text block of a result, by its place in `content`, and among all that are texts. */
export interface Text {
  readonly index: number
  readonly place: number
  readonly text: string
  /** Where it looks like an object or array of JSON: that. */
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

/** Without what stands around it that some readers trim and others do not; most texts are told by their ends. */
const jsonIn = (text: string): string | undefined => {
  const trimmed = text.trim()
  const ends = trimmed.charAt(0) + trimmed.charAt(trimmed.length - 1)
  return ends === '{}' || ends === '[]' ? trimmed : undefined
}
