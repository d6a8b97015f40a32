import type { Frame } from '../protocol/frame.js'
import { isObject, member, type JsonObject } from '../protocol/json.js'
import { errorCode, type ErrorResponse, type IdKey, type Request, type Result } from '../protocol/json-rpc.js'
import type { Asked, Context } from './context.js'
import { wholePipe, type Exchange } from './event.js'
import { Exchanges } from './exchanges.js'
import { isStop, type Verdict } from './policy.js'
import { blocked, errorAnswer } from './refusal.js'
import { inItsPlace, type Results } from './results.js'
import type { Finding } from './rule.js'
import type { ToolCalls } from './tool-calls.js'
import type { ToolLists } from './tool-lists.js'

/** Cancelled requests whose late answer is still known as one; more than a client cancels in earnest. */
const mostCancelled = 1000

/** Every request of the client's, from its arrival to its one answer (promise 3). */
export class ClientRequests {
  readonly #context: Context
  readonly #lists: ToolLists
  readonly #calls: ToolCalls
  readonly #results: Results
  readonly #pending: Exchanges<Asked>
  readonly #timers = new Map<string, Asked>()
  readonly #cancelled = new Set<Asked>()
  /** Why the server can answer no more. */
  #gone: string | undefined

  constructor(context: Context, lists: ToolLists, calls: ToolCalls, results: Results) {
    this.#context = context
    this.#lists = lists
    this.#calls = calls
    this.#results = results
    this.#pending = new Exchanges(context.options.stateless)
  }

  get holding(): boolean {
    return this.#pending.all().some(({ state }) => state === 'held')
  }

  received(exchange: Exchange, frame: Frame, message: Request, found: readonly Finding[]): void {
    const { id, key, method, params } = message
    if (method === 'initialize') this.#context.session.offered(params)
    const terms = this.#context.session.termsOf(message, frame.envelope?.headers)
    const asked: Asked = {
      exchange, id, key, message, terms, request: frame, at: this.#context.now, findings: [...found], state: 'held',
    }
    this.#context.start(terms)
    if (this.#gone !== undefined) return this.#answerError(asked, errorCode.gone, this.#gone)
    if (!this.#pending.open(asked)) return this.#repeated(asked)
    switch (method) {
      case 'tools/call':
        return this.#calls.judge(asked, refusal => {
          if (asked.state === 'cancelled') return
          if (refusal === undefined) return this.#forward(asked)
          this.#pending.close(asked)
          const { verdict, findings } = this.#context.judge(asked.findings)
          this.#finish(asked, exchange, verdict, findings, undefined, refusal)
        })
      case 'tasks/result':
      case 'tasks/get':
        asked.call = this.#results.tasks.calledBy(params)
        return this.#forward(asked)
      default:
        return this.#forward(asked)
    }
  }

  /** The server's answer; its exchange is where it arrived, which may be another stream than the one it was asked on. */
  answered(arrived: Exchange, frame: Frame, message: Result | ErrorResponse, found: readonly Finding[]): void {
    if (this.#lists.owns(message.key)) return this.#lists.ownAnswered(frame, found)
    const asked = this.#pending.find(arrived, message.key)
    if (asked === undefined || asked.state === 'held') return this.#unasked(arrived, frame, message.key, found)
    this.#close(asked)
    asked.answeredAt = this.#context.now
    asked.findings.push(...found)
    const exchange = arrived === wholePipe ? asked.exchange : arrived
    if (message.kind === 'error') {
      const { verdict, findings } = this.#context.judge(asked.findings)
      return this.#finish(asked, exchange, verdict, findings, frame, frame)
    }
    this.#results.judge(asked, frame, message.result, ({ verdict, findings, sent }) => {
      this.#finish(asked, exchange, verdict, findings, frame, sent)
    })
  }

  /**
   * A frame of the server's that is blocked as such: whoever waits for it gets an answer of ours.
   * @param keys the ids that could be read from it, likeliest first
   * @param onlyOne true when it is an answer without an id, which can only be that of the one request in flight
   */
  unusable(arrived: Exchange, frame: Frame, keys: readonly IdKey[], onlyOne: boolean, findings: readonly Finding[]): boolean {
    if (keys.some(key => this.#lists.owns(key))) {
      this.#lists.ownAnswered(frame, findings)
      return true
    }
    const meant = keys.map(key => this.#pending.find(arrived, key) ?? this.#pending.findMeant(arrived, key))
    if (meant.length === 0 && onlyOne) meant.push(this.#pending.findOnly(arrived))
    const waiting = [...new Set(meant)].filter(asked => asked !== undefined && asked.state !== 'held')
    for (const asked of waiting) {
      if (asked === undefined) continue
      this.#close(asked)
      const judged = this.#context.judge([...asked.findings, ...findings])
      const refusal = inItsPlace(frame, blocked(asked, findings))
      this.#finish(asked, arrived === wholePipe ? asked.exchange : arrived, judged.verdict, judged.findings, frame, refusal)
    }
    return waiting.length > 0
  }

  /** @returns true when the server must hear of it */
  cancelled(exchange: Exchange, params: JsonObject | undefined): boolean {
    const asked = this.#pending.findMeant(exchange, JSON.stringify(member(params, 'requestId') ?? null))
    if (asked === undefined) return true
    if (asked.state === 'held') {
      this.#drop(asked)
      return false
    }
    asked.state = 'cancelled'
    this.#cancelled.add(asked)
    if (this.#cancelled.size > mostCancelled) this.#forgetCancelled()
    return true
  }

  lost(exchange: Exchange, key: IdKey, reason: string): void {
    if (this.#lists.owns(key)) return this.#lists.ownLost()
    const asked = this.#pending.find(exchange, key)
    if (asked !== undefined) this.#fail(asked, errorCode.gone, reason)
  }

  timerFired(timer: string): void {
    const asked = this.#timers.get(timer)
    if (asked === undefined) return
    const { requestMs } = this.#context.options
    this.#fail(asked, errorCode.late, `the server did not answer within ${requestMs} ms`)
    this.#context.emit({ type: 'abandon', exchange: asked.exchange, key: asked.key })
    this.#context.toServer(asked.exchange, cancellation(asked))
  }

  /** The client went away from this exchange: nobody is left to answer. */
  exchangeEnded(exchange: Exchange): void {
    this.#lists.exchangeEnded(exchange)
    for (const asked of this.#pending.on(exchange)) {
      // In a session the answer may still be fetched by another stream, once the server has the request.
      if (!this.#context.options.stateless && asked.state !== 'held') continue
      const sent = asked.state !== 'held'
      this.#drop(asked)
      if (sent) this.#context.emit({ type: 'abandon', exchange, key: asked.key })
    }
  }

  serverGone(reason: string): void {
    this.#gone = reason
    for (const asked of this.#pending.all()) this.#fail(asked, errorCode.gone, reason)
    this.#lists.ownLost()
  }

  /** The session is over: what was never answered is on record all the same. */
  ended(): void {
    for (const asked of this.#pending.all()) this.#drop(asked)
  }

  #forward(asked: Asked): void {
    asked.state = 'sent'
    asked.sentAt = this.#context.now
    const { requestMs } = this.#context.options
    if (requestMs > 0) {
      const timer = `request ${asked.exchange} ${asked.key}`
      this.#timers.set(timer, asked)
      this.#context.emit({ type: 'start-timer', timer, ms: requestMs })
    }
    this.#context.toServer(asked.exchange, asked.request)
  }

  /** Two requests in flight with one id: the first lives, the second is refused. */
  #repeated(asked: Asked): void {
    const repeated: Finding = { rule: 'wire/id', path: '/id', message: 'a request of this id is in flight' }
    const { verdict, findings } = this.#context.judge([...asked.findings, repeated])
    if (isStop(verdict)) {
      return this.#finish(asked, asked.exchange, verdict, findings, undefined, blocked(asked, findings))
    }
    this.#context.recordAnswer(asked, verdict, findings, undefined)
    this.#context.toServer(asked.exchange, asked.request)
  }

  /** A response to nothing asked, or to something asked by an id that is spelled otherwise. */
  #unasked(arrived: Exchange, frame: Frame, key: IdKey, found: readonly Finding[]): void {
    const message = 'answers no request in flight by its exact id'
    const findings: readonly Finding[] = [...found, { rule: 'wire/id', path: '/id', message }]
    const judged = this.#context.judge(findings)
    // An answer to a list of ours that nobody waits for any more: no policy lets it reach the client.
    if (isStop(judged.verdict) || this.#lists.made(key)) {
      if (this.unusable(arrived, frame, [key], false, findings)) return
      return this.#context.record({ event: 'wire', ...judged, bytes: { response: frame.bytes.length } })
    }
    if (judged.findings.length > 0) this.#context.record({ event: 'wire', ...judged })
    this.#context.toClient(arrived, frame)
  }

  #fail(asked: Asked, code: number, reason: string): void {
    // Who cancelled does not wait: an answer would be one too many.
    if (asked.state === 'cancelled') return this.#drop(asked)
    asked.state = 'cancelled'
    this.#close(asked)
    this.#answerError(asked, code, reason)
  }

  #answerError(asked: Asked, code: number, reason: string): void {
    const { verdict, findings } = this.#context.judge(asked.findings)
    const answer = errorAnswer(asked, code, `mcp-customs: ${reason}`)
    this.#finish(asked, asked.exchange, verdict, findings, undefined, answer)
  }

  #finish(
    asked: Asked,
    exchange: Exchange,
    verdict: Verdict,
    findings: readonly Finding[],
    response: Frame | undefined,
    sent: Frame,
  ): void {
    this.#context.recordAnswer(asked, verdict, findings, response, sent)
    this.#context.toClient(exchange, sent)
  }

  #close(asked: Asked): void {
    this.#pending.close(asked)
    this.#cancelled.delete(asked)
    const timer = `request ${asked.exchange} ${asked.key}`
    if (this.#timers.delete(timer)) this.#context.emit({ type: 'stop-timer', timer })
  }

  #forgetCancelled(): void {
    for (const oldest of this.#cancelled) {
      this.#drop(oldest)
      break
    }
  }

  /** Nobody waits for an answer: it goes on record without one. */
  #drop(asked: Asked): void {
    asked.state = 'cancelled'
    this.#close(asked)
    this.#context.recordAnswer(asked, 'pass', this.#context.judge(asked.findings).findings, undefined)
  }
}

const cancellation = ({ id }: Asked): Frame => {
  const params = { requestId: id, reason: 'timed out' }
  return {
    bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })),
    message: { kind: 'notification', method: 'notifications/cancelled', params },
    faults: [],
  }
}

/** True of a response that JSON-RPC allows where the id could not be read: `id` is null. */
export const isAnonymousAnswer = (frame: Frame): boolean => {
  if (frame.message.kind !== 'unusable' || !frame.faults.every(({ kind }) => kind === 'json-rpc')) return false
  const value: unknown = JSON.parse(frame.bytes.toString())
  return isObject(value) && (member(value, 'id') ?? null) === null && (member(value, 'error') ?? member(value, 'result')) !== undefined
}
