import type { Exchange } from './vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import { idOf, isBadRequest, isCancellation, keyIn, idKeysOf, membersOf } from '#relay/protocol/message.js'
import { errorCode, type HttpPage, type Notification } from '#relay/protocol/json-rpc.js'
import type { Core } from './core.js'
import { noise, stdioExchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import type { ProgressTokens } from './progress-tokens.js'
import { eventOf } from './records.js'
import { errorFrame } from './refusal.js'
import type { Arrived } from './request.js'
import type { ResponseMatching } from './response-matching.js'
import type { ServerRequests } from './server-requests.js'
import type { ServerResponses } from './server-responses.js'
import type { ToolLists } from './tool-lists.js'

/** Passes each frame of the server to the part of the core that judges it. */
export class ServerFrames {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #responses: ServerResponses
  readonly #matching: ResponseMatching
  readonly #serverRequests: ServerRequests
  readonly #tokens: ProgressTokens

  constructor(
    core: Core, lists: ToolLists, responses: ServerResponses, matching: ResponseMatching,
    serverRequests: ServerRequests, tokens: ProgressTokens,
  ) {
    this.#core = core
    this.#lists = lists
    this.#responses = responses
    this.#matching = matching
    this.#serverRequests = serverRequests
    this.#tokens = tokens
  }

  /** @param findings about the frame as a whole */
  received(exchange: Exchange, frame: Frame, findings: Findings): void {
    const { message } = frame
    if (findings.isStop) return this.block(exchange, frame, findings)
    switch (message.kind) {
      case 'result':
      case 'error':
        return this.#matching.answered({ exchange, frame, message }, findings)
      case 'request':
        return this.#core.driver.run(
          this.#serverRequests.received(exchange, frame, message, findings),
          cause => {
            this.#serverRequests.failed(exchange, frame, message, this.#core.reportException(cause))
          },
        )
      case 'notification':
        return this.#core.driver.run(this.#notified(exchange, frame, message, findings), cause => {
          this.#core.records.write({
            event: 'wire', from: 'server', verdict: 'block', reason: this.#core.reportException(cause),
            bytes: { request: frame.bytes.length },
          })
          this.#core.output.withheld(exchange, frame)
        })
      case 'page':
        return this.#httpPage({ exchange, frame, message }, findings)
      case 'batch':
      case 'unusable':
        if (this.#matching.unusable({ exchange, frame }, findings)) return
        this.#core.records.note('wire', 'server', findings)
        this.#core.output.toClient(exchange, frame)
    }
  }

  #httpPage(arrived: Arrived & { readonly message: HttpPage }, findings: Findings): void {
    if (this.#matching.answeredByHttpPage(arrived, findings)) return
    const { output, records } = this.#core
    this.#responses.judgeHttpText(arrived.frame, arrived.message.text, findings)
    records.note('wire', 'server', findings)
    if (!findings.isStop) output.toClient(arrived.exchange, arrived.frame)
  }

  /** A notification of the server, from its arrival to the client. */
  *#notified(exchange: Exchange, frame: Frame, notification: Notification, findings: Findings): Flow {
    const { output, records } = this.#core
    const { method, params } = notification
    const isListChange = method === 'notifications/tools/list_changed'
    // At once: a list that was asked for before counts as out of date from now on.
    if (isListChange) this.#lists.catalog.changed()
    // Progress and cancellation of relay-made requests do not concern the client.
    const key = keyIn(frame, isCancellation(notification) ? 'requestId' : 'progressToken')
    const isOfRelay = key !== undefined && this.#lists.requests.ids.isRelayMade(key)
    const event = findings.kept.length > 0 ? 'wire' : eventOf(method, 'server')
    if (!isOfRelay && method === 'notifications/progress' && this.#tokens.isForeign(exchange, params))
      this.#core.ask('onId', { use: 'progress', from: 'server' }, findings, '/params/progressToken')
    const sent = yield* this.#responses.judgeUnsolicited(method, exchange, frame, params, findings)
    records.note(event, 'server', findings)
    if (isOfRelay) return
    if (key !== undefined && isCancellation(notification)) this.#serverRequests.cancelled(exchange, key)
    if (isListChange) yield* this.#lists.changed(exchange)
    if (findings.isStop) output.withheld(exchange, frame)
    else output.toClient(exchange, sent)
  }

  /**
   * Blocks a server frame. The client gets an error for each request that the frame answers. The server gets
   * an error for each request in the frame.
   */
  block(exchange: Exchange, frame: Frame, findings: Findings): void {
    const { kind } = frame.message
    const mayAnswer = kind !== 'request' && kind !== 'notification'
    if (mayAnswer && this.#matching.unusable({ exchange, frame }, findings)) return
    const reason = isNoise(exchange, frame) ? noise : undefined
    this.#core.records.write(
      { event: 'wire', from: 'server', bytes: { request: frame.bytes.length }, reason }, findings,
    )
    this.#matching.withheld(exchange, frame)
    for (const one of membersOf(frame)) {
      const { message } = one
      const key = message.kind === 'request' ? message.key : isBadRequest(one) ? idKeysOf(one)[0] : undefined
      if (key === undefined) continue
      const code = message.kind === 'request' ? errorCode.methodNotFound : errorCode.invalidRequest
      this.#core.output.toServer(
        exchange, errorFrame({ id: idOf(key), key }, code, 'Blocked by mcp-customs'), 'server',
      )
    }
  }
}

/** Over HTTP, a body that is no JSON is a response, and an event that is none was meant as one. */
const isNoise = (exchange: Exchange, { message, faults }: Frame): boolean =>
  exchange === stdioExchange && message.kind === 'unusable' && faults.some(({ kind }) => kind === 'json')
