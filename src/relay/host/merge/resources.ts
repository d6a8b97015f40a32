import {
  isArray, isObject, isString, each, lengthOf, member, type Json, type Meter,
} from '#relay/protocol/json.js'
import { keptNames } from './names.js'

/** Longest URI and template that are matched with each other, in characters. */
const longestUri = 4096
const longestTemplate = 1024

/** Most URIs that servers named to one session, and their characters; the oldest are forgotten. */
const maxNamed = 10_000
const maxNamedCharacters = 2 * 1024 * 1024

/** Steps of matching one URI, or those of one stream, with the templates of all servers: some 50 ms. */
export const matchSteps = 20_000_000

/** What is left of them. */
export interface MatchBudget {
  left: number
}

/** Which server a resource belongs to. URIs are passed on as they are, so the table alone tells. */
export class ResourceOwners {
  #order: readonly string[] = []
  readonly #listed = new Map<string, ReadonlySet<string>>()
  readonly #templates = new Map<string, ReadonlySet<string>>()
  /** By URI: the servers that named it in a result, link or notification. */
  readonly #named = new Map<string, Set<string>>()
  #namedCharacters = 0

  /** @param order the servers, in the order of the file */
  offer(order: readonly string[]): void {
    this.#order = order
    for (const kept of [this.#listed, this.#templates]) {
      for (const server of kept.keys()) if (!order.includes(server)) kept.delete(server)
    }
  }

  /** @param adds the list's further pages */
  set(kind: 'resources' | 'templates', server: string, names: readonly string[], adds: boolean): void {
    const table = kind === 'resources' ? this.#listed : this.#templates
    table.set(server, keptNames(adds ? table.get(server) : undefined, names))
  }

  name(server: string, uri: string): void {
    if (uri.length > longestUri) return
    const known = this.#named.get(uri)
    if (known !== undefined) return void known.add(server)
    this.#named.set(uri, new Set([server]))
    this.#namedCharacters += uri.length
    for (const oldest of this.#named.keys()) {
      if (this.#named.size <= maxNamed && this.#namedCharacters <= maxNamedCharacters) break
      this.#named.delete(oldest)
      this.#namedCharacters -= oldest.length
    }
  }

  /** The first server of the file that lists a URI or template. */
  listedBy(kind: 'resources' | 'templates', name: string): string | undefined {
    const table = kind === 'resources' ? this.#listed : this.#templates
    return this.#order.find(server => table.get(server)?.has(name) === true)
  }

  /**
   * The servers that a URI could belong to: one, if it is known whose it is. None when the templates cost
   * more than is left: it may never go to the wrong server.
   */
  of(uri: string, budget: MatchBudget = { left: matchSteps }): readonly string[] {
    const lister = this.listedBy('resources', uri)
    if (lister !== undefined) return [lister]
    const fitting = this.#order.filter(server =>
      [...(this.#templates.get(server) ?? [])].some(template =>
        this.listedBy('templates', template) === server && budget.left > 0
          && fitsTemplate(template, uri, budget)))
    if (budget.left <= 0) return []
    if (fitting.length > 0) return fitting
    return this.#order.filter(server => this.#named.get(uri)?.has(server) === true)
  }
}

/**
 * Whether a URI could be made from a template (RFC 6570), in time linear in the URI for each character of the
 * template. A variable stands for characters other than `/`; one with an operator stands for any characters.
 */
export const fitsTemplate = (
  template: string, uri: string, budget: MatchBudget = { left: matchSteps },
): boolean => {
  const first = template.indexOf('{')
  if (template.length > longestTemplate || uri.length > longestUri || first < 0) return template === uri
  budget.left -= first + 1
  if (!uri.startsWith(template.slice(0, first))) return false
  budget.left -= (template.length - first) * uri.length
  if (budget.left <= 0) return false
  /** Where the part of the template that was read so far may end in the URI. */
  let ends = new Uint8Array(uri.length + 1)
  ends[0] = 1
  for (const [, literal = '', expression] of template.matchAll(/([^{]+)|\{([^}]*)\}?/g)) {
    const next = new Uint8Array(uri.length + 1)
    if (expression === undefined) {
      for (let at = ends.indexOf(1); at >= 0; at = ends.indexOf(1, at + 1)) {
        if (uri.startsWith(literal, at)) next[at + literal.length] = 1
      }
    } else {
      const takesAll = /^[+#./;?&]/.test(expression)
      for (let at = 0, isOpen = false; at <= uri.length; at++) {
        if (isOpen || (takesAll && ends[at] === 1)) next[at] = 1
        isOpen = (isOpen || ends[at] === 1) && (takesAll || uri[at] !== '/')
      }
    }
    ends = next
  }
  return ends[uri.length] === 1
}

/** Where results, tools and notifications name resources: links, embedded resources, the page of an app. */
export const urisIn = (value: Json | undefined, meter: Meter): readonly string[] => {
  if (!isObject(value)) return []
  const found: string[] = []
  const add = (uri: Json | undefined) => {
    if (isString(uri)) found.push(uri)
  }
  const meta = member(value, '_meta')
  if (isObject(meta)) {
    const ui = member(meta, 'ui')
    if (isObject(ui)) add(member(ui, 'resourceUri'))
    add(member(meta, 'ui/resourceUri'))
  }
  for (const key of ['content', 'contents', 'messages']) {
    const list = member(value, key)
    if (!isArray(list) || lengthOf(list) === 0) continue
    for (const [, one] of each(list, meter)) {
      const block = isObject(one) && key === 'messages' ? member(one, 'content') : one
      if (!isObject(block)) continue
      add(member(block, 'uri'))
      const resource = member(block, 'resource')
      if (isObject(resource)) add(member(resource, 'uri'))
      if (key !== 'contents') add(urisIn({ _meta: member(block, '_meta') }, meter)[0])
    }
  }
  return found
}
