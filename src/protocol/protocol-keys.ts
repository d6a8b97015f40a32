import type { Fault } from './frame.js'
import { isArray, isObject, pointer, type Json, type JsonObject } from './json.js'
import { clip } from './quote.js'

/** A place of a message where the protocol gives keys a meaning (schema.json of every revision, and the tasks extension). */
interface Place {
  /** Each key as it is, and under the form in which readers that ignore case look it up. */
  readonly keys: ReadonlyMap<string, string>
  /** What stands below a key: one of a place, an array of them, or an object of them by names of the peer's own. */
  readonly below: ReadonlyMap<string, { readonly place: PlaceName; readonly named?: true }>
}

type PlaceName = 'message' | 'params' | 'error' | 'result' | 'tool' | 'block' | 'resource' | 'utterance' | 'request'

const place = (keys: string, below: Readonly<Record<string, PlaceName | readonly [PlaceName]>> = {}): Place => {
  const all = [...keys.split(/\s+/), ...Object.keys(below)]
  return {
    keys: new Map([...all.map(key => [key.toLowerCase(), key] as const), ...all.map(key => [key, key] as const)]),
    below: new Map(
      Object.entries(below).map(([key, value]) =>
        typeof value === 'string' ? [key, { place: value }] : [key, { place: value[0], named: true }],
      ),
    ),
  }
}

/** A place in brackets stands for each member of an object, whatever its name. */
const places: Readonly<Record<PlaceName, Place>> = {
  message: place('jsonrpc id method', { params: 'params', result: 'result', error: 'error' }),
  error: place('code message data'),
  params: place(
    '_meta argument arguments capabilities clientInfo context createdAt cursor data elicitationId error includeContext ' +
      'lastUpdatedAt level logger maxTokens message metadata mode modelPreferences name notifications pollInterval progress ' +
      'progressToken protocolVersion reason ref requestId requestState requestedSchema status statusMessage stopSequences ' +
      'systemPrompt task taskId temperature toolChoice total ttl uri url',
    { messages: 'utterance', tools: 'tool', result: 'result', inputRequests: ['request'], inputResponses: ['result'] },
  ),
  result: place(
    '_meta action cacheScope capabilities completion createdAt description error instructions isError lastUpdatedAt model ' +
      'nextCursor pollInterval prompts protocolVersion requestState resourceTemplates resources resultType role roots serverInfo ' +
      'status statusMessage stopReason structuredContent supportedVersions task taskId tasks toolResult ttl ttlMs',
    { tools: 'tool', content: 'block', contents: 'resource', messages: 'utterance', result: 'result', inputRequests: ['request'] },
  ),
  request: place('method', { params: 'params' }),
  tool: place('name title description inputSchema outputSchema annotations icons execution _meta'),
  utterance: place('role _meta', { content: 'block' }),
  block: place(
    'type text data mimeType uri name title description size icons annotations _meta id input toolUseId structuredContent isError',
    { resource: 'resource', content: 'block' },
  ),
  resource: place('uri mimeType text blob _meta'),
}

const mostFaults = 20

/** The keys of a message that differ from a protocol key only in case: readers that ignore case take them for it. */
export const caseVariants = (message: Json): readonly Fault[] => {
  let faults: Fault[] | undefined
  // The way to the value at hand; it becomes a path only where something is found.
  const way: (string | number)[] = []

  const lookAt = (value: Json | undefined, at: Place): void => {
    if (isArray(value)) {
      for (let index = 0; index < value.length; index++) step(index, value[index], at)
    } else if (isObject(value)) lookInside(value, at)
  }

  const lookInside = (object: JsonObject, { keys, below }: Place): void => {
    for (const key in object) {
      const exact = keys.get(key)
      if (exact !== key) note(key, exact ?? keys.get(fold(key)))
      else if (below.size > 0) {
        const inside = below.get(key)
        if (inside !== undefined) lookBelow(key, object[key], inside.place, inside.named)
      }
    }
  }

  const lookBelow = (key: string, value: Json | undefined, name: PlaceName, named: true | undefined): void => {
    if (named === undefined || !isObject(value)) return step(key, value, places[name])
    way.push(key)
    for (const each in value) step(each, value[each], places[name])
    way.pop()
  }

  const step = (part: string | number, value: Json | undefined, at: Place): void => {
    if (typeof value !== 'object' || value === null || (faults?.length ?? 0) >= mostFaults) return
    way.push(part)
    lookAt(value, at)
    way.pop()
  }

  const note = (key: string, meant: string | undefined): void => {
    if (meant === undefined || (faults?.length ?? 0) >= mostFaults) return
    const path = pointer(...[...way, key].map(part => (typeof part === 'string' ? clip(part) : part)))
    ;(faults ??= []).push({ kind: 'ambiguous', path, message: `a key that differs from "${meant}" only in case` })
  }

  lookAt(message, places.message)
  return faults ?? none
}

const none: readonly Fault[] = []

/**
 * As readers fold that ignore case, by one of the two cases or by both: the long s is an s to them, the Kelvin sign a k, and an i
 * is one with its dot or without.
 */
export const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
