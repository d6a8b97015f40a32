import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import { CustomsError } from '../errors.js'
import type { InspectClient } from './client.js'
import { refusal, type Connected } from './connect.js'

/** An element of a list, and where it stood: which request it answered, and which element of that page it is. */
export interface Item {
  readonly request: string | number
  readonly index: number
  readonly value: Json
}

export interface Listing {
  readonly items: readonly Item[]
  /** Why there is not more of it; undefined when it is whole. */
  readonly problem: string | undefined
}

/** More pages, or bytes, than that are no list that anybody means. */
const mostPages = 1000
const mostBytes = 64 * 1024 * 1024

/** Asks for every page of a list (MCP, pagination). */
export const listAll = async ({ link, params }: Connected, method: string, key: string, ms: number): Promise<Listing> => {
  const items: Item[] = []
  const cursors = new Set<string>()
  let bytes = 0
  for (let cursor: string | undefined; ; cursors.add(cursor)) {
    const answer = await page(link.client, method, { ...params, ...(cursor !== undefined && { cursor }) }, ms)
    if (typeof answer === 'string') return { items, problem: answer }
    const elements = member(answer.result, key)
    if (!isArray(elements)) return { items, problem: `the result has no list of ${key}` }
    bytes += answer.size
    for (const [index, value] of elements.entries()) items.push({ request: answer.id, index, value })
    const next = member(answer.result, 'nextCursor')
    if (!isString(next)) return { items, problem: undefined }
    if (cursors.has(next)) return { items, problem: 'the pages go round in a circle: a cursor came twice' }
    if (cursors.size >= mostPages || bytes >= mostBytes) return { items, problem: 'the pages never end' }
    cursor = next
  }
}

const page = async (client: InspectClient, method: string, params: JsonObject, ms: number) => {
  const answer = await client.request(method, params, ms)
  if (answer === undefined) return `no answer to ${method} within ${ms / 1000} s`
  return answer.kind === 'error' ? refusal(answer) : answer
}

export interface Lists {
  readonly tools: Listing
  readonly prompts: Listing
  readonly resources: Listing
  readonly resourceTemplates: Listing
}

const none: Listing = { items: [], problem: undefined }

/**
 * Everything that the server lists. Tools are asked for whether or not they were announced: a relay has to judge those as well.
 * @throws CustomsError CANNOT_REACH when announced tools cannot be listed: nothing could be judged
 */
export const listEverything = async (connected: Connected, name: string, ms: number): Promise<Lists> => {
  const { capabilities } = connected
  const announced = (capability: string) => isObject(member(capabilities, capability))
  const list = (method: string, key: string, capability: string) =>
    announced(capability) ? listAll(connected, method, key, ms) : Promise.resolve(none)
  const tools = await listAll(connected, 'tools/list', 'tools', ms)
  if (tools.problem !== undefined && announced('tools') && tools.items.length === 0) {
    throw new CustomsError('CANNOT_REACH', `${name}: its tools cannot be listed: ${tools.problem}`)
  }
  return {
    tools: announced('tools') || tools.items.length > 0 ? tools : none,
    prompts: await list('prompts/list', 'prompts', 'prompts'),
    resources: await list('resources/list', 'resources', 'resources'),
    resourceTemplates: await list('resources/templates/list', 'resourceTemplates', 'resources'),
  }
}
