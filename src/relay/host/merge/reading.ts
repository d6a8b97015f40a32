import { eachChild, slice } from '#relay/protocol/scan.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  each, isArray, isObject, isString, member, Meter, OverBudget, type Json, type JsonObject,
} from '#relay/protocol/json.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { errorIn, type LegAnswer } from './leg.js'
import { urisIn } from './resources.js'

/**
 * What servers list: the method, where its result has the list, what names an element, and what findings call
 * it.
 */
export const listKinds = {
  tools: { method: 'tools/list', key: 'tools', name: 'name', about: 'tool', capability: 'tools' },
  prompts: { method: 'prompts/list', key: 'prompts', name: 'name', about: 'prompt', capability: 'prompts' },
  resources: {
    method: 'resources/list', key: 'resources', name: 'uri', about: 'resource', capability: 'resources',
  },
  templates: {
    method: 'resources/templates/list', key: 'resourceTemplates', name: 'uriTemplate', about: 'resource',
    capability: 'resources',
  },
} as const

export type ListKind = keyof typeof listKinds

export const allKinds = Object.keys(listKinds) as readonly ListKind[]

export interface ServerItem {
  readonly name: string
  /** The element of the list, as the server wrote it. */
  readonly bytes: Buffer
  /** Where arguments are repeated in HTTP headers (2026-07-28, custom headers). */
  readonly inputSchema?: JsonObject | undefined
}

export interface ServerPage {
  /** By which it was asked for; undefined for the first. */
  readonly cursor: string | undefined
  readonly items: readonly ServerItem[]
}

interface ReadPage {
  readonly items: readonly ServerItem[]
  /** The URIs that its elements name, such as the page of an app. */
  readonly uris: readonly string[]
  readonly nextCursor: Json | undefined
  readonly ttlMs: number
}

/** Reads a server's answer to a request for a page. */
export const readPage = (kind: ListKind, answer: LegAnswer): ReadPage | { readonly missing: string } => {
  if (isString(answer)) return { missing: answer }
  const { message } = answer
  const none = { items: [], uris: [], nextCursor: undefined, ttlMs: Infinity }
  if (message.kind === 'error') {
    return message.error.code === errorCode.methodNotFound ? none : { missing: errorIn(message.error) }
  }
  const { key, name } = listKinds[kind]
  const list = member(message.result, key)
  if (!isArray(list)) return { missing: 'its list cannot be read' }
  const ttlMs = member(message.result, 'ttlMs')
  try {
    const spans = elementsIn(answer, key)
    const meter = new Meter()
    const items: ServerItem[] = []
    const uris: string[] = []
    for (const [index, element] of each(list, meter)) {
      const named = isObject(element) ? member(element, name) : undefined
      const bytes = spans[index]
      if (!isString(named) || bytes === undefined) continue
      const inputSchema = bytes.includes('x-mcp-header') ? schemaOf(element) : undefined
      items.push({ name: named, bytes, inputSchema })
      uris.push(...urisIn(element, meter))
    }
    return {
      items, uris, nextCursor: member(message.result, 'nextCursor'), ttlMs: typeof ttlMs === 'number' ? ttlMs : 0,
    }
  } catch (error) {
    if (error instanceof OverBudget) return { missing: error.message }
    throw error
  }
}

const schemaOf = (tool: Json): JsonObject | undefined => {
  const schema = isObject(tool) ? member(tool, 'inputSchema') : undefined
  return isObject(schema) ? schema : undefined
}

const elementsIn = (frame: Frame, key: string): readonly Buffer[] => {
  const written = slice(frame, ['result', key]) ?? Buffer.from('[]')
  const spans: Buffer[] = []
  eachChild(written, 0, ({ value, to }) => {
    spans.push(written.subarray(value, to))
    return false
  })
  return spans
}
