import { compareHeaders } from '#relay/protocol/headers.js'
import type { Frame } from '#relay/protocol/frame.js'
import { difference, edited } from '#relay/protocol/edit.js'
import { isObject, isString, type JsonObject, member, withMembers } from '#relay/protocol/json.js'
import { quote, wirePath } from '#relay/protocol/quote.js'
import { slice } from '#relay/protocol/scan.js'
import { traitsOf } from '#relay/protocol/revisions/index.js'
import { acceptedFor } from './accepted.js'
import type { Lookup } from './catalog.js'
import type { Call, ClientShape, Problem, Rule, SchemaProblem, Subject, Tool } from './vocabulary.js'
import type { Core } from './core.js'
import { CallRates } from './call-rates.js'
import type { Flow } from './flow.js'
import { grants, isDenied, settingOf } from './options.js'
import { toolOf } from './operator-words.js'
import { actionOf, isStop } from './findings.js'
import type { Called, PendingRequest } from './request.js'
import type { Terms } from './terms.js'
import { headerMismatch, isMismatch, lacksScope, refusedCall, unknownTool } from './refusal.js'
import { tellChanges } from './shape.js'
import type { ToolLists } from './tool-lists.js'

/** `tools/call`, from its arrival until it is sent. */
export class ToolCalls {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #argumentRules: readonly Rule[]
  readonly #rates: CallRates

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.#lists = lists
    this.#rates = core.judgement.rates ?? new CallRates()
    this.#argumentRules = core.judgement.rules.filter(({ onArguments }) => onArguments !== undefined)
  }

  /** @returns the refusal of the call; undefined when it may be sent */
  *judge(request: PendingRequest): Flow<Frame | undefined> {
    const params = request.request?.message.params
    const named = member(params, 'name')
    const shown = isString(named) ? named : ''
    const shape = this.#core.ruling.shapes?.of(request.terms.client)
    const name = shape === undefined ? shown : yield* this.#originalOf(shown, request)
    const called: Called = { name, shown, tool: undefined, listed: true }
    request.called = called
    const { revision, client } = request.terms
    const denied = isDenied(this.#core, called.name, client)
    if (!denied || !isStop(actionOf(this.#core.ruling.policy, 'call/denied'))) {
      const found = yield* this.declared(request, called.name)
      called.tool = found === 'absent' ? undefined : found
      called.listed = found !== undefined
      called.generation = this.#lists.catalog.listedAt(this.#core.output.now)
      if (headerMismatchOf(request) !== undefined) yield* this.#lists.renew(called, request)
    }
    // The front checked the scopes of the name that the client sent.
    const lacking = this.#lackedScope(request, name)
    if (lacking !== undefined) return lacking
    const given = member(params, 'arguments')
    const rate = denied || (called.tool === undefined && called.listed)
      ? undefined
      : yield* this.#rate(request, called)
    const call = {
      name: called.name,
      arguments: isObject(given) ? given : undefined,
      tool: called.tool,
      // The settings may have changed while the list or the count was awaited.
      denied: isDenied(this.#core, called.name, client),
      listed: called.listed,
      revision,
      mismatch: headerMismatchOf(request),
      rate,
    }
    this.#core.ask('onCall', call, request.findings, '/params')
    const sent = shape && (yield* this.#reshaped(request, shape))
    if (this.checks(request) === 'before') yield* this.check(request, sent ?? params, params)
    // The settings may have changed during the check.
    if (!call.denied && isDenied(this.#core, called.name, client))
      this.#core.ask('onCall', deniedLater(call), request.findings, '/params')
    return this.#lackedScope(request, name)
      ?? (request.findings.isStop ? this.#refusal(request, called) : undefined)
  }

  /** Counts the call. All unlisted names that the configuration does not mention share one count. */
  *#rate({ client, exchange }: PendingRequest, { name, tool }: Called): Flow<Call['rate']> {
    const { output, ruling, shared } = this.#core
    const perMinute = settingOf(ruling, name)?.callsPerMinute
    const action = actionOf(ruling.policy, 'call/rate')
    if (perMinute === undefined || action === 'off') return undefined
    const counted = tool === undefined && !ruling.tools.has(name) ? '' : name
    const isHeld = isStop(action)
    const everywhere = yield* shared.count({ name: counted, client, perMinute, isHeld }, exchange)
    // Counted here too, for the time when replicas cannot count together.
    const isMade = !isHeld || everywhere === undefined || everywhere === 0
    const here = isMade ? this.#rates.count(client, counted, perMinute, output.now, isHeld) : 0
    const waitMs = everywhere ?? here
    return waitMs === 0 ? undefined : { perMinute, waitMs }
  }

  /** Finds the tool in the frozen lock, the known list, or a list that the relay requests. */
  *declared(request: PendingRequest, name: string): Flow<Lookup> {
    return this.#inFrozenLock(name, request.terms) ?? (yield* this.#lists.find(name, request))
  }

  /**
   * When arguments are validated: before the call is sent, if a finding can stop the call or the client has a
   * profile; after that; or never.
   */
  checks({ terms }: PendingRequest): 'before' | 'after' | 'never' {
    const { policy, shapes } = this.#core.ruling
    const whenLogged = shapes?.of(terms.client) === undefined ? 'after' : 'before'
    let found: 'before' | 'after' | 'never' = 'never'
    for (const { name } of this.#argumentRules) {
      const action = actionOf(policy, name)
      if (isStop(action)) return 'before'
      if (action !== 'off') found = whenLogged
    }
    return found
  }

  /** @param clientParams the params as the client sent them, if the relay has changed them */
  *check(request: PendingRequest, params: JsonObject | undefined, clientParams = params): Flow {
    const { called } = request
    const value = member(params, 'arguments') ?? {}
    const { bytes } = request.request?.frame ?? {}
    const source = bytes && { bytes, path: ['params', 'arguments'] }
    const checkedBy = (schemas: Tool['inputSchemas']) => this.#core.check(
      schemas.map((schema): Subject => ({ kind: 'value', schema, value, path: '/params/arguments', source })),
      request.exchange,
    )
    let tool = called?.tool
    if (called === undefined || tool === undefined) return
    let checked = yield* checkedBy(tool.inputSchemas)
    if (checked.flat().some(isSchemaMismatch) && (yield* this.#lists.renew(called, request))) {
      if (!called.listed) return
      // If the new list lacks the tool, the call stays refused.
      if (called.tool !== undefined) checked = yield* checkedBy((tool = called.tool).inputSchemas)
    }
    const isMisled =
      checked.flat().some(isSchemaMismatch) && (yield* this.#isMisled(request, tool, clientParams))
    const findings =
      isMisled ? this.#core.findings(request.findings.meter, 'call/arguments') : request.findings
    this.#core.ask('onArguments', { checked: checked.flat() }, findings, '/params/arguments')
    if (isMisled) request.findings.include(findings)
  }

  /**
   * True when arguments break the server's schema, but match the schema that the client was shown. The model
   * saw only that schema, so the call is refused with an error, even if the policy only logs.
   */
  *#isMisled(request: PendingRequest, tool: Tool, params: JsonObject | undefined): Flow<boolean> {
    const { policy, shapes } = this.#core.ruling
    const shape = shapes?.of(request.terms.client)
    if (shape === undefined || !this.#isShaping || actionOf(policy, 'call/arguments') !== 'log')
      return false
    const schema = member(shape.adapted(tool.definition, request.findings.meter), 'inputSchema')
    if (!isObject(schema) || schema === member(tool.definition, 'inputSchema')) return false
    const value = member(params, 'arguments') ?? {}
    return isObject(value) && (yield* this.#mismatches(value, schema, request)).size === 0
  }

  /** The policy wants definitions that fit the client. */
  get #isShaping(): boolean {
    return [...this.#core.mends.values()].some(({ onShown }) => onShown !== undefined)
  }

  /** The server's name of a tool, found by the name that the client was shown. */
  *#originalOf(shown: string, request: PendingRequest): Flow<string> {
    const { catalog } = this.#lists
    const isKnown =
      isDenied(this.#core, shown, request.terms.client)
      || isObject(this.#inFrozenLock(shown, request.terms))
      || catalog.originalOf(shown) !== shown
    if (!isKnown) yield* this.#lists.find(shown, request)
    return catalog.originalOf(shown)
  }

  /**
   * Writes the server's name of the tool into a call, and removes each null that stands for an argument that
   * is left out.
   * @returns the params as they are sent; undefined when they are the client's
   */
  *#reshaped(request: PendingRequest, shape: ClientShape): Flow<JsonObject | undefined> {
    const { called, request: asked, findings } = request
    const params = asked?.message.params
    if (called === undefined || asked === undefined || params === undefined) return undefined
    const { meter } = findings
    const given = member(params, 'arguments')
    const [schema] = called.tool?.inputSchemas ?? []
    const isChecked = isObject(given) && isObject(schema) && this.#isShaping
    const kept = isChecked ? yield* this.#withoutLeftOut(given, schema, shape, request) : given
    const changes = {
      ...(called.name !== called.shown && { name: called.name }),
      ...(kept !== given && kept !== undefined && { arguments: kept }),
    }
    const made = withMembers(params, changes, meter)
    const edits = difference(params, made, meter) ?? []
    if (edits.length === 0) return undefined
    const problems = edits.map(({ path }): Problem => ({
      path: `/params${wirePath(...path)}`,
      message: path[0] === 'name'
        ? `the client knows the tool as ${quote(called.shown)}`
        : 'null stands for an argument that is left out',
    }))
    const told = edits.map(edit => ('remove' in edit ? 'removed' : 'written'))
    tellChanges(this.#core, shape, '/params', problems, [...new Set(told)].join(' and '), findings)
    const message = { ...asked.message, params: made }
    const inFrame = edits.map(edit => ({ ...edit, path: ['params', ...edit.path] }))
    const frame = { ...edited(asked.frame, inFrame), message }
    request.request = { frame, message }
    request.arguments = slice(frame, ['params', 'arguments'])
    return made
  }

  /** Of the arguments as given, and without nulls, the first that the server's schema accepts. */
  *#withoutLeftOut(
    given: JsonObject, schema: JsonObject, { withoutNulls }: ClientShape, request: PendingRequest,
  ): Flow<JsonObject> {
    const { meter } = request.findings
    if (withoutNulls === undefined || withoutNulls(given, schema, new Set(), meter).length === 0) return given
    const refused = yield* this.#mismatches(given, schema, request)
    if (refused.size === 0) return given
    for (const value of withoutNulls(given, schema, refused, meter))
      if ((yield* this.#mismatches(value, schema, request)).size === 0) return value
    return given
  }

  /** The paths at which arguments break a schema. */
  *#mismatches(
    value: JsonObject, schema: JsonObject, { exchange }: PendingRequest,
  ): Flow<ReadonlySet<string>> {
    const [checked = []] = yield* this.#core.check(
      [{ kind: 'value', schema, value, path: '/params/arguments' }], exchange,
    )
    return new Set(checked.filter(isSchemaMismatch).map(({ path }) => path))
  }

  /** Looks the tool up in the frozen lock; undefined when no lock is frozen. */
  #inFrozenLock(name: string, terms: Terms): Lookup {
    const { judgement } = this.#core
    if (judgement.accepted?.isFrozen !== true) return undefined
    const definition = acceptedFor(this.#core, terms)?.definitions.tools.get(name)
    return !isObject(definition) ? 'absent' : toolOf(name, definition, settingOf(judgement.ruling, name)?.outputSchema)
  }

  /** The settings may have changed since the front looked. @returns the refusal of a call that lacks some */
  #lackedScope(request: PendingRequest, name: string): Frame | undefined {
    const needed = settingOf(this.#core.ruling, name)?.scopes ?? []
    if (grants(request.scopes, needed)) return undefined
    request.findings.block()
    request.failure = 'the client lacks a scope that the tool needs'
    return lacksScope(request, needed)
  }

  #refusal(request: PendingRequest, { name, shown }: Called): Frame {
    const { findings, terms } = request
    if (isMismatch(findings)) return headerMismatch(request, findings)
    const { server } = this.#core.judgement
    if (findings.stopping.includes('call/unlisted')) {
      const meant = nearest(name, this.#lists.catalog.names())
      return unknownTool(request, shown, server, this.#whyUnlisted(name, terms), meant)
    }
    return refusedCall(request, shown, findings, traitsOf(terms.revision).modern, server)
  }

  /** Why a tool that could be called before, or that the server lists, is not in the client's list. */
  #whyUnlisted(name: string, terms: Terms): string | undefined {
    const { catalog } = this.#lists
    const { accepted } = this.#core.judgement
    const wasAccepted = acceptedFor(this.#core, terms)?.definitions.tools.has(name) === true
    if (accepted?.isFrozen === true && !wasAccepted) return 'the lock is frozen, and has no such tool'
    const withheld = catalog.whyWithheld(name)
    if (withheld !== undefined) {
      const drifted = wasAccepted ? 'it is not what was accepted any more, and ' : ''
      return `${drifted}mcp-customs withholds it: ${withheld}`
    }
    if (wasAccepted) return 'it was accepted, but the server does not list it any more'
    return catalog.wasListed(name) ? 'the server does not list it any more' : undefined
  }
}

/** The call as only its denial concerns the rules: they were asked about the rest. */
const deniedLater = (call: Call): Call =>
  ({ ...call, arguments: undefined, tool: undefined, mismatch: undefined, rate: undefined, denied: true })

const isSchemaMismatch = ({ kind }: SchemaProblem): boolean => kind === 'mismatch'

/** Compares `Mcp-Param-*` headers, which repeat arguments that the input schema names, with the call. */
const headerMismatchOf = ({ called, request, terms }: PendingRequest): string | undefined => {
  const { headers, translatedFrom, modernHeaders } = request?.frame.envelope ?? {}
  const schema = called?.tool?.inputSchemas[0]
  // The headers of a call that is translated to 2026-07-28 are made from its body later.
  const isModern = translatedFrom === undefined && traitsOf(terms.revision).modern
  const given = modernHeaders ?? (isModern ? headers : undefined)
  if (request === undefined || given === undefined || schema === undefined) return undefined
  return compareHeaders(given, request.message, schema)
}

/** Names that are compared with an unknown one. */
const maxCompared = 500

/** A listed name that differs only in case and punctuation. */
const nearest = (name: string, names: Iterable<string>): string | undefined => {
  const wanted = lettersOf(name)
  if (wanted === '') return undefined
  let left = maxCompared
  for (const listed of names) {
    if (lettersOf(listed) === wanted) return listed
    if (--left <= 0) return undefined
  }
  return undefined
}

const lettersOf = (name: string): string => name.slice(0, 128).toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
