import { member, type JsonObject } from '../json.js'
import type { Members } from './shape.js'

/**
 * What the rules judge in a message (names of schema.json): ContentBlock and SamplingMessageContentBlock; the
 * contents of a resource; Resource and ResourceTemplate as listed; Icon, a website, another URI that a client
 * may follow; a request inside another message, and the params of an elicitation; CallToolResult; Task, which
 * may hold a result; Tool; Prompt; Implementation.
 */
export type Kind =
  | 'block' | 'samplingContent' | 'resource' | 'listedResource' | 'icon' | 'website' | 'uri'
  | 'request' | 'elicitation' | 'toolResult' | 'task' | 'tool' | 'prompt' | 'implementation'

/** Where values of a kind may stand, seen from the object that holds them. */
export interface Place {
  readonly kind: Kind
  /**
   * The names of the members that lead from the holder to the value. An array on the way, or at its end,
   * stands for each of its elements: clients accept one value and an array of values alike.
   */
  readonly way: readonly string[]
  /** Whether values of the kind stand there in this holder. */
  readonly when?: (holder: JsonObject, modern: boolean) => boolean
}

/** A step to every member of an object, or element of an array. */
export const every = '*'

export const place = (kind: Kind, ...way: readonly string[]): Place => ({ kind, way })

export const placeWhen = (when: NonNullable<Place['when']>, kind: Kind, ...way: readonly string[]): Place =>
  ({ kind, way, when })

export const isModern = (_: JsonObject, modern: boolean): boolean => modern
export const isLegacy = (_: JsonObject, modern: boolean): boolean => !modern
export const isOf = (type: string) => (block: JsonObject): boolean => member(block, 'type') === type

/** The facts about a method. If an earlier revision has the method, this holds only what is new. */
export interface Method {
  readonly from: 'client' | 'server' | 'either'
  readonly kind: 'request' | 'notification'
  /** The member of `params` that `Mcp-Name` repeats (2026-07-28, Standard Request Headers; SEP-2663). */
  readonly names?: { readonly key: string; readonly required: boolean }
  /** Where values that are judged stand in its params and in its result. */
  readonly inParams?: readonly Place[]
  readonly inResult?: readonly Place[]
  /** Members of final results only. A result with one is judged as final, as a lenient client reads it. */
  readonly final?: readonly string[]
  /** The member of its result that holds a list, and the members of each element that must be strings. */
  readonly list?: { readonly key: string; readonly needs: readonly string[] }
  /** The members of its `params` that a model reads, or all. A result is read whole, whatever the method. */
  readonly read?: readonly string[] | 'all'
  /** Its response may come hours later, or it goes on after the response: no time limit applies. */
  readonly lasting?: true
}

export const client = { from: 'client', kind: 'request' } as const
export const server = { from: 'server', kind: 'request' } as const
export const either = { from: 'either', kind: 'request' } as const
export const fromClient = { from: 'client', kind: 'notification' } as const
export const fromServer = { from: 'server', kind: 'notification' } as const
export const fromEither = { from: 'either', kind: 'notification' } as const

/** The members of CallToolResult that other results do not have. */
export const toolMembers: readonly string[] = ['content', 'structuredContent', 'toolResult']

export const hasToolMember = (result: JsonObject): boolean =>
  toolMembers.some(name => Object.hasOwn(result, name))

/** What a revision inherits from the one before, and may change. */
export interface Traits {
  /** Stateless: no handshake, `_meta` on each request, `resultType` on each result. */
  readonly modern: boolean
  /** JSON-RPC batches are allowed. */
  readonly batches: boolean
  /** A result of a tool may have `toolResult` in the place of `content`. */
  readonly toolResult: boolean
  readonly tool: Members
  /** Members of CallToolResult beside `content`. */
  readonly result: Members
  /** ContentBlock: members of every type, and of each. */
  readonly block: Members
  readonly blocks: Readonly<Record<string, Members>>
  /** Types of SamplingMessageContentBlock, with the names of members that no ContentBlock has. */
  readonly sampled: Readonly<Record<string, readonly string[]>>
}

/** A revision of MCP, or of its extensions. Methods, keys and places hold for all: peers mix them. */
export interface Definition {
  readonly traits: Traits
  readonly methods?: Readonly<Record<string, Method>>
  /** The keys that it defines in params and in results, beside `_meta`; separated by spaces. */
  readonly paramKeys?: string
  readonly resultKeys?: string
  /** Places in every result and in every task's state; places in every error. */
  readonly inEveryResult?: readonly Place[]
  readonly inEveryError?: readonly Place[]
}
