import type { Edit, Path } from '../protocol/edit.js'
import { isArray, isObject, isString, member, pointer, weigh, type Json, type JsonObject } from '../protocol/json.js'
import { each } from '../protocol/meter.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'

/** How something differs from what was accepted. */
export interface Drift {
  /** The classes of its changes, in words for people. */
  readonly classes: string
  /** None of them is a class that may keep it from passing. */
  readonly isMinor: boolean
}

type Kind = 'tool' | 'prompt' | 'resource template' | 'instructions'

/** What the operator has accepted of a server (contract section 7): what it says now is held against it. */
export interface Accepted {
  readonly tools: ReadonlyMap<string, JsonObject>
  readonly prompts: ReadonlyMap<string, JsonObject>
  readonly resourceTemplates: ReadonlyMap<string, JsonObject>
  readonly instructions: string | undefined
  /** @returns undefined where nothing differs */
  readonly drift: (kind: Kind, accepted: Json | undefined, said: Json | undefined) => Drift | undefined
  /** Calls are judged by it alone: nothing is listed for them. */
  readonly isFrozen: boolean
  /** What `drift` makes of a change of each class. */
  readonly actions: Readonly<Record<string, string>>
}

/** @param at where it stands in the frame */
export const judgeDrift = (core: Core, kind: Kind, accepted: Json | undefined, said: Json | undefined, at: Path, findings: Findings): 'same' | 'logged' | 'stopped' => {
  const drift = core.options.accepted?.drift(kind, accepted, said)
  if (drift === undefined) return 'same'
  const path = pointer(...at)
  const found = core.findings(findings.meter)
  core.ask('onDrift', { kind, drift, path }, found, path)
  findings.include(found)
  return found.isStop ? 'stopped' : 'logged'
}

interface AcceptedList {
  readonly kind: Kind
  readonly list: 'prompts' | 'resourceTemplates'
  /** By which an element is named. */
  readonly key: string
}

const lists: ReadonlyMap<string, AcceptedList> = new Map([
  ['prompts/list', { kind: 'prompt', list: 'prompts', key: 'name' }],
  ['resources/templates/list', { kind: 'resource template', list: 'resourceTemplates', key: 'uriTemplate' }],
])

/** Steps for an element of a list, as the rules about it take, and for so many bytes of the definition that it is compared with. */
const perElement = 64
const bytesPerStep = 16

/**
 * What is taken out of a result, but that of `tools/list`, because it is not what was accepted, or is put in its place.
 * @param exchange of the message that is judged
 */
export function* driftEdits(core: Core, method: string, result: JsonObject, exchange: Exchange, findings: Findings): Flow<readonly Edit[]> {
  const { accepted } = core.options
  if (accepted === undefined) return []
  const { meter } = findings
  const edits: Edit[] = []
  const judge = (kind: Kind, before: Json | undefined, after: Json | undefined, path: Path): void => {
    meter.pay(perElement + (before === undefined ? 0 : Math.ceil(weigh(before) / bytesPerStep)))
    const verdict = judgeDrift(core, kind, before, after, path, findings)
    if (verdict === 'stopped' && after !== undefined) edits.push({ path, remove: true })
    if (verdict === 'logged' && before !== undefined) edits.push({ path, replace: JSON.stringify(before) })
  }
  if (method === 'initialize' || method === 'server/discover') {
    judge('instructions', accepted.instructions, member(result, 'instructions'), ['result', 'instructions'])
  }
  const known = lists.get(method)
  const listed = known && member(result, known.list)
  if (known === undefined || !isArray(listed)) return edits
  for (const [index, one] of each(listed, meter)) {
    const name = isObject(one) ? member(one, known.key) : undefined
    judge(known.kind, isString(name) ? accepted[known.list].get(name) : undefined, one, ['result', known.list, index])
    if (meter.isTurnSpent) yield* core.turn(meter, exchange)
  }
  return edits
}
