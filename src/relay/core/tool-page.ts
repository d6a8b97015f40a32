import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Path } from '#relay/protocol/scan.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  isArray, isObject, isString, type Json, type JsonArray, type JsonObject, lengthOf, member,
} from '#relay/protocol/json.js'
import { nextPage } from '#relay/protocol/pages.js'
import { leftOut } from '#relay/protocol/quote.js'
import { unmetered } from '#relay/protocol/unmetered.js'
import { acceptedFor, exactResult, judgeDrift } from './accepted.js'
import type { Catalog, Listing, Page } from './catalog.js'
import type { Core } from './core.js'
import type { ClientShape, Exchange, Tool } from './vocabulary.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { judgeList } from './listing.js'
import { toolOf } from './operator-words.js'
import { everyTool, fits, settingOf } from './options.js'
import { summary } from './refusal.js'
import { tellChanges } from './shape.js'
import type { Terms } from './terms.js'
import { type Candidate, type JudgedTool, toolSchemas, ToolJudge, type ToolPage } from './tool-judge.js'

export interface JudgedPage {
  /** The edits that turn the server's page into the client's; empty when none are needed. */
  readonly edits: readonly Edit[]
  /** The names of the tools that the client gets. */
  readonly shown: readonly string[]
  /** Their names for the client. */
  readonly shownNames: readonly string[]
  /** Undefined for a result without a list of tools that passes by policy. */
  readonly page: Page | undefined
}

/** Bytes of a page and tools that are judged before the relay yields to the event loop. */
const turnBytes = 512 * 1024
const turnTools = 250

/**
 * Judges a page of `tools/list`. Each tool is judged by itself: a faulty tool does not block the list.
 * @param exchange on which the page arrived
 * @param scopes of the client's token: tools that need other scopes are left out of the client's list
 * @returns undefined when the page is blocked as a whole
 */
export function* judgePage(
  core: Core, catalog: Catalog, listing: Listing, terms: Terms, exchange: Exchange, frame: Frame,
  result: JsonObject, findings: Findings, scopes?: readonly string[],
): Flow<JudgedPage | undefined> {
  const offer = acceptedFor(core, terms)
  const edits: Edit[] =
    [...(yield* judgeList(core, 'tools/list', terms, listing.cursors, result, exchange, findings))]
  // A reload may have come meanwhile.
  const { ruling } = core
  // A list that depends on who asks must not be cached for others (2026-07-28, CacheableResult).
  const isPersonal = ruling.names?.clients !== undefined || ruling.shapes?.isPersonal === true
    || (scopes !== undefined && [...ruling.tools.values()].some(one => one.scopes !== undefined))
  if (isPersonal && member(result, 'cacheScope') === 'public')
    edits.push({ path: ['result', 'cacheScope'], replace: '"private"' })
  const tools = member(result, 'tools')
  if (findings.stopping.length > 0) return undefined
  if (!isArray(tools)) return { edits, shown: [], shownNames: [], page: undefined }
  const page = new PageJudge({
    core, catalog, terms, exchange, findings, scopes, offer, shape: ruling.shapes?.of(terms.client),
    exact: offer && member(exactResult(core, frame, result), 'tools'),
  }, listing, edits)
  yield* page.judge(tools, frame.bytes.length)
  return page.judged(result)
}

/** Judges the tools of one page, and collects the edits of the page. */
class PageJudge {
  readonly #page: ToolPage
  readonly #listing: Listing
  readonly #edits: Edit[]
  readonly #listed = new Map<string, JsonObject>()
  readonly #passed = new Map<string, Tool>()
  readonly #withheld = new Map<string, string>()
  /** The index in the page of each tool that the client gets. */
  readonly #places = new Map<string, number>()
  /** By the server's name: the client's, where it is another. */
  readonly #shownNames = new Map<string, string>()
  #isPartial = false

  constructor(page: Omit<ToolPage, 'isTaken'>, listing: Listing, edits: Edit[]) {
    const { names, shownNames } = listing
    this.#page =
      { ...page, isTaken: name => names.has(name) || this.#listed.has(name) || shownNames.has(name) }
    this.#listing = listing
    this.#edits = edits
  }

  /** @param bytes of the page */
  *judge(tools: JsonArray, bytes: number): Flow {
    const { catalog, exchange, findings, core } = this.#page
    const { limits } = core.judgement
    const count = lengthOf(tools)
    const room = Math.min(count, limits.tools - this.#listing.names.size)
    const perTurn = Math.max(1, Math.min(turnTools, Math.floor((count * turnBytes) / bytes)))
    for (let from = 0; from < room; from += perTurn) {
      if (from > 0) yield* core.pause(exchange)
      findings.meter.pay(perTurn)
      const candidates = unmetered(tools).slice(from, Math.min(room, from + perTurn))
        .map((tool, index) => this.#candidate(tool, from + index))
      const subjects = candidates.map(toolSchemas)
      const inspected = yield* core.check(subjects.flat(), exchange)
      let next = 0
      for (const [index, one] of candidates.entries()) {
        const schemas = inspected.slice(next, (next += subjects[index]?.length ?? 0)).flat()
        const reason = one.overLimit ?? (one.sent && catalog.noRoom(this.#listing, this.#listed, one.sent))
        if (reason === undefined) this.#add(one, yield* new ToolJudge(this.#page, one, schemas).judge())
        else this.#overLimit({ path: ['result', 'tools', one.index], remove: true }, 1, reason, one.name)
      }
    }
    if (room < count)
      this.#overLimit({ path: ['result', 'tools'], length: room }, count - room, `more than ${limits.tools} tools`)
    this.#removeSurplus()
    this.#listing.shown += this.#places.size
  }

  judged(result: JsonObject): JudgedPage {
    const { core, offer, findings } = this.#page
    const next = nextPage(member(result, 'nextCursor'), this.#page.terms.revision, this.#listing.cursors)
    const lifetime = member(result, 'ttlMs')
    const isLast = next.kind === 'end' || next.kind === 'repeats'
    if (isLast && this.#listing.whole && offer !== undefined) {
      const gone = [...offer.definitions.tools.keys()].filter(
        name => !this.#listing.names.has(name) && !this.#listed.has(name),
      )
      for (const name of gone) judgeDrift(core, offer, 'tools', name, undefined, ['result', 'tools'], findings)
    }
    return {
      edits: this.#edits,
      shown: [...this.#places.keys()],
      shownNames: [...this.#places.keys()].map(name => this.#shownNames.get(name) ?? name),
      page: {
        listed: this.#listed, accepted: this.#passed, withheld: this.#withheld, next,
        lifetime: typeof lifetime === 'number' ? lifetime : 0, isPartial: this.#isPartial,
      },
    }
  }

  #candidate(tool: Json, index: number): Candidate {
    const { catalog, core } = this.#page
    const own = isObject(tool) ? member(tool, 'name') : undefined
    const name = isString(own) ? own : undefined
    const sent = !isObject(tool) ? undefined : name === undefined ? tool : catalog.interned(name, tool)
    return {
      index, name, sent, setting: name === undefined ? undefined : settingOf(core.ruling, name),
      overLimit: sent && catalog.noRoom(this.#listing, this.#listed, sent),
    }
  }

  /** Adds a tool to the list, and its changes to the edits of the page. */
  #add({ index, name, sent, setting }: Candidate, tool: JudgedTool): void {
    const { shown, checkedBy, changes, text, shownName, isRemoved, isHidden, isRepeated, withheld } = tool
    const at: Path = ['result', 'tools', index]
    if (isRemoved || isHidden) this.#edits.push({ path: at, remove: true })
    else if (changes !== undefined) {
      if (shownName !== undefined && name !== undefined) {
        this.#page.catalog.rename(shownName, name)
        this.#listing.shownNames.add(shownName)
        this.#shownNames.set(name, shownName)
      }
      if (text !== undefined) this.#edits.push({ path: at, replace: edit(Buffer.from(text), changes) })
      else for (const one of changes) this.#edits.push({ ...one, path: [...at, ...one.path] })
    }
    if (name === undefined || sent === undefined || shown === undefined || isRepeated) return
    this.#listed.set(name, sent)
    if (withheld !== undefined) this.#withheld.set(name, withheld)
    if (isRemoved) return
    this.#passed.set(name, toolOf(name, shown, setting?.outputSchema, checkedBy))
    if (!isHidden) this.#places.set(name, index)
  }

  /** @param name of the one tool that it is about */
  #overLimit(change: Edit, count: number, reason: string, name?: string): void {
    const { core, findings } = this.#page
    const found = core.findings(findings.meter)
    core.ask('onOverLimit', { count, reason }, found, '/result/tools')
    findings.include(found)
    if (!found.isStop) this.#isPartial = true
    else {
      this.#edits.push(change)
      this.#withheld.set(name ?? '', summary(found))
    }
  }

  /** Removes the tools beyond the number that the client takes. */
  #removeSurplus(): void {
    const { core, findings, shape } = this.#page
    if (shape === undefined) return
    for (const name of surplusOf(core, shape, this.#listing, [...this.#places.keys()], findings)) {
      this.#edits.push({ path: ['result', 'tools', this.#places.get(name) ?? 0], remove: true })
      this.#places.delete(name)
    }
  }
}

/**
 * The tools beyond the number that the client takes. Tools that the operator names are kept first, then tools
 * that match a pattern of the operator, in the operator's order; then the others, in the server's order.
 */
const surplusOf = (
  core: Core, shape: ClientShape, listing: Listing, shown: readonly string[], findings: Findings,
): readonly string[] => {
  const room = Math.max(0, (shape.tools ?? Infinity) - listing.shown)
  if (shown.length <= room) return []
  const { tools, names } = core.ruling
  const order = [...tools.keys(), ...(names?.allow ?? [])].filter(one => one !== everyTool)
  const rank = (name: string): number => {
    const [exact, fitting] = [order.indexOf(name), order.findIndex(pattern => fits(name, pattern))]
    return exact >= 0 ? exact : order.length + (fitting < 0 ? order.length : fitting)
  }
  const surplus = shown.map(name => ({ name, rank: rank(name) })).sort((a, b) => a.rank - b.rank)
    .slice(room).map(({ name }) => name)
  const message = leftOut(`the client (${shape.name}) takes ${String(shape.tools)} tools`, surplus)
  const path = '/result/tools'
  return tellChanges(core, shape, path, [{ path, message }], `removed ${surplus.length} tools`, findings)
    ? surplus
    : []
}
