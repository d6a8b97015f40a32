import { errorCode } from '#relay/protocol/json-rpc.js'
import { nextPage } from '#relay/protocol/pages.js'
import { isList, isRecord, type Data, field } from '#relay/protocol/unmetered.js'
import { type Connected, connectRefusal } from './connect.js'

/** An element of a list, with its request and its index in that page. */
export interface Item {
  readonly request: string | number
  readonly index: number
  readonly value: Data
}

export interface ListedItems {
  readonly items: readonly Item[]
  /** Why the list is incomplete; undefined when it is complete. */
  readonly problem: string | undefined
}

/** No genuine list is longer. */
const maxBytes = 64 * 1024 * 1024

const none: ListedItems = { items: [], problem: undefined }

/**
 * Asks for every page of a list (MCP, pagination).
 * @param optional a server that does not know the method has none of these
 */
const listAll = async (
  { link, params, revision }: Connected, method: string, key: string, ms: number, optional = false,
): Promise<ListedItems> => {
  const items: Item[] = []
  const cursors = new Set<string>()
  let bytes = 0
  for (let cursor: string | undefined; ;) {
    const response =
      await link.client.request(method, { ...params, ...(cursor !== undefined && { cursor }) }, ms)
    if (response === undefined) return { items, problem: `no answer to ${method} within ${ms / 1000} s` }
    if (response.kind === 'error') {
      return optional && response.error.code === errorCode.methodNotFound
        ? none
        : { items, problem: connectRefusal(response) }
    }
    const elements = field(response.result, key)
    if (!isList(elements)) return { items, problem: `the result has no list of ${key}` }
    bytes += response.size
    for (const [index, value] of elements.entries()) items.push({ request: response.id, index, value })
    const next = nextPage(field(response.result, 'nextCursor'), revision, cursors)
    if (next.kind === 'end' || next.kind === 'repeats') return { items, problem: undefined }
    if (next.kind === 'endless' || bytes >= maxBytes) return { items, problem: 'the pages never end' }
    cursor = next.cursor
    cursors.add(cursor)
  }
}

export interface Lists {
  readonly tools: ListedItems
  readonly prompts: ListedItems
  readonly resources: ListedItems
  readonly resourceTemplates: ListedItems
}

/**
 * Lists everything. Tools are listed even without the capability, because a relay has to judge them as well.
 */
export const listEverything = async (connected: Connected, ms: number): Promise<Lists> => {
  const announced = (capability: string) => isRecord(field(connected.capabilities, capability))
  const resources = announced('resources')
  const tools = await listAll(connected, 'tools/list', 'tools', ms)
  return {
    tools: announced('tools') || tools.items.length > 0 ? tools : none,
    prompts: announced('prompts') ? await listAll(connected, 'prompts/list', 'prompts', ms) : none,
    resources: resources ? await listAll(connected, 'resources/list', 'resources', ms) : none,
    // No capability announces templates: a server with resources may not know the method.
    resourceTemplates: resources
      ? await listAll(connected, 'resources/templates/list', 'resourceTemplates', ms, true)
      : none,
  }
}
