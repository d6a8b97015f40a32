import { Agent, request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as askSecurely, Agent as SecureAgent } from 'node:https'
import { realTimers, type Timers } from '../timers.js'
import type { Arrival } from './arrival.js'
import type { EndpointsOptions } from './endpoints.js'
import type { FrontBackend } from './front.js'
import type { FrontTls } from './listener.js'
import { endUnread, refusals, refuse, type Refusal } from './refusal.js'
import { hasLeft, headerText } from './request.js'

/** The replicas of this relay, as far as requests are passed on to them. */
export interface KnownReplicas {
  /** Of this replica. */
  readonly name: string
  /** @returns the replica's URL; undefined when it is gone; rejects when the state cannot be reached */
  addressOf(name: string): Promise<string | undefined>
  readonly proofs: {
    proofOf(facts: readonly string[]): string
    isProof(proof: string, facts: readonly string[]): boolean
  }
}

export interface PassingOptions {
  readonly inner: FrontBackend
  readonly replicas: KnownReplicas
  /** This replica's own certificate, shown to replicas that ask for one. It may be renewed. */
  readonly tls?: () => FrontTls | undefined
  /** See `HttpFrontOptions`. */
  readonly refused?: EndpointsOptions['refused']
  readonly timers?: Timers
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
/** How often it is checked that the replicas of open requests still exist, in milliseconds. */
const watchMs = 5000

/** The replica that runs a session's process, by the session's id. */
const homeIn = (session: string | undefined): string | undefined =>
  /^(r[0-9a-f]{16})-/.exec(session ?? '')?.[1]

/** A request that was passed on, until its response is over. */
interface Passed {
  readonly home: string
  /** Its replica is gone. */
  fail(): void
  /** This replica stops: ends a stream of GET, so that the client resumes it at another replica. */
  finish(): void
}

/**
 * Passes a request on to the replica that runs the process of its session. A request is passed on once: a
 * replica that gets a passed request serves the request or refuses it.
 */
export class Passing implements FrontBackend {
  readonly #options: PassingOptions
  readonly #inner: FrontBackend
  readonly #replicas: KnownReplicas
  readonly #timers: Timers
  readonly #agents = {
    'http:': new Agent({ keepAlive: true }), 'https:': new SecureAgent({ keepAlive: true }),
  }
  readonly #open = new Set<Passed>()
  /** Stops the watch over the replicas of open requests. */
  #stopWatch: (() => void) | undefined

  constructor(options: PassingOptions) {
    this.#options = options
    this.#inner = options.inner
    this.#replicas = options.replicas
    this.#timers = options.timers ?? realTimers
  }

  has(path: string): boolean {
    return this.#inner.has(path)
  }

  runsProcess(path: string): boolean {
    return this.#inner.runsProcess(path)
  }

  serve(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
    const { path, modern, sessionId } = arrival
    const isPassed = this.#isPassed(request, arrival)
    // Only in front of a process are session ids ours. An HTTP server that is a gateway makes similar ones.
    const home = modern || !this.#inner.runsProcess(path) ? undefined : homeIn(sessionId)
    if (home === undefined || home === this.#replicas.name)
      return this.#inner.serve(request, response, arrival)
    // The other replica used an old address of the session's replica: it is this replica's address now.
    if (isPassed) return this.#refuse(request, response, arrival, refusals.noSession)
    this.#replicas.addressOf(home).then(
      url => {
        // The client may have left meanwhile.
        if (hasLeft(response)) return
        if (url === undefined) this.#refuse(request, response, arrival, refusals.noSession)
        else this.#pass(request, response, arrival, home, url)
      },
      () => this.#refuse(request, response, arrival, refusals.noState),
    )
  }

  /** Ends the open streams, also those that were passed on: clients resume them at another replica. */
  endStreams(): void {
    for (const passed of this.#open) passed.finish()
    this.#inner.endStreams()
  }

  giveUp(reason: string): Promise<unknown> {
    return this.#inner.giveUp(reason)
  }

  close(): void {
    this.#stopWatch?.()
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  #refuse(request: IncomingMessage, response: ServerResponse, arrival: Arrival, reason: Refusal): void {
    const { status, message } = reason
    const { address, path } = arrival
    this.#options.refused?.({ status, message, address, path })
    refuse(request, response, reason, this.#timers)
  }

  /**
   * Whether another replica has passed this request on: then the client's address is the one in its header.
   * Removes the headers between replicas, because servers must not see them.
   */
  #isPassed(request: IncomingMessage, arrival: Arrival): boolean {
    const { headers } = request
    const [proof, client] = [headerText(headers[proofHeader]), headerText(headers[clientHeader])]
    for (const name of [proofHeader, clientHeader]) Reflect.deleteProperty(headers, name)
    if (proof === undefined || client === undefined) return false
    if (!this.#replicas.proofs.isProof(proof, factsOf(request, client))) return false
    arrival.address = client
    return true
  }

  #pass(
    request: IncomingMessage, response: ServerResponse, arrival: Arrival, home: string, url: string,
  ): void {
    const target = new URL(url)
    const isSecure = target.protocol === 'https:'
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !ofConnection.has(name)),
    )
    if (request.headers.expect !== undefined) response.writeContinue()
    const { cert, key } = (isSecure && this.#options.tls?.()) || {}
    const onward = (isSecure ? askSecurely : ask)(target, {
      agent: this.#agents[isSecure ? 'https:' : 'http:'], method: request.method, path: request.url,
      ...(cert !== undefined && { cert, key }),
      headers: {
        ...headers,
        [clientHeader]: arrival.address,
        [proofHeader]: this.#replicas.proofs.proofOf(factsOf(request, arrival.address)),
      },
    })
    let isGone = false
    const passed: Passed = {
      home,
      fail: () => {
        isGone = true
        onward.destroy(new Error('the replica is gone'))
      },
      finish: () => {
        if (request.method === 'GET' && response.headersSent) response.end()
      },
    }
    this.#watch(passed)
    const stopLate = this.#timers.after(connectMs, () => onward.destroy(new Error('no connection in time')))
    onward.once('socket', socket => {
      if (!socket.connecting) stopLate()
      else socket.once('connect', stopLate)
    })
    let isAnswered = false
    onward.once('response', answer => {
      isAnswered = true
      // The replica refuses the request by its head or a part of its body: it does not read the rest.
      if (!request.complete) request.unpipe(onward)
      const headers = Object.entries(answer.headers).filter(([name]) => !ofConnection.has(name))
      response.writeHead(answer.statusCode ?? 502, {
        ...Object.fromEntries(headers), ...(!request.complete && { connection: 'close' }),
      })
      // Node's `flushHeaders` would write the head as UTF-8 (see `Reply`).
      response.write(noBytes)
      answer.pipe(response, { end: false })
      answer.once('end', () => {
        if (!response.writableEnded) endUnread(request, response, noBytes, this.#timers)
      })
      answer.once('error', () => response.destroy())
      answer.once('close', () => {
        if (!answer.complete && !response.writableEnded) response.destroy()
      })
    })
    onward.on('error', (error: Error & { readonly code?: string }) => {
      // The rest of the body was not taken; the answer has an end of its own.
      if (isAnswered && !isGone) return
      if (response.headersSent || response.destroyed) return void response.destroy()
      // Nobody listens there any more: the process of the session has ended with its replica.
      const isOver = isGone || error.code === 'ECONNREFUSED'
      this.#refuse(request, response, arrival, isOver ? refusals.noSession : refusals.noReplica)
    })
    response.once('close', () => {
      stopLate()
      this.#open.delete(passed)
      onward.destroy()
    })
    request.pipe(onward)
  }

  /** A replica may vanish without closing connections; its address then expires in the shared state. */
  #watch(passed: Passed): void {
    this.#open.add(passed)
    this.#stopWatch ??= this.#timers.every(watchMs, () => {
      for (const home of new Set([...this.#open].map(one => one.home))) void this.#check(home)
      if (this.#open.size > 0) return
      this.#stopWatch?.()
      this.#stopWatch = undefined
    })
  }

  async #check(home: string): Promise<void> {
    // While the shared state cannot be reached, the other replica counts as present.
    const url = await this.#replicas.addressOf(home).catch(() => '')
    if (url === undefined) for (const passed of this.#open) if (passed.home === home) passed.fail()
  }
}

const noBytes = Buffer.alloc(0)

/** What a proof is about. */
const factsOf = ({ method = '', url = '', headers }: IncomingMessage, client: string): readonly string[] =>
  [method, url, headerText(headers['mcp-session-id']) ?? '', headers.authorization ?? '', client]
