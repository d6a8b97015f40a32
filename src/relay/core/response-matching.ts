import type { Exchange } from './vocabulary.js'
import {
  answeredKeys, idKeysOf, idOf, isBadRequest, isResponseShaped, lenientResponse, meaningOf, membersOf,
  namesMethod,
} from '#relay/protocol/message.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  errorCode, type ErrorResponse, type HttpPage, type IdKey, type Result,
} from '#relay/protocol/json-rpc.js'
import type { ClientRequests } from './client-requests.js'
import type { Core } from './core.js'
import { stdioExchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import type { PageRequests } from './page-requests.js'
import type { PendingRequests } from './pending.js'
import { errorFrame, type RequestId } from './refusal.js'
import type { Arrived, PendingRequest } from './request.js'
import { notShared } from './shared.js'

/** Finds the request that a frame of the server responds to. */
export class ResponseMatching {
  readonly #core: Core
  readonly #listed: PageRequests
  readonly #requests: ClientRequests
  readonly #pending: PendingRequests<PendingRequest>

  constructor(core: Core, listed: PageRequests, requests: ClientRequests) {
    this.#core = core
    this.#listed = listed
    this.#requests = requests
    this.#pending = requests.pending
  }

  answered(arrived: Arrived & { readonly message: Result | ErrorResponse }, findings: Findings): void {
    const { exchange, frame, message } = arrived
    if (this.#listed.awaits(exchange, message.key))
      return this.#listed.answered(message.key, { exchange, frame, message, findings })
    const request = this.#pending.find(exchange, message.key) ?? this.#replayed(exchange, message)
    if (request?.stage === 'answered' && exchange.resumed === true)
      return this.#afterJudgement(request, arrived, findings)
    if (request?.isAtServer === true) this.#requests.arrived(request, arrived, findings)
    else if (request === undefined && exchange.resumed === true && this.#core.shared.isOn) {
      this.#core.driver.run(this.#fromOtherReplica(arrived, message.key, findings), cause => {
        this.#lostOn(exchange, message, this.#core.reportException(cause), findings)
      })
    } else this.#unsolicited(arrived, message.key, findings)
  }

  /**
   * The server sends a response again that is being judged: its client has lost the stream on which it came
   * first. It waits for the judgement, and is then a replay like any other.
   */
  #afterJudgement(
    request: PendingRequest, arrived: Arrived & { readonly message: Result | ErrorResponse },
    findings: Findings,
  ): void {
    const { order } = this.#core
    const { ended } = request
    order.hold(arrived.exchange)
    request.ended = () => {
      ended?.()
      this.answered(arrived, findings)
      order.release(arrived.exchange)
    }
  }

  /** An HTTP error body instead of a response. @returns false when the body has no key of a request */
  answeredByHttpPage(arrived: Arrived & { readonly message: HttpPage }, findings: Findings): boolean {
    const { exchange, frame, message } = arrived
    if (message.key === undefined) return false
    const request = this.#pending.find(exchange, message.key)
    if (this.#listed.awaits(exchange, message.key))
      this.#listed.answered(message.key, { exchange, frame, message: undefined, findings })
    else if (request?.isAtServer === true) this.#requests.arrived(request, arrived, findings)
    return true
  }

  /**
   * Handles a server frame that cannot be used as a message, or that is blocked. If it is blocked, each
   * request that it answers for certain gets our error; any other is only suspected to be answered by it. If
   * the policy lets it pass, it answers the first request that a lenient reader finds.
   * @returns false when the frame answers no request
   */
  unusable(arrived: Omit<Arrived, 'message'>, findings: Findings): boolean {
    const { exchange, frame } = arrived
    const keys = findings.isStop ? answeredKeys(frame) : lenientKeys(frame)
    const ofRelay = keys.find(key => this.#listed.awaits(exchange, key))
    if (ofRelay !== undefined) {
      this.#listed.answered(ofRelay, { exchange, frame, message: undefined, findings })
      return true
    }
    const found = keys.map(key =>
      this.#pending.find(exchange, key) ?? (findings.isStop ? undefined : this.#meant(exchange, key)))
    const requests = [...new Set(found)].filter(one => one !== undefined).filter(one => one.isAtServer)
    const [first] = requests
    if (!findings.isStop && first !== undefined && !keys.includes(first.key))
      this.#core.ask('onId', { use: 'unasked', from: 'server' }, findings, '/id')
    if (!findings.isStop) {
      if (first !== undefined)
        this.#requests.arrived(first, { ...arrived, message: lenientResponse(frame) }, findings)
      return first !== undefined
    }
    const answered = requests.filter(({ key }) => keys.includes(key))
    if (answered.length === 0) this.#suspect(exchange, frame, findings)
    for (const request of answered)
      this.#requests.arrived(request, { ...arrived, message: undefined }, findings)
    return answered.length > 0
  }

  /**
   * A blocked frame without a request of its own may be the response to the one that it names, or else to the
   * only one in flight. Over HTTP it concerns only the requests of the exchange on which it came.
   */
  #suspect(exchange: Exchange, frame: Frame, findings: Findings): void {
    const isShaped = membersOf(frame).some(isResponseShaped)
    const keys = idKeysOf(frame)
    const meant = isShaped ? keys.map(key => this.#meant(exchange, key)) : []
    const request = meant.find(one => one?.isAtServer === true) ?? this.#requests.onlyAwaited(exchange)
    if (request === undefined) return
    const names = (key: IdKey) => meaningOf(key) === meaningOf(request.key)
    if (isShaped || (keys.some(names) && !namesMethod(frame))) this.#requests.suspect(request, findings)
  }

  /** The request on this exchange, on stdio in the session, with this id in any spelling. */
  #meant(exchange: Exchange, key: IdKey): PendingRequest | undefined {
    const meant = this.#pending.find(exchange, key) ?? this.#pending.findMeant(exchange, key)
    return exchange === stdioExchange || meant?.exchange === exchange ? meant : undefined
  }

  lost(exchange: Exchange, key: IdKey, reason: string): void {
    if (this.#listed.awaits(exchange, key)) return this.#listed.lost(exchange, key)
    const request = this.#pending.find(exchange, key)
    if (request?.isAtServer === true) this.#requests.lost(request, exchange, reason)
  }

  /** The HTTP response is over without the answer, which may come on another stream of the session. */
  awaitedElsewhere(exchange: Exchange, key: IdKey, reason: string): void {
    const request = this.#pending.find(exchange, key)
    if (request?.isAtServer !== true) return
    const frame = {
      bytes: noBytes, message: { kind: 'unusable', keys: [key] },
      faults: [{ kind: 'http', path: '', message: reason, isMinor: true }],
    } as const
    const { terms: { revision }, findings } = request
    this.#core.ask('onFrame', { frame, from: 'server', revision }, findings, '')
  }

  /** Opens an answered request again, whose response the server replays, so that the response is judged. */
  #replayed(exchange: Exchange, message: Result | ErrorResponse): PendingRequest | undefined {
    const again = this.#core.options.stateless ? undefined : this.#requests.given.take(exchange, message)
    if (again === undefined || !this.#pending.open(again)) return undefined
    this.#requests.awaitResponse(again)
    return again
  }

  /**
   * Handles a response on a resumed stream that answers no request of this replica. The shared state tells
   * whether another replica has sent its request.
   */
  *#fromOtherReplica(
    arrived: Arrived & { readonly message: Result | ErrorResponse }, key: IdKey, findings: Findings,
  ): Flow {
    const { exchange, message } = arrived
    const { output, order } = this.#core
    const found = yield* this.#requests.shared.find(exchange, message, findings)
    if (found === 'unreachable') {
      this.#core.records.write(
        { event: 'wire', from: 'server', verdict: 'block', reason: notShared }, findings,
      )
      // Only the stream ends: the client resumes it, and the server sends the response again.
      return output.emit({ type: 'complete', exchange })
    }
    // Meanwhile it may have come on another stream.
    if (this.#pending.find(exchange, key) !== undefined) return this.answered(arrived, findings)
    if (found === undefined || !this.#pending.open(found.request))
      return this.#unsolicited(arrived, key, findings)
    const { request, data } = found
    this.#requests.shared.count(request)
    order.hold(exchange, true)
    try {
      request.called = yield* this.#requests.shared.calledIn(data, request)
      this.#requests.awaitResponse(request)
      this.#requests.arrived(request, arrived, findings)
    } finally {
      order.release(exchange)
    }
  }

  /** Answers with an error when judging the response to another replica's request has failed. */
  #lostOn(exchange: Exchange, asker: RequestId, reason: string, findings: Findings): void {
    this.#core.records.write({ event: 'wire', from: 'server', verdict: 'block', reason }, findings)
    this.#core.output.toClient(exchange, errorFrame(asker, errorCode.blocked, `mcp-customs: ${reason}`))
  }

  /**
   * A blocked frame answers no request that is known here. On a resumed stream the client may wait for it all
   * the same: another relay, or a session that was forgotten here, has sent the request.
   */
  withheld(exchange: Exchange, frame: Frame): void {
    const { output } = this.#core
    const responses = exchange.resumed === true
      ? membersOf(frame).filter(one => one.message.kind !== 'request' && !isBadRequest(one)) : []
    for (const key of responses.flatMap(idKeysOf))
      if (this.#pending.find(exchange, key) === undefined)
        output.toClient(exchange, errorFrame({ id: idOf(key), key }, errorCode.gone, unknownRequest))
    output.withheld(exchange, frame)
  }

  /** Handles a response that belongs to no request in flight, or by another spelling of the id only. */
  #unsolicited(arrived: Arrived, key: IdKey, findings: Findings): void {
    // A late response to our own tools/list is dropped: the client did not ask for it.
    if (this.#listed.ids.isRelayMade(key)) return
    const { ask, records, output } = this.#core
    const { exchange, frame } = arrived
    const isLate = this.#requests.isLate(key)
    ask('onId', { use: 'unasked', from: 'server' }, findings, '/id')
    if (findings.isStop) {
      if (!isLate) this.#suspect(exchange, frame, findings)
      records.write({ event: 'wire', from: 'server', bytes: { response: frame.bytes.length } }, findings)
      return this.withheld(exchange, frame)
    }
    const meant = this.#pending.findMeant(exchange, key)
    if (meant?.isAtServer === true) return this.#requests.arrived(meant, arrived, findings)
    records.note('wire', 'server', findings)
    output.toClient(exchange, frame)
  }
}

/** The ids under which a lenient reader may find a response in a frame. */
const lenientKeys = (frame: Frame): readonly IdKey[] =>
  membersOf(frame)
    .filter(one => isResponseShaped(one) || lenientResponse(one) !== undefined)
    .flatMap(idKeysOf)

const noBytes = Buffer.alloc(0)

const unknownRequest = 'mcp-customs: the request of this response is not known here'
