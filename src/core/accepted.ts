import type { Edit } from '../protocol/edit.js'
import type { Path } from '../protocol/scan.js'
import type { Frame } from '../protocol/frame.js'
import {
  each, isArray, isObject, isString, type Json, type JsonObject, member, type Meter, pointer,
} from '../protocol/json.js'
import { traitsOf } from '../protocol/revisions/index.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import type { Terms } from './request.js'

/** How something differs from what was accepted. */
export interface Drift {
  /** The classes of its changes, in words for people. */
  readonly classes: string
  /** None of them is a class that may keep it from passing. */
  readonly isMinor: boolean
}

/** The parts of what a server offers, and what one thing of each is called. */
const kinds = {
  serverInfo: 'server info', instructions: 'instructions', tools: 'tool', prompts: 'prompt', resources: 'resource', resourceTemplates: 'resource template',
} as const

export type AcceptedPart = keyof typeof kinds

/** What the operator has accepted of a server for clients of one era. What is no list has the name ''. */
export interface AcceptedOffer {
  /** As a client reads it. */
  readonly definitions: Readonly<Record<AcceptedPart, ReadonlyMap<string, Json>>>
  /** JSON text of it, with all digits of its numbers. */
  readonly textOf: (part: AcceptedPart, name: string) => string | undefined
  /** @param said read with all digits (`exactly`) @returns undefined where nothing differs */
  readonly drift: (part: AcceptedPart, name: string, said: Json | undefined, meter: Meter) => Drift | undefined
}

/** What the operator has accepted of a server (contract section 7): what it says now is held against it. */
export interface Accepted {
  readonly legacy: AcceptedOffer
  readonly modern: AcceptedOffer
  /** The annotations of what is unchanged are kept: the operator has read them. */
  readonly isTrusted: boolean
  /** Calls are judged by it alone: nothing is listed for them. */
  readonly isFrozen: boolean
  /** The message in the bytes, for comparison: where it has numbers that a double does not hold, with all their digits; else undefined. */
  readonly exactly: (bytes: Buffer) => Json | undefined
  /** What `drift` makes of a change of each class. */
  readonly actions: Readonly<Record<string, string>>
  /** The lock file that says all this of the server. */
  readonly written: () => string
}

/** What was accepted for a client of these terms; undefined without a lock. */
export const acceptedFor = ({ options: { accepted } }: Core, { revision }: Pick<Terms, 'revision'>): AcceptedOffer | undefined =>
  accepted && (traitsOf(revision).modern ? accepted.modern : accepted.legacy)

/** What a result says, read with all digits of its numbers. */
export const exactResult = ({ options: { accepted } }: Core, { bytes }: Frame, result: JsonObject): JsonObject => {
  const message = accepted?.exactly(bytes)
  const exact = isObject(message) ? member(message, 'result') : undefined
  return isObject(exact) ? exact : result
}

/** @param said by the server now, read with all digits @param at where it stands in the frame */
export const judgeDrift = (
  core: Core, offer: AcceptedOffer | undefined, part: AcceptedPart, name: string | undefined, said: Json | undefined, at: Path, findings: Findings,
): 'same' | 'logged' | 'stopped' => {
  const drift = offer?.drift(part, name ?? '', said, findings.meter)
  if (drift === undefined) return 'same'
  const path = pointer(...at)
  const found = core.findings(findings.meter)
  core.ask('onDrift', { kind: kinds[part], drift, path }, found, path)
  findings.include(found)
  return found.isStop ? 'stopped' : 'logged'
}

/** By which an element of each list is named; `tools/list` is judged tool by tool. */
const lists: ReadonlyMap<string, { readonly part: 'prompts' | 'resources' | 'resourceTemplates'; readonly key: string }> = new Map([
  ['prompts/list', { part: 'prompts', key: 'name' }],
  ['resources/list', { part: 'resources', key: 'uri' }],
  ['resources/templates/list', { part: 'resourceTemplates', key: 'uriTemplate' }],
])

/** Steps for an element of a list, as the rules about it take. */
const perElement = 64

/** Of serverInfo, what says something to people and models. */
const aboutMembers = ['title', 'description', 'websiteUrl', 'icons'] as const

/** Holds what a server says, but for its tools, against what was accepted. */
export class Drifts {
  readonly #core: Core
  /** Accepted prompts that were taken out of the last list. */
  readonly #gone = new Set<string>()

  constructor(core: Core) {
    this.#core = core
  }

  /**
   * What is taken out of a result because it is not what was accepted, or is put in its place.
   * @param exchange of the message that is judged
   */
  *edits(method: string, terms: Terms, exchange: Exchange, frame: Frame, result: JsonObject, findings: Findings): Flow<readonly Edit[]> {
    const { meter } = findings
    const offer = acceptedFor(this.#core, terms)
    if (offer === undefined) return []
    const exact = exactResult(this.#core, frame, result)
    const about = serverInfoIn(exact)
    const edits: Edit[] = about === undefined ? [] : this.#serverInfo(offer, about, findings)
    if (method === 'initialize' || method === 'server/discover') {
      edits.push(...this.#edit(offer, 'instructions', '', member(exact, 'instructions'), ['result', 'instructions'], findings))
    }
    const list = lists.get(method)
    const listed = list && member(exact, list.part)
    if (list === undefined || !isArray(listed)) return edits
    for (const [index, one] of each(listed, meter)) {
      const name = isObject(one) ? member(one, list.key) : undefined
      meter.pay(perElement)
      const found = this.#edit(offer, list.part, isString(name) ? name : undefined, one, ['result', list.part, index], findings)
      edits.push(...found)
      if (meter.isTurnSpent) yield* this.#core.turn(meter, exchange)
      if (list.part !== 'prompts' || !isString(name) || !offer.definitions.prompts.has(name)) continue
      if (found.some(edit => 'remove' in edit)) this.#gone.add(name)
      else this.#gone.delete(name)
    }
    return edits
  }

  /** A prompt that was not accepted, or was taken out of the list, is not asked for. */
  judgePrompt(terms: Terms, params: JsonObject | undefined, findings: Findings): void {
    const offer = acceptedFor(this.#core, terms)
    const name = member(params, 'name')
    if (!isString(name) || (offer?.definitions.prompts.has(name) === true && !this.#gone.has(name))) return
    // What the server would say of it is not what was accepted, whatever it is.
    judgeDrift(this.#core, offer, 'prompts', name, null, ['params', 'name'], findings)
  }

  #edit(offer: AcceptedOffer, part: AcceptedPart, name: string | undefined, said: Json | undefined, path: Path, findings: Findings): readonly Edit[] {
    const verdict = judgeDrift(this.#core, offer, part, name, said, path, findings)
    if (verdict === 'same') return []
    if (verdict === 'stopped') return said === undefined ? [] : [{ path, remove: true }]
    const accepted = offer.textOf(part, name ?? '')
    return accepted === undefined ? [] : [{ path, replace: accepted }]
  }

  /** Whatever the action, the client sees what was accepted: a server without any name would be none. */
  #serverInfo(offer: AcceptedOffer, { info, path }: ServerInfo, findings: Findings): Edit[] {
    const said = aboutMembers.flatMap((key): [string, Json][] => {
      const value = member(info, key)
      return value === undefined ? [] : [[key, value]]
    })
    if (judgeDrift(this.#core, offer, 'serverInfo', '', said.length === 0 ? undefined : Object.fromEntries(said), path, findings) === 'same') return []
    const accepted = offer.definitions.serverInfo.get('')
    return aboutMembers.map((key): Edit => {
      const value = isObject(accepted) ? member(accepted, key) : undefined
      return value === undefined ? { path: [...path, key], remove: true } : { path: [...path, key], replace: JSON.stringify(value) }
    })
  }
}

interface ServerInfo {
  readonly info: JsonObject
  readonly path: Path
}

/** In the answer to `initialize`, or in `_meta` of any modern result. */
const serverInfoIn = (result: JsonObject): ServerInfo | undefined => {
  const key = 'io.modelcontextprotocol/serverInfo'
  const [own, meta] = [member(result, 'serverInfo'), member(result, '_meta')]
  const inMeta = isObject(meta) ? member(meta, key) : undefined
  if (isObject(own)) return { info: own, path: ['result', 'serverInfo'] }
  return isObject(inMeta) ? { info: inMeta, path: ['result', '_meta', key] } : undefined
}
