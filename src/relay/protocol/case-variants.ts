import type { Fault } from './frame.js'
import { isArray, isObject, isString, lengthOf, member, type Json, type JsonObject } from './json.js'
import { wirePath } from './quote.js'
import { blockKeys, methodOf, paramKeys, resultKeys, toolKeys } from './revisions/index.js'
import { unmetered } from './unmetered.js'

/** An object of a message in which the protocol gives keys a meaning (schema.json of every revision). */
interface Scope {
  /** The protocol's keys. Each is found by its own spelling, and by its spelling with folded case. */
  readonly keys: ReadonlyMap<string, string>
  readonly below: ReadonlyMap<string, Below>
}

/** The scope of a member's value or of each of its elements; in brackets, of each of its members. */
type Below = ScopeName | readonly [ScopeName]

type ScopeName =
  'message' | 'params' | 'error' | 'result' | 'tool' | 'block' | 'resource' | 'promptMessage' | 'request'

const inner = new Map<string, Below>([
  ['params', 'params'], ['result', 'result'], ['error', 'error'], ['messages', 'promptMessage'],
  ['tools', 'tool'], ['content', 'block'], ['contents', 'resource'], ['resource', 'resource'],
  ['inputRequests', ['request']], ['inputResponses', ['result']],
])

const scopeOf = (keys: readonly string[]): Scope => ({
  keys: new Map([
    ...keys.map(key => [key.toLowerCase(), key] as const),
    ...keys.map(key => [key, key] as const),
  ]),
  below: new Map([...inner].filter(([key]) => keys.includes(key))),
})

const scopes: Readonly<Record<ScopeName, Scope>> = {
  message: scopeOf(['jsonrpc', 'id', 'method', 'params', 'result', 'error']),
  error: scopeOf(['code', 'message', 'data']),
  params: scopeOf(paramKeys),
  result: scopeOf(resultKeys),
  request: scopeOf(['method', 'params']),
  tool: scopeOf(toolKeys),
  promptMessage: scopeOf(['role', 'content', '_meta']),
  block: scopeOf(blockKeys),
  resource: scopeOf(['uri', 'mimeType', 'text', 'blob', '_meta']),
}

const longestKey =
  Math.max(...Object.values(scopes).flatMap(({ keys }) => [...keys.keys()].map(key => key.length)))

/** The params of an unknown method have keys of their own. */
const unknownParams = scopeOf(['_meta'])

const paramsOf = (message: JsonObject): Scope => {
  const method = member(message, 'method')
  return isString(method) && methodOf(method) === undefined ? unknownParams : scopes.params
}

const maxFaults = 20

/** Keys and elements that are looked at in one turn of the event loop. */
const perTurn = 100_000

/**
 * Finds the keys of a message that differ from a protocol key only in case. A reader that ignores case
 * takes such a key for the protocol key. Yields when other sessions should have their turn.
 */
export function* caseVariants(message: Json): Generator<void, readonly Fault[], void> {
  const found: Fault[] = []
  const left: Visit[] = [{ value: message, scope: scopes.message, holder: undefined, step: '' }]
  let seen = 0
  for (let here = left.pop(); here !== undefined && found.length < maxFaults; here = left.pop()) {
    const { value, scope } = here
    if (isArray(value)) {
      for (let index = lengthOf(value) - 1; index >= 0; index--) {
        const element = value[index] ?? null
        const isContainer = typeof element === 'object' && element !== null
        if (isContainer) left.push({ value: element, scope, holder: here, step: index })
        if (++seen % perTurn === 0) yield
      }
    } else if (isObject(value)) {
      for (const key in unmetered(value)) {
        if (++seen % perTurn === 0) yield
        const exact = scope.keys.get(key)
        if (exact === key) {
          const below = scope.below.get(key)
          if (below !== undefined) push(left, value, key, below, here)
        } else {
          const other = exact ?? protocolKeyOf(key, scope)
          if (other !== undefined && found.length < maxFaults) found.push(variant(here, key, other))
        }
      }
    }
  }
  return found
}

interface Visit {
  readonly value: Json
  readonly scope: Scope
  /** The visit of the object or array that holds the value, and the step from it. */
  readonly holder: Visit | undefined
  readonly step: string | number
}

const push = (left: Visit[], object: JsonObject, key: string, below: Below, holder: Visit): void => {
  const value = object[key] ?? null
  if (typeof value !== 'object' || value === null) return
  if (typeof below === 'string') {
    if (below === 'block' && isObject(value) && isForm(holder.scope, object, value)) return
    left.push({ value, scope: below === 'params' ? paramsOf(object) : scopes[below], holder, step: key })
  } else if (isObject(value)) {
    const names: Visit = { value, scope: unknownParams, holder, step: key }
    for (const name in unmetered(value)) {
      left.push({ value: value[name] ?? null, scope: scopes[below[0]], holder: names, step: name })
    }
  }
}

/** The `content` of an ElicitResult has the form's own names. No reader takes it for a content block. */
const isForm = (scope: Scope, result: JsonObject, content: JsonObject): boolean => {
  if (scope !== scopes.result) return false
  const isElicitResult = actions.has(member(result, 'action'))
    && Object.keys(unmetered(result)).every(key => formKeys.has(key) || !scope.keys.has(key))
  if (isElicitResult) return true
  for (const key in unmetered(content)) {
    if (key === 'type' || protocolKeyOf(key, scopes.block) === 'type') return false
  }
  return true
}

const formKeys: ReadonlySet<string> = new Set(['_meta', 'action', 'content', 'resultType'])
const actions: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel'])

const variant = (here: Visit, key: string, other: string): Fault => {
  const way: (string | number)[] = [key]
  for (let at = here; at.holder !== undefined; at = at.holder) way.unshift(at.step)
  const message = `a key that differs from "${other}" only in case`
  return { kind: 'ambiguous', path: wirePath(...way), message }
}

/** The protocol key that a reader which ignores case takes a key for. */
const protocolKeyOf = (key: string, { keys }: Scope): string | undefined => {
  if (key.length > 2 * longestKey) return undefined
  return keys.get(key.toLowerCase()) ?? (foldsToAscii.test(key) ? keys.get(fold(key)) : undefined)
}

/** All characters beyond ASCII that `fold` turns into ASCII; few keys have one. */
const foldsToAscii = /[\u00df\u0130\u0131\u0149\u017f\u01f0\u0307\u1e96-\u1e9a\u1e9e\u212a\ufb00-\ufb06]/

/** Folds case as any reader may: the long s is an s, the Kelvin sign a k, a dotless or dotted i an i. */
export const fold = (key: string): string =>
  key.toLowerCase().toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
