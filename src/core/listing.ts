import { difference, edit, type Edit } from '#protocol/edit.js'
import type { Path } from '#protocol/scan.js'
import type { Frame } from '#protocol/frame.js'
import {
  isArray, isObject, isString, type Json, type JsonObject, lengthOf, member, type Meter, omit, pointer,
  withMembers,
} from '#protocol/json.js'
import { quote } from '#protocol/quote.js'
import { unmetered } from '#protocol/unmetered.js'
import type { Revision } from '#protocol/revisions/index.js'
import { acceptedFor, exactResult, judgeDrift } from './accepted.js'
import type { Catalog, Listing, Page, Schema, Tool } from './catalog.js'
import type { Checked, Subject } from './check.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { type Judged, mended } from './mend.js'
import { everyTool, fits, grants, isDenied, type ToolSetting } from './options.js'
import type { List, Subjects } from './rule.js'
import { type ClientShape, tellChanges } from './shape.js'
import type { Terms } from './terms.js'

export interface JudgedPage {
  /** The edits that make the client's page of the server's; empty if it passes unchanged. */
  readonly edits: readonly Edit[]
  /** The names of the tools that the client gets. */
  readonly shown: readonly string[]
  /** Undefined for a result without a list of tools that passes by policy. */
  readonly page: Page | undefined
}

/** Bytes of a page and tools that are judged before the relay yields to the event loop. */
const turnBytes = 512 * 1024
const turnTools = 250

/** One element of `result.tools`. */
interface Candidate {
  readonly index: number
  readonly name: string | undefined
  /** The server's definition; undefined when it is no object. */
  readonly sent: JsonObject | undefined
  readonly setting: ToolSetting | undefined
  /** The limit that it exceeds, if any. */
  readonly overLimit: string | undefined
}

/**
 * Judges a page of `tools/list`: each tool by itself, so that a bad one never fails the list.
 * @param exchange on which it arrived
 * @param scopes of the client's token: tools that need others are left out of its list
 * @returns undefined when the page is blocked as a whole
 */
export function* judgePage(
  core: Core, catalog: Catalog, listing: Listing, terms: Terms, exchange: Exchange, frame: Frame,
  result: JsonObject, findings: Findings, scopes?: readonly string[],
): Flow<JudgedPage | undefined> {
  const { options, ask, checks, mends, findings: newFindings } = core
  const { revision } = terms
  const offer = acceptedFor(core, terms)
  const edits: Edit[] = [...(yield* judgeList(core, 'tools/list', revision, result, exchange, findings))]
  // A list that depends on who asks must not be cached for others (2026-07-28, CacheableResult).
  const isPersonal = options.names?.clients !== undefined || options.shapes?.isPersonal === true ||
    (scopes !== undefined && [...options.tools.values()].some(one => one.scopes !== undefined))
  if (isPersonal && member(result, 'cacheScope') === 'public')
    edits.push({ path: ['result', 'cacheScope'], replace: '"private"' })
  const tools = member(result, 'tools')
  if (findings.stopping.length > 0) return undefined
  if (!isArray(tools)) return { edits, shown: [], page: undefined }
  const exact = offer && member(exactResult(core, frame, result), 'tools')
  const listed = new Map<string, JsonObject>()
  const passed = new Map<string, Tool>()
  /** Where the tools stand that the client gets. */
  const places = new Map<string, number>()
  const shape = options.shapes?.of(terms.client)
  let isPartial = false
  const isHidden = (name: string | undefined): boolean =>
    name !== undefined &&
    (isDenied(options, name, terms.client) || !grants(scopes, options.tools.get(name)?.scopes))

  const overLimit = (change: Edit, count: number, reason: string) => {
    const found = newFindings(findings.meter)
    ask('onOverLimit', { count, reason }, found, '/result/tools')
    findings.include(found)
    if (found.isStop) edits.push(change)
    else isPartial = true
  }

  const judge = function* (candidate: Candidate, inspected: Checked): Flow {
    const { index, name, sent, setting } = candidate
    const path = pointer('result', 'tools', index)
    const isTaken = (one: string) => listing.names.has(one) || listed.has(one) || listing.shownNames.has(one)
    const repeated = name !== undefined && isTaken(name)
    // Rules judge the server's definition. The operator's output schema is only inspected (`schemas`).
    const definitionOf = (tool: JsonObject) =>
      setting?.outputSchema !== undefined ? omit(tool, 'outputSchema') : tool
    // With a lock, drift is measured from the lock, and not from the first listing.
    const first = offer !== undefined ? sent : name === undefined ? undefined : catalog.firstListed(name)
    const elsewhere =
      name === undefined || catalog.firstElsewhere === undefined
        ? undefined
        : member(catalog.firstElsewhere, name)
    const isChanged = offer === undefined && sent !== undefined && elsewhere !== undefined
      && elsewhere !== core.shared.digestOf(sent)
    const denied = name !== undefined && isDenied(options, name, terms.client)
    const accepted = name === undefined ? undefined : offer?.definitions.tools.get(name)
    const locked = isObject(accepted) ? accepted : undefined
    const found = newFindings(findings.meter)
    const drift =
      sent === undefined
        ? 'same'
        : judgeDrift(
            core, offer, 'tools', name, isArray(exact) ? exact[index] : sent, ['result', 'tools', index],
            found,
          )
    const trusted = options.trusted || (options.accepted?.isTrusted === true && drift === 'same')
    const asked = (definition: JsonObject | undefined, schemas: Checked) => {
      const subject = {
        sent, definition, path, revision, trusted, schemas, repeated, first, isChanged,
        settled: catalog.hasWholeList, denied,
      }
      const found = newFindings(findings.meter)
      ask('onTool', subject, found, path)
      return { subject, findings: found }
    }
    const judged = function* (value: JsonObject, operators = setting): Flow<Judged<'onTool'>> {
      if (findings.meter.isTurnSpent) yield* core.yieldToLoop(findings.meter, exchange)
      const isSame =
        sent !== undefined &&
        ['inputSchema', 'outputSchema'].every(key => member(value, key) === member(definitionOf(sent), key))
      return {
        value,
        ...asked(
          value,
          isSame
            ? inspected
            : (yield* checks.check(
              schemasOf({ ...candidate, sent: value, setting: operators }), exchange,
            )).flat(),
        ),
      }
    }
    const ofServer = asked(sent && definitionOf(sent), inspected)
    if (findings.meter.isTurnSpent) yield* core.yieldToLoop(findings.meter, exchange)
    // The client sees the accepted definition, and results are validated by it.
    const shown = drift === 'same' ? sent : (locked ?? sent)
    const whole = shown && definitionOf(shown)
    const before = whole && (shown === sent ? { value: whole, ...ofServer } : yield* judged(whole))
    if (shown !== sent) before?.findings.carry(ofServer.findings, rule => mends.has(rule))
    const last = before && (yield* mended({ mends, power: 'onTool', path }, before, judged))
    found.include(last?.findings ?? ofServer.findings)
    const own = last === undefined ? {} : operatorWords(last.value, setting)
    const told = last && withWords(last.value, setting, findings.meter)
    const isShown = last !== undefined && !isHidden(name) && !isStopped(found)
    const fitted =
      shape !== undefined && isShown
        ? yield* fit(core, shape, path, last, withOwn(told ?? last.value, own, findings.meter), judged, found)
        : undefined
    const named = member(fitted, 'name')
    const shownName = isString(named) && named !== name ? named : undefined
    if (shownName !== undefined && isTaken(shownName)) {
      const message = `its name for the client, ${quote(shownName)}, is that of another tool`
      found.add('tool/duplicate', [{ path, message }])
    }
    findings.include(found)
    const isRemoved = isStopped(found)
    if (isRemoved || isHidden(name)) edits.push({ path: ['result', 'tools', index], remove: true })
    else if (last !== undefined && whole !== undefined) {
      if (shownName !== undefined && name !== undefined) {
        catalog.rename(shownName, name)
        listing.shownNames.add(shownName)
      }
      const changes = (fitted && difference(whole, fitted, findings.meter)) ?? [
        ...(difference(whole, told ?? last.value, findings.meter) ??
          difference(whole, last.value, findings.meter) ?? []),
        ...Object.entries(own).map(([key, value]) => ({ path: [key], replace: JSON.stringify(value) })),
      ]
      const text = shown === sent || name === undefined ? undefined : offer?.textOf('tools', name)
      if (text !== undefined)
        edits.push({ path: ['result', 'tools', index], replace: edit(Buffer.from(text), changes) })
      else for (const one of changes) edits.push({ ...one, path: ['result', 'tools', index, ...one.path] })
    }
    if (name === undefined || sent === undefined || shown === undefined || repeated) return
    listed.set(name, sent)
    if (!isRemoved) passed.set(name, toolOf(name, shown, setting?.outputSchema))
    if (!isRemoved && !isHidden(name)) places.set(name, index)
  }

  const count = lengthOf(tools)
  const room = Math.min(count, options.maxTools - listing.names.size)
  const perTurn = Math.max(1, Math.min(turnTools, Math.floor((count * turnBytes) / frame.bytes.length)))
  for (let from = 0; from < room; from += perTurn) {
    if (from > 0) yield* checks.yieldToLoop(exchange)
    findings.meter.pay(perTurn)
    const candidates = unmetered(tools)
      .slice(from, Math.min(room, from + perTurn))
      .map((tool, index): Candidate => {
        const own = isObject(tool) ? member(tool, 'name') : undefined
        const name = isString(own) ? own : undefined
        const sent = !isObject(tool) ? undefined : name === undefined ? tool : catalog.interned(name, tool)
        const reason = sent && catalog.noRoom(listing, listed, sent)
        return {
          index: from + index, name, sent, setting: name === undefined ? undefined : options.tools.get(name),
          overLimit: reason,
        }
      })
    const subjects = candidates.map(schemasOf)
    const inspected = yield* checks.check(subjects.flat(), exchange)
    let next = 0
    for (const [index, one] of candidates.entries()) {
      const schemas = inspected.slice(next, (next += subjects[index]?.length ?? 0)).flat()
      const reason = one.overLimit ?? (one.sent && catalog.noRoom(listing, listed, one.sent))
      if (reason === undefined) yield* judge(one, schemas)
      else overLimit({ path: ['result', 'tools', one.index], remove: true }, 1, reason)
    }
  }
  if (room < count)
    overLimit(
      { path: ['result', 'tools'], length: room }, count - room, `more than ${options.maxTools} tools`,
    )
  const surplus = shape === undefined ? [] : surplusOf(core, shape, listing, [...places.keys()], findings)
  for (const name of surplus) {
    edits.push({ path: ['result', 'tools', places.get(name) ?? 0], remove: true })
    places.delete(name)
  }
  listing.shown += places.size
  const next = member(result, 'nextCursor')
  const lifetime = member(result, 'ttlMs')
  if (!isString(next) && listing.whole && offer !== undefined) {
    const gone = [...offer.definitions.tools.keys()].filter(
      name => !listing.names.has(name) && !listed.has(name),
    )
    for (const name of gone) judgeDrift(core, offer, 'tools', name, undefined, ['result', 'tools'], findings)
  }
  return {
    edits,
    shown: [...places.keys()],
    page: {
      listed, accepted: passed, next: isString(next) && next !== '' ? next : undefined,
      lifetime: typeof lifetime === 'number' ? lifetime : 0, isPartial,
    },
  }
}

/** Tools that are named in one finding. */
const maxNamed = 20

/** A tool that the operator denies is removed as hidden. */
const isStopped = ({ stopping }: Findings): boolean => stopping.some(rule => rule !== 'call/denied')

/**
 * The definition for the client: as its profiles want it, judged again.
 * @param value with the operator's words
 * @param found takes the findings of the profiles
 */
function* fit(
  core: Core, shape: ClientShape, path: string, last: Judged<'onTool'>, value: JsonObject,
  judged: (value: JsonObject, operators: undefined) => Flow<Judged<'onTool'>>, found: Findings,
): Flow<JsonObject> {
  const { meter } = found
  const ask = (definition: JsonObject): Judged<'onShown'> => {
    const subject = { definition, changes: [], path, shape }
    const findings = core.findings(meter)
    core.ask('onShown', subject, findings, path)
    return { value: definition, subject, findings }
  }
  const first = ask(value)
  if (first.findings.rules.length === 0) return value
  const own = value === last.value ? [] : (yield* judged(value, undefined)).findings.rules
  const known = new Set([...last.findings.rules, ...own])
  const fitted = yield* mended({ mends: core.mends, power: 'onShown', path }, first, function* (next) {
    const { findings } = yield* judged(next, undefined)
    return findings.rules.every(rule => known.has(rule) || rule.startsWith('advice/')) ? ask(next) : undefined
  })
  found.include(fitted.findings)
  return fitted.value
}

/**
 * The tools beyond the number that the client takes: those stay first that the operator names, then those
 * that fit a pattern, in the operator's order; then the server's order counts.
 */
const surplusOf = (
  core: Core, shape: ClientShape, listing: Listing, shown: readonly string[], findings: Findings,
): readonly string[] => {
  const room = Math.max(0, (shape.tools ?? Infinity) - listing.shown)
  if (shown.length <= room) return []
  const { tools, names } = core.options
  const order = [...tools.keys(), ...(names?.allow ?? [])].filter(one => one !== everyTool)
  const rank = (name: string): number => {
    const [exact, fitting] = [order.indexOf(name), order.findIndex(pattern => fits(name, pattern))]
    return exact >= 0 ? exact : order.length + (fitting < 0 ? order.length : fitting)
  }
  const surplus = shown.map(name => ({ name, rank: rank(name) })).sort((a, b) => a.rank - b.rank)
    .slice(room).map(({ name }) => name)
  const told = surplus.slice(0, maxNamed).map(quote).join(', ')
  const message =
    `the client (${shape.name}) takes ${String(shape.tools)} tools, so ${surplus.length} are left out: ${told}` +
    (surplus.length > maxNamed ? ', …' : '')
  const path = '/result/tools'
  return tellChanges(core, shape, path, [{ path, message }], `removed ${surplus.length} tools`, findings)
    ? surplus
    : []
}

/** Asks the rules about a value, and mends it if the policy says so. @returns edits of the frame */
export function* judgeWhole<Asked extends 'onList' | 'onReading'>(
  core: Core, power: Asked, value: JsonObject, at: Path,
  subjectOf: (value: JsonObject) => Flow<Subjects[Asked]>, exchange: Exchange, findings: Findings,
): Flow<readonly Edit[]> {
  const { mends } = core
  const { meter } = findings
  const path = pointer(...at)
  const judge = function* (value: JsonObject): Flow<Judged<Asked>> {
    const subject = yield* subjectOf(value)
    const found = core.findings(meter)
    yield* core.judge(power, subject, found, path, exchange)
    return { value, subject, findings: found }
  }
  const last = yield* mended({ mends, power, path }, yield* judge(value), judge)
  findings.include(last.findings)
  const edits = difference(value, last.value, meter) ?? []
  if (meter.isTurnSpent) yield* core.yieldToLoop(meter, exchange)
  return edits.map(edit => ({ ...edit, path: [...at, ...edit.path] }))
}

/** Asks the rules about a list as a whole. @returns the mends as edits of the frame */
export const judgeList = (
  core: Core, method: string, revision: Revision, result: JsonObject, exchange: Exchange, findings: Findings,
): Flow<readonly Edit[]> =>
  judgeWhole(core, 'onList', result, ['result'], function* (result): Flow<List> {
    return { method, result, revision }
  }, exchange, findings)

/** The schemas of a tool that values will be validated by. */
const schemasOf = ({ index, sent, setting, overLimit }: Candidate): readonly Subject[] =>
  ['inputSchema', 'outputSchema'].flatMap((key): Subject[] => {
    const theirs = key === 'outputSchema' ? setting?.outputSchema : undefined
    const schema = theirs ?? member(sent, key)
    return schema === undefined || overLimit !== undefined
      ? []
      : [{ kind: 'schema', schema, path: pointer('result', 'tools', index, key) }]
  })

/** The tool with the operator's words about the arguments that the server declares. */
const withWords = (tool: JsonObject, setting: ToolSetting | undefined, meter: Meter): JsonObject => {
  const schema = member(tool, 'inputSchema')
  const declared = isObject(schema) ? member(schema, 'properties') : undefined
  if (setting?.inputSchema === undefined || !isObject(schema) || !isObject(declared)) return tool
  const properties = Object.entries(setting.inputSchema.properties).flatMap(([name, words]) => {
    const property = member(declared, name)
    return isObject(property) ? [[name, withMembers(property, words, meter)] as const] : []
  })
  return withMembers(tool, {
    inputSchema: withMembers(schema, {
      properties: withMembers(declared, Object.fromEntries(properties), meter),
    }, meter),
  }, meter)
}

/** The members of a tool in the operator's words. */
const operatorWords = (
  mended: JsonObject, setting: ToolSetting | undefined,
): Readonly<Record<string, Json>> => {
  const { title, description, outputSchema, annotations } = setting ?? {}
  const theirs = member(mended, 'annotations')
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations: { ...(isObject(theirs) && theirs), ...annotations } }),
  }
}

const withOwn = (tool: JsonObject, own: Readonly<Record<string, Json>>, meter: Meter): JsonObject =>
  (Object.keys(own).length === 0 ? tool : withMembers(tool, own, meter))

/** @param operatorSchema replaces the server's output schema */
export const toolOf = (name: string, definition: JsonObject, operatorSchema?: Schema): Tool => {
  const input = member(definition, 'inputSchema')
  const output = operatorSchema ?? member(definition, 'outputSchema')
  return {
    name,
    definition,
    // A tool without a usable schema passes only by policy; then any arguments are valid.
    inputSchemas: [isObject(input) ? input : true],
    outputSchemas: isObject(output) || typeof output === 'boolean' ? [output] : [],
  }
}
