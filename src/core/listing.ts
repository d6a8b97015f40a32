import type { Edit } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isArray, isObject, isString, member, pointer, type Json, type JsonObject } from '../protocol/json.js'
import { titleOf } from '../protocol/mcp.js'
import type { Catalog, Listing, Page, Schema, Tool } from './catalog.js'
import type { Checked, Subject } from './check.js'
import type { Core } from './core.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import type { ToolSetting } from './options.js'

import type { PendingRequest } from './request.js'
import type { Rule } from './rule.js'

export interface JudgedPage {
  /** What makes of the server's page the client's; none when it may pass as it came. */
  readonly edits: readonly Edit[]
  readonly page: Page
}

/** About so many bytes of a page, and so many tools, are judged in one turn. */
const turnBytes = 512 * 1024
const turnTools = 250

/** One element of `result.tools`, as it is judged. */
interface Candidate {
  readonly index: number
  readonly path: string
  readonly name: string | undefined
  /** As the server sent it; undefined when it is no object. */
  readonly sent: JsonObject | undefined
  readonly setting: ToolSetting | undefined
  readonly subjects: readonly Subject[]
}

/**
 * Judges a page of `tools/list`: each tool by itself, so that a bad one never fails the list.
 * @returns undefined when the result is no list of tools, which is a finding
 */
export function* judgePage(
  core: Core,
  catalog: Catalog,
  listing: Listing,
  { exchange, terms: { revision } }: PendingRequest,
  frame: Frame,
  result: JsonObject,
  findings: Findings,
): Flow<JudgedPage | undefined> {
  const { options } = core
  core.ask('onList', { method: 'tools/list', result, revision }, findings, '/result')
  const tools = member(result, 'tools')
  if (!isArray(tools)) return undefined
  const page = new PageOfTools(core, catalog, listing, revision, findings)
  const room = Math.min(tools.length, options.mostTools - listing.names.size)
  const perTurn = Math.max(1, Math.min(turnTools, Math.floor((tools.length * turnBytes) / frame.bytes.length)))
  for (let from = 0; from < room; from += perTurn) {
    if (from > 0) yield* core.checks.turn(exchange)
    const candidates = tools.slice(from, Math.min(room, from + perTurn)).map((tool, index) => candidate(tool, from + index, options.tools, catalog))
    const inspected = yield* core.checks.check(candidates.flatMap(({ subjects }) => subjects), exchange)
    let next = 0
    for (const one of candidates) page.judge(one, inspected.slice(next, (next += one.subjects.length)).flat())
  }
  if (room < tools.length) page.surplus(room, tools.length - room)
  return page.judged(result)
}

const candidate = (given: Json, index: number, settings: ReadonlyMap<string, ToolSetting>, catalog: Catalog): Candidate => {
  const path = pointer('result', 'tools', index)
  if (!isObject(given)) return { index, path, name: undefined, sent: undefined, setting: undefined, subjects: [] }
  const name = member(given, 'name')
  const setting = isString(name) ? settings.get(name) : undefined
  const sent = isString(name) ? catalog.held(name, given) : given
  const subjects = ['inputSchema', 'outputSchema'].flatMap((key): Subject[] => {
    const operators = key === 'outputSchema' ? setting?.outputSchema : undefined
    const schema = operators ?? member(sent, key)
    return schema === undefined ? [] : [{ kind: 'schema', schema, path: path + pointer(key) }]
  })
  return { index, path, name: isString(name) ? name : undefined, sent, setting, subjects }
}

class PageOfTools {
  readonly #core: Core
  readonly #catalog: Catalog
  readonly #listing: Listing
  readonly #revision: PendingRequest['terms']['revision']
  readonly #findings: Findings
  readonly #cuts: ReadonlyMap<string, NonNullable<Rule['cut']>>
  readonly #listed = new Map<string, JsonObject>()
  readonly #accepted = new Map<string, Tool>()
  readonly #edits: Edit[] = []
  #isPartial = false

  constructor(core: Core, catalog: Catalog, listing: Listing, revision: PendingRequest['terms']['revision'], findings: Findings) {
    this.#core = core
    this.#catalog = catalog
    this.#listing = listing
    this.#revision = revision
    this.#findings = findings
    this.#cuts = new Map(core.options.rules.flatMap(({ name, cut }) => (cut === undefined ? [] : [[name, cut]])))
  }

  judge(one: Candidate, schemas: Checked): void {
    const { index, path, name, sent, setting } = one
    const { ask, options } = this.#core
    const reason = sent && this.#catalog.noRoom(this.#listing, this.#listed, sent)
    if (reason !== undefined) return this.#noRoom({ path: ['result', 'tools', index], remove: true }, 1, reason)
    const repeated = name !== undefined && (this.#listing.names.has(name) || this.#listed.has(name))
    const found = this.#core.findings()
    // The rules judge what the server says; an operator's schema stands above them, but for being one at all (`schemas`).
    const definition = sent && setting?.outputSchema !== undefined ? without(sent, 'outputSchema') : sent
    const first = name === undefined ? undefined : this.#catalog.firstListed(name)
    const { settled } = this.#catalog
    const { trusted } = options
    const denied = setting?.denied === true
    const listed = { sent, definition, path, revision: this.#revision, trusted, schemas, repeated, first, settled, denied }
    ask('onTool', listed, found, path)
    this.#findings.include(found)
    const isRemoved = found.stopping.some(rule => rule !== 'call/denied' && !this.#cuts.has(rule))
    if (isRemoved || denied) this.#edits.push({ path: ['result', 'tools', index], remove: true })
    else if (sent !== undefined) this.#trim(index, sent, setting, found)
    if (name === undefined || sent === undefined || repeated) return
    this.#listed.set(name, sent)
    if (!isRemoved) this.#accepted.set(name, toolOf(name, sent, setting?.outputSchema))
  }

  /** Tools from an index on for which a catalogue has no room. */
  surplus(from: number, count: number): void {
    this.#noRoom({ path: ['result', 'tools'], length: from }, count, `more than ${this.#core.options.mostTools} tools`)
  }

  judged(result: JsonObject): JudgedPage {
    const next = member(result, 'nextCursor')
    const lifetime = member(result, 'ttlMs')
    return {
      edits: this.#edits,
      page: {
        listed: this.#listed,
        accepted: this.#accepted,
        next: isString(next) && next !== '' ? next : undefined,
        lifetime: typeof lifetime === 'number' ? lifetime : 0,
        isPartial: this.#isPartial,
      },
    }
  }

  #noRoom(edit: Edit, count: number, reason: string): void {
    const found = this.#core.findings()
    this.#core.ask('onSurplus', { count, reason }, found, '/result/tools')
    this.#findings.include(found)
    if (found.isStop) this.#edits.push(edit)
    else this.#isPartial = true
  }

  /** What is taken from a tool that stays, and what the operator puts into it. */
  #trim(index: number, sent: JsonObject, setting: ToolSetting | undefined, found: Findings): void {
    const at = (...path: readonly (string | number)[]) => ['result', 'tools', index, ...path]
    for (const rule of found.stopping) {
      for (const cut of this.#cuts.get(rule)?.(sent) ?? []) this.#edits.push({ ...cut, path: at(...cut.path) })
    }
    if (setting?.outputSchema !== undefined) this.#edits.push({ path: at('outputSchema'), replace: JSON.stringify(setting.outputSchema) })
    if (setting?.annotations === undefined) return
    const theirs = member(sent, 'annotations')
    const kept = found.stopping.includes('tool/annotations') ? titleOf(theirs) : isObject(theirs) ? theirs : {}
    this.#edits.push({ path: at('annotations'), replace: JSON.stringify({ ...kept, ...setting.annotations }) })
  }
}

const without = (object: JsonObject, key: string): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))

/** @param operators schema in place of the server's */
export const toolOf = (name: string, definition: JsonObject, operators?: Schema): Tool => {
  const input = member(definition, 'inputSchema')
  const output = operators ?? member(definition, 'outputSchema')
  return {
    name,
    definition,
    // A definition without a usable schema passes only where the operator lets it: then nothing is declared.
    inputSchemas: [isObject(input) ? input : true],
    outputSchemas: isObject(output) || typeof output === 'boolean' ? [output] : [],
  }
}
