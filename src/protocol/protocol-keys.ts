import type { Fault } from './frame.js'
import { isArray, isObject, pointer, type Json } from './json.js'
import { clip } from './quote.js'

/** A place of a message where the protocol gives keys a meaning (schema.json of every revision, and the tasks extension). */
interface Place {
  /** Each key as it is, and under the form in which readers that ignore case look it up. */
  readonly keys: ReadonlyMap<string, string>
  /** What stands below a key: one of a place, an array of them, or an object of them by names of the peer's own. */
  readonly below: ReadonlyMap<string, Below>
}

interface Below {
  readonly place: PlaceName
  readonly named?: true
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

/** More elements, or members, than that are nothing that the protocol has a place for. */
const mostElements = 50_000
const mostMembers = 1000

const tooMany: Fault = { kind: 'size', path: '', message: `more than ${mostElements} elements, or ${mostMembers} members, where the protocol has few` }

type Way = readonly (string | number)[]

/** The keys of a message that differ from a protocol key only in case: readers that ignore case take them for it. */
export const caseVariants = (message: Json): readonly Fault[] => {
  const doubt = look(message, places.message)
  if (doubt === 'none') return none
  if (doubt === 'size') return [tooMany]
  const faults: Fault[] = []
  collect(message, places.message, [], faults)
  return faults
}

const none: readonly Fault[] = []

/** Nearly no message has one: where they are is looked for only then. */
const look = (value: Json | undefined, place: Place): 'none' | 'variant' | 'size' => {
  if (isArray(value)) {
    if (value.length > mostElements) return 'size'
    for (let index = 0; index < value.length; index++) {
      const found = look(value[index], place)
      if (found !== 'none') return found
    }
  } else if (isObject(value)) {
    let members = 0
    for (const key in value) {
      if (++members > mostMembers) return 'size'
      const found = place.keys.get(key) === key ? lookBelow(value[key], place.below.get(key)) : meant(key, place) === undefined ? 'none' : 'variant'
      if (found !== 'none') return found
    }
  }
  return 'none'
}

const lookBelow = (value: Json | undefined, below: Below | undefined): ReturnType<typeof look> => {
  if (below === undefined) return 'none'
  if (below.named !== true || !isObject(value)) return look(value, places[below.place])
  let members = 0
  for (const name in value) {
    const found = ++members > mostMembers ? 'size' : look(value[name], places[below.place])
    if (found !== 'none') return found
  }
  return 'none'
}

const collect = (value: Json | undefined, place: Place, way: Way, faults: Fault[]): void => {
  if (isArray(value)) {
    for (let index = 0; index < value.length && faults.length < mostFaults; index++) collect(value[index], place, [...way, index], faults)
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      if (faults.length >= mostFaults) return
      const inner = value[key]
      const below = place.below.get(key)
      const other = meant(key, place)
      if (other !== undefined) {
        const path = pointer(...[...way, key].map(part => (typeof part === 'string' ? clip(part) : part)))
        faults.push({ kind: 'ambiguous', path, message: `a key that differs from "${other}" only in case` })
      } else if (below?.named === true && isObject(inner)) {
        for (const name of Object.keys(inner)) collect(inner[name], places[below.place], [...way, key, name], faults)
      } else if (below !== undefined) collect(inner, places[below.place], [...way, key], faults)
    }
  }
}

/** The protocol key that a key is taken for, and is not. */
const meant = (key: string, { keys }: Place): string | undefined => {
  const exact = keys.get(key)
  return exact === key ? undefined : (exact ?? keys.get(fold(key)))
}

/**
 * As readers fold that ignore case, by one of the two cases or by both: the long s is an s to them, the Kelvin sign a k, and an i
 * is one with its dot or without.
 */
export const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
