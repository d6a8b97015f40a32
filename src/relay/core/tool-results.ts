import { difference, edited, type Spelling } from '#relay/protocol/edit.js'
import { onOneLine, type Path, slice } from '#relay/protocol/scan.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  isArray, isObject, type JsonObject, member, type Meter, parseJson, pointer, withMembers,
} from '#relay/protocol/json.js'
import { type Collected, Places, textsOf } from '#relay/protocol/places.js'
import { traitsOf } from '#relay/protocol/revisions/index.js'
import type { CallResult, Checked, Exchange, Promotion, Rule, RuleName, Subject, Tool } from './vocabulary.js'
import type { Core } from './core.js'
import { actionOf, type Findings } from './findings.js'
import type { Flow } from './flow.js'
import { toolOf } from './operator-words.js'
import { type Judged, mended } from './mend.js'
import type { Called } from './request.js'
import type { Terms } from './terms.js'
import { settingOf } from './options.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { ToolLists } from './tool-lists.js'

/** A tool result, and its path in the frame. In the state of a task, the path has more than one step. */
export interface ToolResult {
  readonly called: Called | undefined
  readonly at: Path
  /** The result; an empty object if the server sent a value of another type. */
  readonly result: JsonObject
  readonly isObject: boolean
}

export interface JudgedResults {
  /** Changed by mends. */
  readonly frame: Frame
  readonly outcomes: readonly ToolResult[]
}

/** The frame that holds the results, and where it came from. */
interface ResultFrame {
  readonly terms: Terms
  readonly exchange: Exchange
  readonly frame: Frame
  /** Content that was collected already; only for a response with exactly one tool result. */
  readonly found: Collected | undefined
  readonly meter: Meter
}

/** Finds the structured content in the text of a result, once. */
type FindPromotion = () => Promotion | undefined

/** Judges and mends tool results, wherever they are in a frame. */
export class ToolResults {
  readonly #core: Core
  readonly #lists: ToolLists
  /** Rules that need the output to be validated. */
  readonly #checking: readonly Rule[]

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.#lists = lists
    this.#checking = core.judgement.rules.filter(({ needsCheck }) => needsCheck === true)
  }

  /** Judges all results of a frame. Several are not mended, because one may be part of another. */
  *judge(outcomes: readonly ToolResult[], arrived: ResultFrame, findings: Findings): Flow<JudgedResults> {
    const { frame } = arrived
    const [only] = outcomes
    if (only !== undefined && outcomes.length === 1) return yield* this.#judgeOnly(only, arrived, findings)
    for (const outcome of outcomes) {
      const contract = yield* this.#contract(outcome, arrived)
      findings.include(
        (yield* this.#judgeByNewest(outcome, outcome.result, arrived, contract, () => undefined)).findings,
      )
    }
    return { frame, outcomes }
  }

  /** Judges and mends a single result, with structured content from its text if the operator wants that. */
  *#judgeOnly(outcome: ToolResult, arrived: ResultFrame, findings: Findings): Flow<JudgedResults> {
    const { at, called, result: sent } = outcome
    const { mends } = this.#core.mendingOf(called?.name ?? '')
    const promotion = once(() => promotionOf(sent, arrived.meter))
    const contract = yield* this.#contract(outcome, arrived)
    const isFromText = settingOf(this.#core.ruling, called?.name ?? '')?.structured === 'from-text'
    const first = yield* this.#judgeByNewest(
      outcome, isFromText ? promoted(sent, promotion, arrived.meter) : sent, arrived, contract, promotion,
    )
    const isMendable = first.findings.rules.some(rule => mends.has(rule))
    const last = isMendable ? yield* this.#mended(first, outcome, arrived, contract, promotion) : first
    findings.include(last.findings)
    const result = isSendable(last, sent) ? last.value : sent
    if (result === sent) return { frame: arrived.frame, outcomes: [outcome] }
    const edits = difference(sent, result, arrived.meter, spellingOf(promotion)) ?? []
    if (arrived.meter.isTurnSpent) yield* this.#core.yieldToLoop(arrived.meter, arrived.exchange)
    return {
      frame: edited(arrived.frame, edits.map(one => ({ ...one, path: [...at, ...one.path] }))),
      outcomes: [{ ...outcome, result }],
    }
  }

  #mended(
    first: Judged<'onResult'>, outcome: ToolResult, arrived: ResultFrame, contract: Checked | undefined,
    promotion: FindPromotion,
  ): Flow<Judged<'onResult'>> {
    const judge = (result: JsonObject) => this.#judge(outcome, result, arrived, contract, promotion)
    const place = {
      mends: this.#core.mendingOf(outcome.called?.name ?? '').mends, power: 'onResult', path: pointer(...outcome.at),
      spelling: spellingOf(promotion),
    } as const
    return mended(place, first, function* (result): Flow<Judged<'onResult'> | undefined> {
      const next = yield* judge(result)
      return isSendable(next, outcome.result) ? next : undefined
    })
  }

  /** Validates the server's result by the operator's `resultSchema`. */
  *#contract(
    { called, at, result }: ToolResult, { exchange, frame }: ResultFrame,
  ): Flow<Checked | undefined> {
    const { ruling } = this.#core
    const schema = settingOf(ruling, called?.name ?? '')?.resultSchema
    if (schema === undefined || actionOf(ruling.policy, 'result/contract') === 'off') return undefined
    const source = { bytes: frame.bytes, path: at }
    return (yield* this.#core.check(
      [{ kind: 'value', schema, value: result, path: pointer(...at), source }], exchange,
    )).flat()
  }

  #found(result: JsonObject, path: string, { terms, exchange, meter }: ResultFrame): Flow<Collected> {
    return this.#core.found(
      new Places(path, traitsOf(terms.revision).modern, meter).addResult(result), exchange,
    )
  }

  /** Judges a result, and once more by a newer list if the result breaks its tool's declaration. */
  *#judgeByNewest(
    outcome: ToolResult, result: JsonObject, arrived: ResultFrame, contract: Checked | undefined,
    promotion: FindPromotion,
  ): Flow<Judged<'onResult'>> {
    const judged = yield* this.#judge(outcome, result, arrived, contract, promotion)
    const { terms, exchange } = arrived
    const { called } = outcome
    const isOfTool = called?.tool !== undefined && judged.findings.rules.some(rule => ofTool.has(rule))
    // The id 0 makes the relay's own `tools/list` use a number: the request's id is not known here.
    return isOfTool && (yield* this.#lists.renew(called, { exchange, id: 0, terms, request: undefined }))
      ? yield* this.#judge(outcome, result, arrived, contract, promotion)
      : judged
  }

  /** The first schema by which the structured content of a call's result will be checked. */
  outputSchemaFor(called: Called | undefined): JsonObject | boolean | undefined {
    return called !== undefined && this.#isChecking ? this.#toolOf(called)?.outputSchemas[0] : undefined
  }

  get #isChecking(): boolean {
    return this.#checking.some(rule => actionOf(this.#core.ruling.policy, rule.name) !== 'off')
  }

  /** The operator's schema applies even without a list. */
  #toolOf(called: Called | undefined): Tool | undefined {
    const { name = '', tool } = called ?? {}
    const schema = settingOf(this.#core.ruling, name)?.outputSchema
    return schema === undefined ? tool : toolOf(name, tool?.definition ?? {}, schema)
  }

  /** @param result the outcome's result, or its mended form */
  *#judge(
    { called, at, result: sent }: ToolResult,
    result: JsonObject,
    arrived: ResultFrame,
    contract: Checked | undefined,
    promotion: FindPromotion,
  ): Flow<Judged<'onResult'>> {
    const { terms: { revision }, exchange, frame, found, meter } = arrived
    const { name, listed } = called ?? { name: '', listed: false }
    const mending = this.#core.mendingOf(name)
    const declared = this.#toolOf(called)
    const path = pointer(...at)
    const structured = member(result, 'structuredContent')
    const isSent = structured === member(sent, 'structuredContent')
    const inFrame = [...at, 'structuredContent']
    const source = isSent ? { bytes: frame.bytes, path: inFrame } : undefined
    // The client does not know the schema, so that it does not miss what is taken out.
    const isTakenOut = mending.hidesSchema && structured === undefined && !isSent
    const tool = isTakenOut ? declared && { ...declared, outputSchemas: [] } : declared
    let checked: Checked | undefined
    if (tool === undefined && !listed)
      checked = [{ kind: 'unchecked', path, message: 'the definition of its tool could not be read' }]
    else if (tool !== undefined && structured !== undefined && this.#isChecking) {
      const subjects = tool.outputSchemas.map((schema): Subject => ({
        kind: 'value', schema, value: structured, path: `${path}/structuredContent`, source,
      }))
      checked = (yield* this.#core.check(subjects, exchange)).flat()
    }
    const limit = settingOf(this.#core.ruling, name)?.resultBytes
    const structuredText = () => (isSent ? slice(frame, inFrame)?.toString() : promotion()?.text)
    const isAsItCame = result === sent && at.length === 1
    const { parts, links } = (isAsItCame ? found : undefined) ?? (yield* this.#found(result, path, arrived))
    // No spread: V8 gives each object made by one a shape of its own, which makes its readers slow.
    const subject = {
      method: 'tools/call',
      value: result,
      path,
      parts,
      links,
      revision,
      name,
      tool,
      checked,
      contract,
      size: limit === undefined || frame.bytes.length <= limit ? undefined : sizeOver(limit, frame, at),
      structuredText,
      promotion,
      // The facts are about the original bytes, and do not hold for a changed result.
      plain: result === sent && frame.facts?.plain === true,
      repeats: isAsItCame ? (frame.facts?.repeats ?? none) : none,
    }
    const findings = this.#core.findingsOf(mending, meter)
    yield* this.#core.judge('onResult', subject, findings, path, exchange)
    return { value: result, subject, findings }
  }
}

const none: readonly number[] = []

/** The rules that judge by the declaration of the tool. */
const ofTool: ReadonlySet<RuleName> = new Set<RuleName>([
  'result/missing', 'result/schema', 'result/format', 'result/unchecked', 'result/error-structured',
  'result/undeclared',
])

const sizeOver = (limit: number, frame: Frame, at: Path): CallResult['size'] => {
  const bytes = slice(frame, at)?.length ?? 0
  return bytes > limit ? { bytes, limit } : undefined
}

const once = <Value>(make: () => Value): (() => Value) => {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

const spellingOf =
  (promotion: FindPromotion): Spelling =>
    value =>
      value === promotion()?.value ? promotion()?.text : undefined

/**
 * False for structured content that the relay wrote, unless it is known to match the output schema (formats
 * aside): a strict client would refuse the result.
 */
const isSendable = ({ value, subject: { checked } }: Judged<'onResult'>, sent: JsonObject): boolean => {
  const structured = member(value, 'structuredContent')
  return (
    structured === undefined
    || structured === member(sent, 'structuredContent')
    || checked?.every(({ kind }) => kind === 'format') === true
  )
}

/** Adds the structured content that the text holds. The text of an error is not data. */
const promoted = (sent: JsonObject, promotion: FindPromotion, meter: Meter): JsonObject => {
  if (member(sent, 'structuredContent') !== undefined || member(sent, 'isError') === true) return sent
  const value = promotion()?.value
  return isObject(value) ? withMembers(sent, { structuredContent: value }, meter) : sent
}

const before = '{"jsonrpc":"2.0","id":0,"result":{"structuredContent":'
const limits = { messageBytes: Infinity, depth: 128 }

/** Results with more texts that look like JSON are not promoted. */
const maxCandidates = 20

/**
 * The object or array in the text of a result; undefined unless exactly one text block is JSON and all
 * parsers read that block alike.
 */
export const promotionOf = (result: JsonObject, meter: Meter): Promotion | undefined => {
  const candidates = textsOf(result, meter).flatMap(({ json }) => json ?? [])
  if (candidates.length > maxCandidates) return undefined
  // Parsed alone first: inserted into a message, a text could close it and go on.
  const [only, ...others] = candidates.filter(json => parseJson(json) !== undefined)
  if (only === undefined || others.length > 0) return undefined
  const { message, faults } = parseFrame(Buffer.from(`${before}${only}}}`), limits)
  const value =
    message.kind === 'result' && faults.length === 0 ? member(message.result, 'structuredContent') : undefined
  return isObject(value) || isArray(value)
    ? { value, text: onOneLine(Buffer.from(only)).toString() }
    : undefined
}
