import { OverBudget, type Meter } from '../protocol/meter.js'
import type { Link, Outcome, Part, Requested, Things } from '../protocol/places.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'

/** What stands in a part of a frame, sorted by who judges it. */
export interface Collected {
  readonly parts: readonly Part[]
  readonly links: readonly Link[]
  readonly requests: readonly Requested[]
  readonly outcomes: readonly Outcome[]
}

/** @param exchange of the message that is judged */
export function* collect(core: Core, things: Things, meter: Meter, exchange: Exchange): Flow<Collected> {
  const parts: Part[] = []
  const links: Link[] = []
  const requests: Requested[] = []
  const outcomes: Outcome[] = []
  for (const thing of things) {
    switch (thing?.kind) {
      case 'block':
      case 'sampled':
      case 'resource':
      case 'listed':
        parts.push(thing)
        break
      case 'icon':
      case 'website':
      case 'uri':
        links.push(thing)
        break
      case 'request':
      case 'elicitation':
        requests.push(thing)
        break
      case 'outcome':
        outcomes.push(thing)
        break
      // These are judged by what stands in them.
      case 'task':
      case 'tool':
      case 'prompt':
      case 'implementation':
      case undefined:
    }
    if (meter.isTurnSpent) yield* core.turn(meter, exchange)
  }
  return { parts, links, requests, outcomes }
}

/** A flow about one frame. @returns undefined where the frame's share of work is spent, which is wire/size */
export function* withinBudget<Result>(flow: Flow<Result>, findings: Findings): Flow<Result | undefined> {
  try {
    return yield* flow
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error
    findings.overBudget(error.message)
    return undefined
  }
}
