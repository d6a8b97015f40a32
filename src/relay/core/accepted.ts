import type { Edit } from '#relay/protocol/edit.js'
import type { Path } from '#relay/protocol/scan.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  each, isArray, isObject, isString, type Json, type JsonObject, member, pointer,
} from '#relay/protocol/json.js'
import { traitsOf } from '#relay/protocol/revisions/index.js'
import type { Core } from './core.js'
import type { About, AcceptedOffer, AcceptedPart, Exchange } from './vocabulary.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import type { Terms } from './terms.js'

/** The parts of a server's offer, with the name of one element of each in findings. */
const kinds: Readonly<Record<AcceptedPart, string>> = {
  serverInfo: 'server info', instructions: 'instructions', tools: 'tool', prompts: 'prompt',
  resources: 'resource', resourceTemplates: 'resource template',
}

/** The element that a finding is about, so that the finding names it even when the list lacks it. */
const aboutOf = (part: AcceptedPart, name: string | undefined): About => {
  if (name === undefined) return {}
  if (part === 'tools') return { tool: name }
  if (part === 'prompts') return { prompt: name }
  return part === 'resources' || part === 'resourceTemplates' ? { resource: name } : {}
}

/** The accepted definitions for a client of these terms; undefined without a lock. */
export const acceptedFor = (
  { judgement: { accepted } }: Core, { revision }: Pick<Terms, 'revision'>,
): AcceptedOffer | undefined => accepted && (traitsOf(revision).modern ? accepted.modern : accepted.legacy)

/** The result, parsed with all digits of its numbers where the lock needs them. */
export const exactResult = (
  { judgement: { accepted } }: Core, { bytes }: Frame, result: JsonObject,
): JsonObject => accepted?.exactResult(bytes) ?? result

/** Compares a definition with the lock. @param sent parsed by `exactResult` @param at in the frame */
export const judgeDrift = (
  core: Core, offer: AcceptedOffer | undefined, part: AcceptedPart, name: string | undefined,
  sent: Json | undefined, at: Path, findings: Findings,
): 'same' | 'logged' | 'stopped' => {
  const drift = offer?.drift(part, name ?? '', sent, findings.meter)
  if (drift === undefined) return 'same'
  const path = pointer(...at)
  const found = core.findings(findings.meter)
  core.ask('onDrift', { kind: kinds[part], drift, path, about: aboutOf(part, name) }, found, path)
  findings.include(found)
  return found.isStop ? 'stopped' : 'logged'
}

/** The member that names an element of each list. For `tools/list` see tool-page.ts. */
const lists: ReadonlyMap<
  string,
  { readonly part: 'prompts' | 'resources' | 'resourceTemplates'; readonly key: string }
> = new Map([
  ['prompts/list', { part: 'prompts', key: 'name' }],
  ['resources/list', { part: 'resources', key: 'uri' }],
  ['resources/templates/list', { part: 'resourceTemplates', key: 'uriTemplate' }],
])

/** Meter steps for an element of a list. */
const perElement = 64

/**
 * The members of serverInfo for people and models. Name and version change with releases: they are not
 * locked.
 */
const aboutMembers = ['title', 'description', 'websiteUrl', 'icons'] as const

/** These members of serverInfo; undefined if it has none of them. */
export const aboutServer = (serverInfo: Json | undefined): JsonObject | undefined => {
  const about = aboutMembers.flatMap((key): [string, Json][] => {
    const value = isObject(serverInfo) ? member(serverInfo, key) : undefined
    return value === undefined ? [] : [[key, value]]
  })
  return about.length === 0 ? undefined : Object.fromEntries(about)
}

/** Compares prompts, resources, server info and instructions with the lock. */
export class Drifts {
  readonly #core: Core
  /** Accepted prompts that were removed from the last list. */
  readonly #removed = new Set<string>()
  #isProgramReported = false

  constructor(core: Core) {
    this.#core = core
  }

  /**
   * The edits that remove changed definitions from a result, or put the accepted ones in their place.
   * @param exchange of the message that is judged
   */
  *edits(
    method: string, terms: Terms, exchange: Exchange, frame: Frame, result: JsonObject, findings: Findings,
  ): Flow<readonly Edit[]> {
    const { meter } = findings
    const offer = acceptedFor(this.#core, terms)
    if (offer === undefined) return []
    this.#judgeProgram(findings)
    const exact = exactResult(this.#core, frame, result)
    const about = serverInfoIn(exact)
    const edits: Edit[] = about === undefined ? [] : this.#serverInfo(offer, about, findings)
    if (method === 'initialize' || method === 'server/discover') {
      edits.push(
        ...this.#edit(
          offer, 'instructions', '', member(exact, 'instructions'), ['result', 'instructions'], findings,
        ),
      )
    }
    const list = lists.get(method)
    const listed = list && member(exact, list.part)
    if (list === undefined || !isArray(listed)) return edits
    for (const [index, one] of each(listed, meter)) {
      const name = isObject(one) ? member(one, list.key) : undefined
      meter.pay(perElement)
      const found = this.#edit(
        offer, list.part, isString(name) ? name : undefined, one, ['result', list.part, index], findings,
      )
      edits.push(...found)
      if (meter.isTurnSpent) yield* this.#core.yieldToLoop(meter, exchange)
      if (list.part !== 'prompts' || !isString(name) || !offer.definitions.prompts.has(name)) continue
      if (found.some(edit => 'remove' in edit)) this.#removed.add(name)
      else this.#removed.delete(name)
    }
    return edits
  }

  /** Reports `prompts/get` of a prompt that was not accepted, or was removed from the list. */
  judgePrompt(terms: Terms, params: JsonObject | undefined, findings: Findings): void {
    const offer = acceptedFor(this.#core, terms)
    const name = member(params, 'name')
    if (!isString(name) || (offer?.definitions.prompts.has(name) === true && !this.#removed.has(name))) return
    // null differs from every accepted definition.
    judgeDrift(this.#core, offer, 'prompts', name, null, ['params', 'name'], findings)
  }

  /** Reports another version of the program, with the session's first result. */
  #judgeProgram(findings: Findings): void {
    const drift = this.#core.judgement.accepted?.program
    if (drift === undefined || this.#isProgramReported) return
    this.#isProgramReported = true
    this.#core.ask('onDrift', { kind: 'program of the server', drift, path: '' }, findings, '')
  }

  #edit(
    offer: AcceptedOffer, part: AcceptedPart, name: string | undefined, sent: Json | undefined, path: Path,
    findings: Findings,
  ): readonly Edit[] {
    const verdict = judgeDrift(this.#core, offer, part, name, sent, path, findings)
    if (verdict === 'same') return []
    if (verdict === 'stopped') return sent === undefined ? [] : [{ path, remove: true }]
    const accepted = offer.textOf(part, name ?? '')
    return accepted === undefined ? [] : [{ path, replace: accepted }]
  }

  /** The client sees the accepted info whatever the action is: serverInfo cannot be removed. */
  #serverInfo(offer: AcceptedOffer, { info, path }: ServerInfo, findings: Findings): Edit[] {
    if (judgeDrift(this.#core, offer, 'serverInfo', '', aboutServer(info), path, findings) === 'same') return []
    const accepted = offer.definitions.serverInfo.get('')
    return aboutMembers.map((key): Edit => {
      const value = isObject(accepted) ? member(accepted, key) : undefined
      return value === undefined
        ? { path: [...path, key], remove: true }
        : { path: [...path, key], replace: JSON.stringify(value) }
    })
  }
}

interface ServerInfo {
  readonly info: JsonObject
  readonly path: Path
}

/** From the result of `initialize`, or from `_meta` of any modern result. */
const serverInfoIn = (result: JsonObject): ServerInfo | undefined => {
  const key = 'io.modelcontextprotocol/serverInfo'
  const [own, meta] = [member(result, 'serverInfo'), member(result, '_meta')]
  const inMeta = isObject(meta) ? member(meta, key) : undefined
  if (isObject(own)) return { info: own, path: ['result', 'serverInfo'] }
  return isObject(inMeta) ? { info: inMeta, path: ['result', '_meta', key] } : undefined
}
