import { emptyOffer, single, type Offer } from '#relay/lock/offer.js'
import type { Locked } from '#relay/lock/lock.js'
import { isString, type Json, type JsonObject } from '#relay/protocol/unmetered.js'

/** An offer of these tools, and whatever else is said of it. */
export const offering = (
  tools: readonly JsonObject[], rest: Partial<Offer> & { readonly says?: string } = {},
): Offer => {
  const { says, ...parts } = rest
  return { ...emptyOffer, instructions: single(says), tools: byName(tools), ...parts }
}

export const byName = (all: readonly JsonObject[], key = 'name'): ReadonlyMap<string, Json> =>
  new Map(all.map(one => [isString(one[key]) ? one[key] : '', one]))

/** What was accepted of a server that says the same in both eras. */
export const lockedAs = (offer: Offer, identity: JsonObject = {}): Locked =>
  ({ identity, acceptedBy: 'person', offers: { legacy: offer, modern: offer } })
