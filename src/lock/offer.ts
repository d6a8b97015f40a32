import { isObject, isString, member, type Json, type JsonObject } from '../protocol/unmetered.js'

/** The parts of what a server offers, and by which member an element of each list is named; what is no list has no name. */
export const parts = {
  serverInfo: undefined, instructions: undefined, tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate',
} as const

export type Part = keyof typeof parts

export const partNames: readonly Part[] = ['serverInfo', 'instructions', 'tools', 'prompts', 'resources', 'resourceTemplates']

/** The definitions of a part by their names. What is no list has the name '', where there is any. */
export type Definitions = ReadonlyMap<string, Json>

/** What a server offers to clients of one era, as it was accepted or as it is listed now. The order of a list says nothing. */
export type Offer = Readonly<Record<Part, Definitions>>

export const offer = (definitions: (part: Part) => Definitions): Offer => ({
  serverInfo: definitions('serverInfo'), instructions: definitions('instructions'), tools: definitions('tools'),
  prompts: definitions('prompts'), resources: definitions('resources'), resourceTemplates: definitions('resourceTemplates'),
})

export const emptyOffer: Offer = offer(() => new Map())

/** The definitions of a part that is no list. */
export const single = (value: Json | undefined): Definitions => new Map(value === undefined ? [] : [['', value]])

/** What a server says of itself to people and models; its name and version tell releases apart, and claim nothing. */
export const aboutMembers = ['title', 'description', 'websiteUrl', 'icons'] as const

/** These members of serverInfo; undefined where it has none of them. */
export const aboutServer = (serverInfo: Json | undefined): JsonObject | undefined => {
  const about = aboutMembers.flatMap((key): [string, Json][] => {
    const value = isObject(serverInfo) ? member(serverInfo, key) : undefined
    return value === undefined ? [] : [[key, value]]
  })
  return about.length === 0 ? undefined : Object.fromEntries(about)
}

/** By which an element of a list is named. */
export const nameOf = (element: Json, part: Part): string | undefined => {
  const key = parts[part]
  const name = key !== undefined && isObject(element) ? member(element, key) : undefined
  return isString(name) ? name : undefined
}
