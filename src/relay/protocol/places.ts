import {
  each, isArray, isObject, isString, member, type Json, type JsonArray, type JsonObject, type Meter,
} from './json.js'
import { wirePath } from './quote.js'
import {
  every, hasToolMember, isModern, isOf, place, placeWhen, type Kind, type Place,
} from './revisions/definition.js'
import { inEveryError, inEveryResult, methodOf } from './revisions/index.js'
import { beginsAsText, hasString } from './unread.js'

type Steps = readonly (string | number)[]

/** A value that a rule judges, and where it stands. */
class FoundValue<FoundKind extends Kind, Value extends Json> {
  /**
   * @param holder the object that contains the value's place; for a task's result, the state of the task
   * @param at JSON Pointer of the searched value
   * @param steps keys and indexes from `at`
   */
  constructor(
    readonly kind: FoundKind, readonly value: Value, readonly holder: JsonObject, readonly at: string,
    readonly steps: Steps,
  ) {}

  /** JSON Pointer into the frame. */
  get path(): string {
    return this.at + wirePath(...this.steps)
  }
}

const oneOf = <One extends Kind>(...kinds: readonly One[]) =>
  (kind: Kind): kind is One => (kinds as readonly Kind[]).includes(kind)

const isLinkKind = oneOf('icon', 'website', 'uri')
const isPartKind = oneOf('block', 'samplingContent', 'resource', 'listedResource')

/** A block of content, the contents of a resource, or a resource as it is listed. */
export type Part = FoundValue<'block' | 'samplingContent' | 'resource' | 'listedResource', JsonObject>

/** A value of any type where a client expects a URI or an Icon. */
export type Link = FoundValue<'icon' | 'website' | 'uri', Json>

/** A value at the place of a tool's result; a server may put any type there. */
export type Outcome = FoundValue<'toolResult', Json>

/** A request inside another message, or the params of an elicitation. */
type Requested = FoundValue<'request' | 'elicitation', JsonObject>

/** The values that a search found, one list for each group of rules. */
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
  toolResult: [place('block', 'content')],
  block: inBlock,
  samplingContent: [...inBlock, placeWhen(isOf('tool_result'), 'block', 'content')],
  resource: [place('uri', 'uri')],
  listedResource: [place('uri', 'uri'), place('uri', 'uriTemplate'), place('icon', 'icons')],
  tool: [place('icon', 'icons')],
  prompt: [place('icon', 'icons')],
  implementation: [place('icon', 'icons'), place('website', 'websiteUrl')],
  elicitation: [place('uri', 'url')],
  task: [
    place('toolResult', 'result'), placeWhen(hasToolMember, 'toolResult'),
    placeWhen(isModern, 'request', 'inputRequests', every),
  ],
}

const none: readonly Place[] = []

/** What the meter counts for each key that is followed, and for the value that is found. */
const perKey = 4
const perFound = 16

/** An object or array that the search is in. */
interface OpenContainer {
  /** @returns false when nothing is left in it */
  readonly step: () => boolean
  readonly outer: OpenContainer | undefined
}

/** Finds the values that rules judge in a part of a message. Call `find` until it returns true. */
export class Places implements Collected {
  readonly parts: Part[] = []
  readonly links: Link[] = []
  readonly requests: Requested[] = []
  readonly outcomes: Outcome[] = []
  /** The innermost object or array that the search is in. */
  #open: OpenContainer | undefined = undefined

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

  /** Adds a part of a server's message to the search. */
  addPart(part: 'params' | 'result' | 'error', method: string, value: JsonObject): this {
    if (part === 'error') return this.#searchPlaces(value, inEveryError, [])
    if (part === 'params') return this.#searchPlaces(value, methodOf(method)?.inParams, [])
    return this.#searchPlaces(value, inEveryResult, []).#searchPlaces(value, methodOf(method)?.inResult, [])
  }

  /** Adds the result of a tool. */
  addResult(result: JsonObject): this {
    return this.#searchPlaces(result, inEveryResult, []).#searchPlaces(result, inside.toolResult, [])
  }

  /** Adds the definition of a tool. */
  addTool(tool: JsonObject): this {
    return this.#searchPlaces(tool, inside.tool, [])
  }

  #step(): boolean {
    const open = this.#open
    if (open?.step() === false) this.#open = open.outer
    return open !== undefined
  }

  #searchPlaces(holder: JsonObject, places: readonly Place[] = none, steps: Steps): this {
    // Most places have no value, so a holder is searched only if one has.
    let next = this.#nextIn(holder, places, 0)
    if (next < places.length) {
      const step = () => {
        const one = places[next]
        if (one === undefined) return false
        next = this.#nextIn(holder, places, next + 1)
        this.#follow(holder, holder, one, 0, steps)
        return true
      }
      this.#open = { step, outer: this.#open }
    }
    return this
  }

  /** @returns the index of the next place that has a value */
  #nextIn(holder: JsonObject, places: readonly Place[], from: number): number {
    for (let index = from; index < places.length; index++) {
      const one = places[index]
      const first = one?.way[0]
      const isThere = first === undefined || member(holder, first) !== undefined
      if (isThere && one?.when?.(holder, this.modern) !== false) return index
    }
    return places.length
  }

  /** @param step index of the next key in `place.way` */
  #follow(value: Json | undefined, holder: JsonObject, one: Place, step: number, steps: Steps): void {
    if (value === undefined || value === null) return
    const { kind, way: { [step]: key } } = one
    // The steps are copied for each key.
    this.meter.pay(key === undefined ? perFound + steps.length : perKey + steps.length)
    if (key === undefined && kind === 'toolResult') {
      this.outcomes.push(this.#found(kind, value, holder, steps))
      if (isObject(value)) this.#searchPlaces(value, inside.toolResult, steps)
    } else if (isArray(value)) this.#followEach(value, holder, one, key === every ? step + 1 : step, steps)
    else if (key === every && isObject(value)) this.#followEach(value, holder, one, step + 1, steps)
    else if (key !== undefined) {
      if (isObject(value)) this.#follow(member(value, key), holder, one, step + 1, [...steps, key])
    } else if (isLinkKind(kind)) this.links.push(this.#found(kind, value, holder, steps))
    else if (isObject(value) && kind !== 'toolResult') {
      const isRequested = kind === 'request' || kind === 'elicitation'
      if (isRequested) this.requests.push(this.#found(kind, value, holder, steps))
      else if (isPartKind(kind)) this.parts.push(this.#found(kind, value, holder, steps))
      this.#searchPlaces(value, inside[kind], steps)
      if (kind === 'request') this.#inRequest(value, steps)
    }
  }

  #followEach(
    value: JsonArray | JsonObject, holder: JsonObject, one: Place, step: number, steps: Steps,
  ): void {
    const children = each(value, this.meter)
    const next = () => {
      const { done, value } = children.next()
      if (done !== true) this.#follow(value[1], holder, one, step, [...steps, value[0]])
      return done !== true
    }
    this.#open = { step: next, outer: this.#open }
  }

  #found<FoundKind extends Kind, Value extends Json>(
    kind: FoundKind, value: Value, holder: JsonObject, steps: Steps,
  ): FoundValue<FoundKind, Value> {
    return new FoundValue(kind, value, holder, this.at, steps)
  }

  #inRequest(request: JsonObject, steps: Steps): void {
    const method = member(request, 'method')
    const params = member(request, 'params')
    if (!isString(method) || !isObject(params)) return
    this.#searchPlaces(params, methodOf(method)?.inParams, [...steps, 'params'])
  }
}

/** A text block of a result. */
export interface Text {
  /** Index of the block in `content`. */
  readonly index: number
  /** Index among the text blocks. */
  readonly textIndex: number
  readonly text: string
  /** The trimmed text, when it begins and ends as a JSON object or array does. */
  readonly json: string | undefined
}

export const textsOf = (result: JsonObject, meter: Meter): readonly Text[] => {
  const content = member(result, 'content')
  if (!isArray(content)) return []
  const texts: Text[] = []
  for (const [index, block] of each(content, meter)) {
    const isText = isObject(block) && member(block, 'type') === 'text' && hasString(block, 'text')
    if (isText) texts.push(new TextOfBlock(index, texts.length, block))
  }
  return texts
}

/** Read at the first use. */
class TextOfBlock implements Text {
  constructor(readonly index: number, readonly textIndex: number, readonly block: JsonObject) {}

  get text(): string {
    const value = member(this.block, 'text')
    return isString(value) ? value : ''
  }

  get json(): string | undefined {
    return beginsAsText(this.block, 'text') ? undefined : jsonIn(this.text)
  }
}

const jsonIn = (text: string): string | undefined => {
  const trimmed = text.trim()
  const ends = trimmed.charAt(0) + trimmed.charAt(trimmed.length - 1)
  return ends === '{}' || ends === '[]' ? trimmed : undefined
}
