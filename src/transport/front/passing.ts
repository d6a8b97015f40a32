import { Agent, request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as askSecurely, Agent as SecureAgent } from 'node:https'
import { realTimers } from '../timers.js'
import type { Arrival } from './arrival.js'
import type { FrontBackend } from './front.js'
import { refusals, refuse, type Refusal } from './refusal.js'
import { headerText } from './request.js'

/** The replicas of this relay, as far as requests are passed on to them. */
export interface KnownReplicas {
  /** Of this replica. */
  readonly name: string
  /** @returns undefined for a replica that is gone; rejects when that is not known */
  addressOf(name: string): Promise<string | undefined>
  proofOf(facts: readonly string[]): string
  isProof(proof: string, facts: readonly string[]): boolean
}

/** The headers between replicas: a proof that a replica passes the request on, and the client's address. */
const proofHeader = 'mcp-customs-passed'
const clientHeader = 'mcp-customs-client'

/** Headers of one connection (RFC 9110, section 7.6.1), and `expect`, which was answered here. */
const ofConnection: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect',
])

/** The longest time to connect to a replica, in milliseconds. */
const connectMs = 5000

/** The replica that runs a session's process, by the session's id. */
const homeIn = (session: string | undefined): string | undefined =>
  /^(r[0-9a-f]{16})-/.exec(session ?? '')?.[1]

/**
 * Passes the requests of sessions in front of a process on to the replica that runs the process, once: a
 * replica that gets such a request answers it.
 */
export class Passing implements FrontBackend {
  readonly #inner: FrontBackend
  readonly #replicas: KnownReplicas
  readonly #agents = {
    'http:': new Agent({ keepAlive: true }), 'https:': new SecureAgent({ keepAlive: true }),
  }

  constructor(inner: FrontBackend, replicas: KnownReplicas) {
    this.#inner = inner
    this.#replicas = replicas
  }

  has(path: string): boolean {
    return this.#inner.has(path)
  }

  serve(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
    const home = homeIn(arrival.sessionId)
    const isPassed = this.#isPassed(request, arrival)
    if (home === undefined || home === this.#replicas.name) {
      return this.#inner.serve(request, response, arrival)
    }
    const refused = (reason: Refusal) => refuse(request, response, reason, realTimers)
    // The replica that passed it on knew an address that is another replica's now.
    if (isPassed) return refused(refusals.noSession)
    this.#replicas.addressOf(home).then(
      url => (url === undefined ? refused(refusals.noSession) : this.#pass(request, response, arrival, url)),
      () => refused(refusals.noState),
    )
  }

  endStreams(): void {
    this.#inner.endStreams()
  }

  giveUp(reason: string): Promise<unknown> {
    return this.#inner.giveUp(reason)
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  /** Whether another replica passes the request on; what only replicas say is not for servers to see. */
  #isPassed(request: IncomingMessage, arrival: Arrival): boolean {
    const { headers } = request
    const [proof, client] = [headerText(headers[proofHeader]), headerText(headers[clientHeader])]
    for (const name of [proofHeader, clientHeader]) Reflect.deleteProperty(headers, name)
    if (proof === undefined || client === undefined) return false
    if (!this.#replicas.isProof(proof, factsOf(request, client))) return false
    arrival.address = client
    return true
  }

  #pass(request: IncomingMessage, response: ServerResponse, arrival: Arrival, url: string): void {
    const target = new URL(url)
    const send = target.protocol === 'https:' ? askSecurely : ask
    const agent = target.protocol === 'https:' ? this.#agents['https:'] : this.#agents['http:']
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !ofConnection.has(name)),
    )
    if (request.headers.expect !== undefined) response.writeContinue()
    const onward = send(target, {
      agent, method: request.method, path: request.url,
      headers: {
        ...headers,
        [clientHeader]: arrival.address,
        [proofHeader]: this.#replicas.proofOf(factsOf(request, arrival.address)),
      },
    })
    const late = setTimeout(() => onward.destroy(new Error('no connection in time')), connectMs)
    onward.once('socket', socket => {
      if (!socket.connecting) clearTimeout(late)
      else socket.once('connect', () => clearTimeout(late))
    })
    onward.once('response', answer => {
      response.writeHead(answer.statusCode ?? 502, Object.fromEntries(
        Object.entries(answer.headers).filter(([name]) => !ofConnection.has(name)),
      ))
      response.flushHeaders()
      answer.pipe(response)
      answer.once('error', () => response.destroy())
      answer.once('close', () => {
        if (!answer.complete) response.destroy()
      })
    })
    onward.once('error', (error: Error & { readonly code?: string }) => {
      clearTimeout(late)
      if (response.headersSent || response.destroyed) return void response.destroy()
      // Nobody listens there any more: the process of the session has ended with its replica.
      const reason = error.code === 'ECONNREFUSED' ? refusals.noSession : refusals.noReplica
      refuse(request, response, reason, realTimers)
    })
    response.once('close', () => onward.destroy())
    request.pipe(onward)
  }
}

/** What a proof is about. */
const factsOf = ({ method = '', url = '', headers }: IncomingMessage, client: string): readonly string[] =>
  [method, url, headerText(headers['mcp-session-id']) ?? '', headers.authorization ?? '', client]
