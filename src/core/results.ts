import type { Frame } from '../protocol/frame.js'
import { isObject, member, pointer, type Json, type JsonObject } from '../protocol/json.js'
import { partsOf } from '../protocol/mcp.js'
import { isPlain } from '../protocol/plain.js'
import { traitsOf } from '../protocol/revision.js'
import type { Checked } from './check.js'
import type { Asked, Called, Context } from './context.js'
import { toolOf } from './listing.js'
import { actionOf, isStop, type Verdict } from './policy.js'
import { blocked, demoted, refusedResult } from './refusal.js'
import type { Finding } from './rule.js'
import { serverRequestFindings } from './server-requests.js'
import { Tasks } from './tasks.js'
import type { ToolLists } from './tool-lists.js'

/** What became of a result: what the client gets, and why. */
export interface Judged {
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  readonly sent: Frame
}

type Then = (judged: Judged) => void

/** Judges what the server answers, by the method that was asked. */
export class Results {
  readonly #context: Context
  readonly #lists: ToolLists
  readonly tasks = new Tasks()

  constructor(context: Context, lists: ToolLists) {
    this.#context = context
    this.#lists = lists
  }

  judge(asked: Asked, frame: Frame, result: JsonObject, then: Then): void {
    const { method } = asked.message
    // Whatever the result says it is: a client that looks for requests of the server's will find them.
    asked.findings.push(...this.#embeddedRequests(asked, result))
    if (isInterim(asked, result)) return this.#plain(asked, frame, asked.findings, then)
    switch (method) {
      case 'tools/call':
        if (this.tasks.creates(asked, result)) return this.#plain(asked, frame, asked.findings, then)
        return this.#outcome(asked, asked.call, frame, ['result'], result, then)
      case 'tasks/result':
        return this.#outcome(asked, this.tasks.calledBy(asked.message.params), frame, ['result'], result, then)
      case 'tasks/get': {
        const inner = member(result, 'result')
        if (!isObject(inner) && !isFinal(result)) return this.#plain(asked, frame, asked.findings, then)
        const [at, final] = isObject(inner) ? [['result', 'result'], inner] : [['result'], result]
        return this.#outcome(asked, this.tasks.calledBy(asked.message.params), frame, at, final, then)
      }
      case 'tools/list':
        return this.#lists.judge(asked, frame, result, (page, findings) => {
          this.#listed(asked, frame, page, [...asked.findings, ...findings], then)
        })
      case 'initialize':
        this.#context.session.agreed(result)
        return this.#reading(asked, frame, result, then)
      default:
        return this.#reading(asked, frame, result, then)
    }
  }

  /** The final result of a task that a notification brings (`io.modelcontextprotocol/tasks`). */
  judgePushed(frame: Frame, params: JsonObject, result: JsonObject, then: (verdict: Verdict, findings: readonly Finding[]) => void): void {
    const terms = this.#context.session.terms
    this.#find(this.tasks.calledBy(params), terms.revision, ['params', 'result'], result, frame, findings => {
      const judged = this.#context.judge(findings)
      then(judged.verdict, judged.findings)
    })
  }

  #outcome(asked: Asked, called: Called | undefined, frame: Frame, at: readonly string[], result: JsonObject, then: Then): void {
    const { revision } = asked.terms
    this.#find(called, revision, at, result, frame, found => {
      const { verdict, findings } = this.#context.judge([...asked.findings, ...found])
      const told = isStop(verdict) ? this.#told(findings, verdict) : []
      then({ verdict, findings, sent: this.#instead(asked, frame, at, result, called?.name ?? '', verdict, told) })
    })
  }

  #instead(
    asked: Asked,
    frame: Frame,
    at: readonly string[],
    result: JsonObject,
    name: string,
    verdict: Verdict,
    told: readonly Finding[],
  ): Frame {
    if (verdict === 'demote') return demoted(frame, at, result, name, told)
    if (verdict !== 'block') return frame
    const refusal =
      at.length === 1 ? refusedResult(asked, name, told, traitsOf(asked.terms.revision).modern) : blocked(asked, told)
    return inItsPlace(frame, refusal)
  }

  /** Every finding about one tool result. */
  #find(
    called: Called | undefined,
    revision: Asked['terms']['revision'],
    at: readonly string[],
    result: JsonObject,
    { bytes }: Frame,
    then: (findings: readonly Finding[]) => void,
  ): void {
    const { options } = this.#context
    const { name, listed } = called ?? { name: '', listed: false }
    const declared = options.tools.get(name)?.outputSchema ?? called?.tool?.outputSchema
    // The operator's schema stands, whether or not a list could be had.
    const tool = called?.tool ?? (declared === undefined ? undefined : toolOf(name, { outputSchema: declared }))
    const go = (checked: Checked | undefined) => {
      const method = 'tools/call'
      const parts = partsOf(method, result)
      const answer = { method, name, tool, result, parts, revision, checked, plain: isPlain(bytes) }
      const findings = this.#context.ask('onResult', answer, '/result')
      then(findings.map(finding => under(pointer(...at), finding)))
    }
    const structured = member(result, 'structuredContent')
    if (declared === undefined && !listed) {
      return go([{ kind: 'unchecked', path: '/result', message: 'the declaration of its tool could not be had' }])
    }
    if (declared === undefined || structured === undefined) return go(undefined)
    if (schemaRules.every(rule => actionOf(options.policy, rule) === 'off')) return go(undefined)
    const subject = { kind: 'value', schema: declared, value: structured, path: '/result/structuredContent' } as const
    this.#context.check([subject], ([checked]) => go(checked))
  }

  /** The requests in an `input_required` result, or in the state of a task that waits for input. */
  #embeddedRequests(asked: Asked, result: JsonObject): readonly Finding[] {
    const requests = traitsOf(asked.terms.revision).modern ? member(result, 'inputRequests') : undefined
    if (typeof requests !== 'object' || requests === null) return []
    // An array is none that the revision knows, but a client that walks it finds requests all the same.
    return Object.entries<Json | undefined>(requests).flatMap(([key, request]) =>
      serverRequestFindings(this.#context, isObject(request) ? request : {}, asked.terms, ['result', 'inputRequests', key]),
    )
  }

  #reading(asked: Asked, frame: Frame, result: JsonObject, then: Then): void {
    const { method } = asked.message
    const { revision } = asked.terms
    const reading = { method, result, parts: partsOf(method, result), revision, plain: isPlain(frame.bytes) }
    const found = this.#context.ask('onReading', reading, '/result')
    this.#plain(asked, frame, [...asked.findings, ...found], then)
  }

  /** A result that passes as it came, or is answered by an error. */
  #plain(asked: Asked, frame: Frame, found: readonly Finding[], then: Then): void {
    const { verdict, findings } = this.#context.judge(found)
    then({ verdict, findings, sent: isStop(verdict) ? inItsPlace(frame, blocked(asked, this.#told(findings, verdict))) : frame })
  }

  /** A list's findings concern its tools, and are mended in the page; only a page that is none is answered by an error. */
  #listed(asked: Asked, frame: Frame, page: Frame | undefined, found: readonly Finding[], then: Then): void {
    const { policy } = this.#context.options
    const notMended = found.some(({ rule }) => !rule.startsWith('tool/') && isStop(actionOf(policy, rule)))
    if (page === undefined || notMended) return this.#plain(asked, frame, found, then)
    const { verdict, findings } = this.#context.judge(found)
    then({ verdict, findings, sent: page })
  }

  #told(findings: readonly Finding[], verdict: Verdict): readonly Finding[] {
    return findings.filter(({ rule }) => actionOf(this.#context.options.policy, rule) === verdict)
  }
}

const schemaRules = ['result/schema', 'result/format', 'result/unchecked', 'result/error-structured'] as const

/** What only a final result has: one that has any of it is judged as one, for a lenient client would read it as one. */
const finalMembers = ['content', 'structuredContent', 'toolResult', 'tools', 'messages', 'contents'] as const

// A legacy client reads any result as the final one, whatever it says of itself.
const isInterim = ({ terms }: Asked, result: JsonObject): boolean =>
  traitsOf(terms.revision).modern &&
  member(result, 'resultType') === 'input_required' &&
  !isFinal(result)

const isFinal = (result: JsonObject): boolean => finalMembers.some(key => member(result, key) !== undefined)

/** Rules speak of `/result`; the result of a task stands deeper in its frame. */
const under = (path: string, finding: Finding): Finding =>
  path === '/result' ? finding : { ...finding, path: finding.path.replace(/^\/result/, path) }

/** An answer of ours travels in the wrapping of the one that it replaces: the SSE id that lets a stream be resumed. */
export const inItsPlace = ({ envelope }: Frame, refusal: Frame): Frame => (envelope ? { ...refusal, envelope } : refusal)
