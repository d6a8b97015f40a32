import { isArray, isObject, isString, member, type Json, type JsonObject } from './json.js'
import { each, type Meter } from './meter.js'
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

/** A piece of content, or a resource as it is listed. */
export type Part = Found<'block' | 'sampled' | 'resource' | 'listed', JsonObject>

/** What a client may fetch or follow; of whatever type, where a URI or an Icon belongs. */
export type Link = Found<LinkKind, Json>

/** Where a tool's result belongs; of whatever type. */
export type Outcome = Found<'outcome', Json>

/** What a server asks for in another message: a request, or the params of one. */
export type Requested = Found<'request' | 'elicitation', JsonObject>

type Holder = Found<'task' | 'tool' | 'prompt' | 'implementation', JsonObject>

export type Thing = Part | Link | Outcome | Requested | Holder

const isModern = (_: JsonObject, modern: boolean): boolean => modern
const isOf = (type: string) => (block: JsonObject): boolean => member(block, 'type') === type
const isLink = isOf('resource_link')

/** In every result, and in the state of every task (2026-07-28, InputRequiredResult, ResultMetaObject; SEP-2663). */
const inEveryResult: readonly Place[] = [
  placeWhen(isModern, 'request', 'inputRequests', every),
  placeWhen(isModern, 'implementation', '_meta', 'io.modelcontextprotocol/serverInfo'),
]

const inOutcome: readonly Place[] = [place('block', 'content')]

/** Of any error: its code decides nothing for a client that looks for elicitations (2025-11-25, URLElicitationRequiredError). */
const inEveryError: readonly Place[] = [place('elicitation', 'data', 'elicitations')]

const inBlock: readonly Place[] = [
  placeWhen(isOf('resource'), 'resource', 'resource'),
  placeWhen(isLink, 'uri', 'uri'),
  placeWhen(isLink, 'uri', 'icons', 'src'),
  placeWhen(isLink, 'icon', 'icons'),
]

const inside: Readonly<Partial<Record<Kind, readonly Place[]>>> = {
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

/** Steps for one value on a way, and for one thing that is found. */
const perValue = 4
const perThing = 16

/**
 * Finds what is judged in a part of a message.
 * @yields undefined where the event loop may be handed back
 * @throws OverBudget
 */
export class Places {
  /** @param at JSON Pointer of the value in the frame */
  constructor(readonly at: string, readonly modern: boolean, readonly meter: Meter) {}

  /** In the params of a message of the server's. */
  inParams(method: string, params: JsonObject): Things {
    return this.#below(params, methodOf(method)?.inParams ?? none, [])
  }

  *inResult(method: string, result: JsonObject): Things {
    yield* this.#below(result, methodOf(method)?.inResult ?? none, [])
    yield* this.#below(result, inEveryResult, [])
  }

  /** In a tool's result, wherever that stands. */
  *inOutcome(result: JsonObject): Things {
    yield* this.#below(result, inOutcome, [])
    yield* this.#below(result, inEveryResult, [])
  }

  inError(error: JsonObject): Things {
    return this.#below(error, inEveryError, [])
  }

  inTool(tool: JsonObject): Things {
    return this.#below(tool, inside.tool ?? none, [])
  }

  *#below(holder: JsonObject, places: readonly Place[], way: Way): Things {
    for (const one of places) {
      const [first] = one.way
      if (one.when?.(holder, this.modern) === false) continue
      // Most places are empty: this spares a generator.
      if (first === undefined || member(holder, first) !== undefined) yield* this.#along(holder, holder, one, 0, way)
    }
  }

  /** @param step how many steps of the place's way lead to the value */
  *#along(value: Json | undefined, holder: JsonObject, one: Place, step: number, way: Way): Things {
    if (value === undefined || value === null) return
    const { kind, way: { [step]: key } } = one
    // A way is copied at each step.
    this.meter.pay(perValue + way.length)
    const found = <Its extends Kind, Value extends Json>(its: Its, value: Value) => {
      this.meter.pay(perThing)
      return new Found(its, value, holder, this.at, way)
    }
    if (key === undefined && kind === 'outcome') yield found(kind, value)
    else if (isArray(value) || (key === every && isObject(value))) {
      for (const [index, child] of each(value, this.meter)) {
        yield* this.#along(child, holder, one, key === every ? step + 1 : step, [...way, index])
        if (this.meter.isTurnSpent) yield undefined
      }
    } else if (key !== undefined) {
      if (isObject(value)) yield* this.#along(member(value, key), holder, one, step + 1, [...way, key])
    } else if (isLinkKind(kind)) yield found(kind, value)
    else if (isObject(value) && kind !== 'outcome') {
      yield found(kind, value)
      yield* this.#below(value, inside[kind] ?? none, way)
      if (kind === 'request') yield* this.#inRequest(value, way)
    }
  }

  *#inRequest(request: JsonObject, way: Way): Things {
    const method = member(request, 'method')
    const params = member(request, 'params')
    if (!isString(method) || !isObject(params)) return
    yield* this.#below(params, methodOf(method)?.inParams ?? none, [...way, 'params'])
  }
}

export type Things = Generator<Thing | undefined, void>

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
