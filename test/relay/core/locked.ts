import type { Accepted, AcceptedOffer, Drift } from '#relay/core/vocabulary.js'
import type { Json } from '#relay/protocol/json.js'

type Definitions = AcceptedOffer['definitions']

/** A lock that says the same to clients of both eras. */
export const accepting = (
  definitions: Partial<Definitions>,
  drift: (before: Json | undefined, said: Json | undefined) => Drift | undefined,
  parts: Partial<Accepted> = {},
): Accepted => {
  const all: Definitions = {
    serverInfo: new Map(), instructions: new Map(), tools: new Map(), prompts: new Map(),
    resources: new Map(), resourceTemplates: new Map(), ...definitions,
  }
  const offer: AcceptedOffer = {
    definitions: all,
    textOf: (part, name) => (all[part].has(name) ? JSON.stringify(all[part].get(name)) : undefined),
    drift: (part, name, said) => drift(all[part].get(name), said),
  }
  return {
    legacy: offer, modern: offer, isTrusted: false, isFrozen: false,
    exactResult: () => undefined, actions: {},
    written: () => '', ...parts,
  }
}
