import type { Fault } from './frame.js'
import { isArray, isObject, isString, lengthOf, member, type Json, type JsonObject } from './json.js'
import { unmetered } from './unmetered.js'
import { methodOf, paramKeys, resultKeys } from './methods.js'
import { wirePath } from './quote.js'

/** A place of a message where the protocol gives keys a meaning (schema.json of every revision, and the tasks extension). */
interface Place {
  /** Each key as it is, and under the form in which readers that ignore case look it up. */
  readonly keys: ReadonlyMap<string, string>
  /** What stands below a key: one of a place, or an array of them; in brackets, an object of them by names of the peer's own. */
  readonly below: ReadonlyMap<string, PlaceName | readonly [PlaceName]>
}

type PlaceName = 'message' | 'params' | 'error' | 'result' | 'tool' | 'block' | 'resource' | 'utterance' | 'request'

/** What stands below a key, wherever that key stands. */
const inner = new Map<string, PlaceName | readonly [PlaceName]>([
  ['params', 'params'], ['result', 'result'], ['error', 'error'], ['messages', 'utterance'], ['tools', 'tool'], ['content', 'block'],
  ['contents', 'resource'], ['resource', 'resource'], ['inputRequests', ['request']], ['inputResponses', ['result']],
])

const place = (keys: readonly string[]): Place => ({
  keys: new Map([...keys.map(key => [key.toLowerCase(), key] as const), ...keys.map(key => [key, key] as const)]),
  below: new Map([...inner].filter(([key]) => keys.includes(key))),
})

const placeOf = (keys: string): Place => place(keys.split(' '))

const places: Readonly<Record<PlaceName, Place>> = {
  message: placeOf('jsonrpc id method params result error'),
  error: placeOf('code message data'),
  params: place(['_meta', ...paramKeys]),
  result: place(['_meta', ...resultKeys]),
  request: placeOf('method params'),
  tool: placeOf('name title description inputSchema outputSchema annotations icons execution _meta'),
  utterance: placeOf('role content _meta'),
  block: placeOf(
    'type text data mimeType uri name title description size icons annotations _meta id input toolUseId structuredContent isError resource content',
  ),
  resource: placeOf('uri mimeType text blob _meta'),
}

const longest = Math.max(...Object.values(places).flatMap(({ keys }) => [...keys.keys()].map(key => key.length)))

/** Of a method that nobody knows, the params are its own affair. */
const ofNoMethod = placeOf('_meta')

const paramsOf = (message: JsonObject): Place => {
  const method = member(message, 'method')
  return isString(method) && methodOf(method) === undefined ? ofNoMethod : places.params
}

const maxFaults = 20

/** So many keys and elements are looked at in one turn. */
const perTurn = 100_000

/**
 * The keys of a message that differ from a protocol key only in case: readers that ignore case take them for it. Yields wherever so much
 * was looked at that others may have their turn.
 */
export function* caseVariants(message: Json): Generator<void, readonly Fault[], void> {
  const found: Fault[] = []
  const left: Looked[] = [{ value: message, place: places.message, at: undefined, step: '' }]
  let seen = 0
  for (let here = left.pop(); here !== undefined && found.length < maxFaults; here = left.pop()) {
    const { value, place } = here
    if (isArray(value)) {
      for (let index = lengthOf(value) - 1; index >= 0; index--) {
        const element = value[index] ?? null
        if (typeof element === 'object' && element !== null) left.push({ value: element, place, at: here, step: index })
        if (++seen % perTurn === 0) yield
      }
    } else if (isObject(value)) {
      for (const key in unmetered(value)) {
        if (++seen % perTurn === 0) yield
        const exact = place.keys.get(key)
        if (exact === key) {
          const below = place.below.get(key)
          if (below !== undefined) push(left, value, key, below, here)
        } else {
          const other = exact ?? meant(key, place)
          if (other !== undefined && found.length < maxFaults) found.push(variant(here, key, other))
        }
      }
    }
  }
  return found
}

interface Looked {
  readonly value: Json
  readonly place: Place
  /** What holds it, and by which step. */
  readonly at: Looked | undefined
  readonly step: string | number
}

const push = (left: Looked[], holder: JsonObject, key: string, below: PlaceName | readonly [PlaceName], at: Looked): void => {
  const value = holder[key] ?? null
  if (typeof value !== 'object' || value === null) return
  if (typeof below === 'string') {
    if (below === 'block' && isObject(value) && isForm(at.place, holder, value)) return
    left.push({ value, place: below === 'params' ? paramsOf(holder) : places[below], at, step: key })
  } else if (isObject(value)) {
    const names: Looked = { value, place: ofNoMethod, at, step: key }
    for (const name in unmetered(value)) left.push({ value: value[name] ?? null, place: places[below[0]], at: names, step: name })
  }
}

/** What a user filled into a form has names of the form's own (ElicitResult). No reader takes it for a block of content. */
const isForm = (place: Place, holder: JsonObject, content: JsonObject): boolean => {
  if (place !== places.result) return false
  if (actions.has(member(holder, 'action')) && Object.keys(unmetered(holder)).every(key => formKeys.has(key) || !place.keys.has(key))) return true
  for (const key in unmetered(content)) if (key === 'type' || meant(key, places.block) === 'type') return false
  return true
}

const formKeys: ReadonlySet<string> = new Set(['_meta', 'action', 'content', 'resultType'])
const actions: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel'])

const variant = (here: Looked, key: string, other: string): Fault => {
  const way: (string | number)[] = [key]
  for (let at = here; at.at !== undefined; at = at.at) way.unshift(at.step)
  return { kind: 'ambiguous', path: wirePath(...way), message: `a key that differs from "${other}" only in case` }
}

/** The protocol key that a key is taken for, and is not. */
const meant = (key: string, { keys }: Place): string | undefined => {
  if (key.length > 2 * longest) return undefined
  return keys.get(key.toLowerCase()) ?? (foldsToAscii.test(key) ? keys.get(fold(key)) : undefined)
}

/** All characters beyond ASCII that `fold` makes ASCII of; nearly no key has one. */
const foldsToAscii = /[\u00df\u0130\u0131\u0149\u017f\u01f0\u0307\u1e96-\u1e9a\u1e9e\u212a\ufb00-\ufb06]/

/**
 * As readers fold that ignore case, by one of the two cases or by both: the long s is an s to them, the Kelvin sign a k, and an i
 * is one with its dot or without.
 */
export const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
