import { isRecord, isString, field, type Data } from '#relay/protocol/unmetered.js'

/**
 * The parts of an offer, each with the member that names an element; undefined for a part that is no list.
 */
export const parts = {
  serverInfo: undefined, instructions: undefined,
  tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate',
} as const

export type OfferPart = keyof typeof parts

export const partNames = Object.keys(parts) as readonly OfferPart[]

/** The definitions of a part by name. A part that is no list has at most one definition, named ''. */
export type Definitions = ReadonlyMap<string, Data>

/** What a server offers to clients of one era. The order of a list has no meaning. */
export type Offer = Readonly<Record<OfferPart, Definitions>>

export const offer = (definitions: (part: OfferPart) => Definitions): Offer =>
  Object.fromEntries(partNames.map(part => [part, definitions(part)])) as Offer

export const emptyOffer: Offer = offer(() => new Map())

/** The definition of a part that is no list. */
export const single = (value: Data | undefined): Definitions =>
  new Map(value === undefined ? [] : [['', value]])

/** The name, URI or URI template of an element of a list. */
export const itemName = (element: Data, part: OfferPart): string | undefined => {
  const key = parts[part]
  const name = key !== undefined && isRecord(element) ? field(element, key) : undefined
  return isString(name) ? name : undefined
}
