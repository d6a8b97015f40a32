import { emptyOffer, single, type Offer } from '#relay/lock/offer.js'
import type { Locked } from '#relay/lock/lock.js'
import { isString, type Data, type DataObject } from '#relay/protocol/unmetered.js'

/** An offer of these tools, and whatever else is said of it. */
export const offering = (
  tools: readonly DataObject[], rest: Partial<Offer> & { readonly says?: string } = {},
): Offer => {
  const { says, ...parts } = rest
  return { ...emptyOffer, instructions: single(says), tools: byName(tools), ...parts }
}

export const byName = (all: readonly DataObject[], key = 'name'): ReadonlyMap<string, Data> =>
  new Map(all.map(one => [isString(one[key]) ? one[key] : '', one]))

/** What was accepted of a server that says the same in both eras. */
export const lockedAs = (offer: Offer, identity: DataObject = {}): Locked =>
  ({ identity, acceptedBy: 'person', offers: { legacy: offer, modern: offer } })
