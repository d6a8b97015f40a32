import { difference, type Edit } from '#relay/protocol/edit.js'
import {
  isArray, isObject, isString, type Json, type JsonObject, member, omit, pointer,
} from '#relay/protocol/json.js'
import { quote } from '#relay/protocol/quote.js'
import { judgeDrift } from './accepted.js'
import type { Catalog } from './catalog.js'
import type { AcceptedOffer, Checked, ClientShape, Exchange, ListedTool, Subject } from './vocabulary.js'
import type { Core } from './core.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { type Judged, mended, type Mending } from './mend.js'
import { summary } from './refusal.js'
import { operatorWords, withOwn, withWords } from './operator-words.js'
import { grants, isDenied, type ToolSetting, settingOf } from './options.js'
import type { Terms } from './terms.js'

/** One element of `result.tools`. */
export interface Candidate {
  readonly index: number
  readonly name: string | undefined
  /** The server's definition; undefined when it is no object. */
  readonly sent: JsonObject | undefined
  readonly setting: ToolSetting | undefined
  /** The limit that it exceeds, if any. */
  readonly overLimit: string | undefined
}

/** A tool that was judged. */
export interface JudgedTool {
  /** The definition from which the client's is made: the server's, or the accepted one. */
  readonly shown: JsonObject | undefined
  /** The JSON text of the accepted definition; undefined when the server's definition is used. */
  readonly text: string | undefined
  /** Calls and results are checked by its schemas: the shown one, mended where its own are broken. */
  readonly checkedBy: JsonObject | undefined
  /** The edits that turn that definition into the client's; undefined when the tool is not shown. */
  readonly changes: readonly Edit[] | undefined
  /** The name for this client, where it is not the server's. */
  readonly shownName: string | undefined
  readonly isRemoved: boolean
  /** Why it is removed, for the client that calls it all the same; undefined when it is not. */
  readonly withheld: string | undefined
  /** The operator hides the tool, or the client's token lacks a scope. */
  readonly isHidden: boolean
  /** The list already has a tool with this name. */
  readonly isRepeated: boolean
}

/** What judging one tool needs to know of its page. */
export interface ToolPage {
  readonly core: Core
  readonly catalog: Catalog
  readonly terms: Terms
  readonly exchange: Exchange
  readonly findings: Findings
  /** See `judgePage`. */
  readonly scopes: readonly string[] | undefined
  /** The profiles of the client; undefined without any. */
  readonly shape: ClientShape | undefined
  /** The definitions that were accepted for this client. */
  readonly offer: AcceptedOffer | undefined
  /** The page's tools with all digits of their numbers, as digests are made from them. */
  readonly exact: Json | undefined
  /** True for a name of a tool that was listed before. */
  isTaken(name: string): boolean
}

/** Judges one tool of a page. */
export class ToolJudge {
  readonly #page: ToolPage
  readonly #candidate: Candidate
  /** The problems that the schema engine found in the tool's schemas. */
  readonly #inspected: Checked
  readonly #path: string
  readonly #found: Findings
  readonly #mending: Mending
  readonly #drift: ReturnType<typeof judgeDrift>
  readonly #facts: Omit<ListedTool, 'definition' | 'schemas'>

  constructor(page: ToolPage, candidate: Candidate, inspected: Checked) {
    this.#page = page
    this.#candidate = candidate
    this.#inspected = inspected
    const { core, catalog, terms, offer, exact, findings } = page
    const { index, name, sent } = candidate
    const { judgement } = core
    const path = this.#path = pointer('result', 'tools', index)
    this.#mending = core.mendingOf(name ?? '')
    this.#found = core.findingsOf(this.#mending, findings.meter)
    // With a lock, drift is measured from the lock, and not from the first listing.
    const first = offer !== undefined ? sent : name === undefined ? undefined : catalog.firstListed(name)
    const elsewhere = name === undefined || catalog.firstElsewhere === undefined
      ? undefined
      : member(catalog.firstElsewhere, name)
    const isChanged = offer === undefined && sent !== undefined && elsewhere !== undefined
      && elsewhere !== core.shared.digestOf(sent)
    this.#drift = sent === undefined ? 'same' : judgeDrift(
      core, offer, 'tools', name, isArray(exact) ? exact[index] : sent, ['result', 'tools', index],
      this.#found,
    )
    this.#facts = {
      sent, path, revision: terms.revision, first, isChanged, settled: catalog.hasWholeList,
      trusted: judgement.trusted || (judgement.accepted?.isTrusted === true && this.#drift === 'same'),
      repeated: name !== undefined && page.isTaken(name),
      denied: name !== undefined && isDenied(core, name, terms.client),
    }
  }

  *judge(): Flow<JudgedTool> {
    const { core, terms, offer, findings, scopes, shape } = this.#page
    const { mends, hidesSchema } = this.#mending
    const { name, sent, setting } = this.#candidate
    const found = this.#found
    const { meter } = findings
    const ofServer = this.#asked(sent && this.#withoutOperatorSchema(sent), this.#inspected)
    yield* this.#rest()
    // The client sees the accepted definition, and results are validated by it.
    const locked = name === undefined ? undefined : offer?.definitions.tools.get(name)
    const shown = this.#drift === 'same' || !isObject(locked) ? sent : locked
    const whole = shown && this.#withoutOperatorSchema(shown)
    const before = whole && (shown === sent ? { value: whole, ...ofServer } : yield* this.#judged(whole))
    if (shown !== sent) before?.findings.carry(ofServer.findings, rule => mends.has(rule))
    const judged = (value: JsonObject) => this.#judged(value)
    const last = before && (yield* mended({ mends, power: 'onTool', path: this.#path }, before, judged))
    found.include(last?.findings ?? ofServer.findings)
    const isHidden = name !== undefined
      && (isDenied(core, name, terms.client) || !grants(scopes, settingOf(core.ruling, name)?.scopes))
    const seen = last && (hidesSchema ? omit(last.value, 'outputSchema') : last.value)
    const { outputSchema, ...words } = seen === undefined ? {} : operatorWords(seen, setting, meter)
    const own = { ...words, ...(outputSchema !== undefined && !hidesSchema && { outputSchema }) }
    const told = seen && withWords(seen, setting, meter)
    const fitted = shape !== undefined && last !== undefined && !isHidden && !isStopped(found)
      ? yield* this.#fitted(shape, last, withOwn(told ?? last.value, own, meter))
      : undefined
    const named = member(fitted, 'name')
    const shownName = isString(named) && named !== name ? named : undefined
    if (shownName !== undefined && this.#page.isTaken(shownName)) {
      const message = `its name for the client, ${quote(shownName)}, is that of another tool`
      found.add('tool/duplicate', [{ path: this.#path, message }])
    }
    findings.include(found)
    const isRemoved = isStopped(found)
    const changes = isRemoved || isHidden || last === undefined || whole === undefined ? undefined
      : (fitted && difference(whole, fitted, meter)) ?? [
          ...(difference(whole, told ?? last.value, meter) ?? difference(whole, last.value, meter) ?? []),
          ...Object.entries(own).map(([key, value]) => ({ path: [key], replace: JSON.stringify(value) })),
        ]
    return {
      shown, shownName, isHidden, isRemoved, isRepeated: this.#facts.repeated,
      withheld: isRemoved ? summary(found) : undefined,
      // The server's schema, where the operator's replaces it, is no part of `whole`.
      changes: hidesSchema ? changes && [...changes, { path: ['outputSchema'], remove: true }] : changes,
      checkedBy: before?.subject.schemas.some(({ kind }) => kind === 'schema') === true ? last?.value : shown,
      text: shown === sent || name === undefined ? undefined : offer?.textOf('tools', name),
    }
  }

  /** Rules do not judge the output schema of the operator, which is only inspected (`schemasOf`). */
  #withoutOperatorSchema(tool: JsonObject): JsonObject {
    return this.#candidate.setting?.outputSchema === undefined ? tool : omit(tool, 'outputSchema')
  }

  /** Yields to the event loop when the turn's budget is spent. */
  *#rest(): Flow {
    const { core, exchange, findings } = this.#page
    if (findings.meter.isTurnSpent) yield* core.yieldToLoop(findings.meter, exchange)
  }

  #asked(definition: JsonObject | undefined, schemas: Checked): Omit<Judged<'onTool'>, 'value'> {
    const { core } = this.#page
    const subject = { ...this.#facts, definition, schemas }
    const findings = core.findingsOf(this.#mending, this.#found.meter)
    core.ask('onTool', subject, findings, this.#path)
    return { subject, findings }
  }

  *#judged(value: JsonObject): Flow<Judged<'onTool'>> {
    const { core, exchange } = this.#page
    yield* this.#rest()
    const { sent } = this.#candidate
    const isSame = sent !== undefined && ['inputSchema', 'outputSchema'].every(
      key => member(value, key) === member(this.#withoutOperatorSchema(sent), key),
    )
    if (isSame) return { value, ...this.#asked(value, this.#inspected) }
    const subjects = toolSchemas({ ...this.#candidate, sent: value })
    return { value, ...this.#asked(value, (yield* core.check(subjects, exchange)).flat()) }
  }

  /**
   * Adapts the definition to the client's profiles, and judges the result again. Adds the findings of the
   * profiles to `#found`.
   * @param value with the operator's words
   */
  *#fitted(shape: ClientShape, last: Judged<'onTool'>, value: JsonObject): Flow<JsonObject> {
    const { core } = this.#page
    const path = this.#path
    const found = this.#found
    const ask = (definition: JsonObject): Judged<'onShown'> => {
      const subject = { definition, changes: [], path, shape }
      const findings = core.findingsOf(this.#mending, found.meter)
      core.ask('onShown', subject, findings, path)
      return { value: definition, subject, findings }
    }
    const first = ask(value)
    if (first.findings.rules.length === 0) return value
    const own = value === last.value ? [] : (yield* this.#judged(value)).findings.rules
    const known = new Set([...last.findings.rules, ...own])
    const judged = (value: JsonObject) => this.#judged(value)
    const fitted = yield* mended({ mends: this.#mending.mends, power: 'onShown', path }, first, function* (next) {
      const { findings } = yield* judged(next)
      return findings.rules.every(rule => known.has(rule) || rule.startsWith('advice/')) ? ask(next) : undefined
    })
    found.include(fitted.findings)
    return fitted.value
  }
}

/** True when a rule stops the tool. A tool that the operator denies counts as hidden. */
const isStopped = ({ stopping }: Findings): boolean => stopping.some(rule => rule !== 'call/denied')

/** The schemas of a tool by which arguments and results will be validated. */
export const toolSchemas = ({ index, sent, setting, overLimit }: Candidate): readonly Subject[] =>
  ['inputSchema', 'outputSchema'].flatMap((key): Subject[] => {
    const theirs = key === 'outputSchema' ? setting?.outputSchema : undefined
    const schema = theirs ?? member(sent, key)
    return schema === undefined || overLimit !== undefined
      ? []
      : [{ kind: 'schema', schema, path: pointer('result', 'tools', index, key) }]
  })
