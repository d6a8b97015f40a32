import { once } from 'node:events'
import { Agent, request as askSibling, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isObject, isString, member, parseJson, type JsonObject } from '../../protocol/json.js'
import { isModernVersion } from '../http/metadata.js'
import { createPrivateListener, listen, longestHandedOver } from './listener.js'
import { originOf, tellOrigin, type Origin } from './origin.js'

/** Other processes that accept connections at the same address: a connection may carry a request that belongs to one of them. */
export interface Siblings {
  /** Where they hand such requests over: a socket that nobody else can reach. */
  readonly socket: string
  /** @returns the socket of the sibling that a request belongs to; undefined: it is served here */
  socketOf(claim: Claim): string | undefined | Promise<string | undefined>
  /** The sibling could not be reached: what was known of it is to be asked anew. */
  forget(claim: Claim): void
}

/** Takes in a request, and answers it. */
export type Receive = (request: IncomingMessage, response: ServerResponse) => void

/** A request that was let in. */
export interface Routed {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** What stands at the path: a process, or an HTTP server. */
  readonly isProcess: boolean
  /** Serves it in this process. */
  readonly serve: () => void
  /** Answers it where its sibling is gone. */
  readonly lost: () => void
}

/** What the head of a request says of where it belongs: to a session, or to the process that all clients without a session share. */
export interface Claim {
  readonly path: string
  /** The `Mcp-Session-Id`; undefined: the shared process. */
  readonly session: string | undefined
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** @returns undefined: anybody can serve it */
const claimOf = ({ request: { headers }, path, isProcess }: Routed): Claim | undefined => {
  const { 'mcp-session-id': session, 'mcp-protocol-version': version } = headers
  // Those revisions know no session, whatever the header says.
  if (isModernVersion(typeof version === 'string' ? version : undefined)) return isProcess ? { path, session: undefined } : undefined
  // In front of a process it is ours, and a UUID: about any other, nobody is to be asked.
  return typeof session === 'string' && (!isProcess || uuid.test(session)) ? { path, session } : undefined
}

/** What the one who took a request in knows of its connection; the client's own header of the name is left out. */
const originHeader = 'mcp-customs-origin'

/**
 * A sibling's request comes as the client sent it, and is judged by who serves it, as any other. Only what the connection says goes in
 * a header of its own, which means something on the private socket alone: there, siblings are the only ones who can write it.
 */
interface Told extends Origin {
  /** The client's own header of the connection: it says which others are not to be passed on. */
  readonly connection: string | undefined
}

/** How often a sibling is looked for: one that has just ended is somebody else the next time. */
const mostTries = 2

export class Handover {
  readonly #siblings: Siblings
  readonly #server: Server
  readonly #agent = new Agent({ keepAlive: true })

  /** @param receive takes in what siblings hand over */
  constructor(siblings: Siblings, receive: Receive) {
    this.#siblings = siblings
    this.#server = createPrivateListener((request, response) => {
      if (unpack(request)) receive(request, response)
      else request.destroy()
    })
  }

  /** @throws CustomsError CANNOT_START */
  async listen(): Promise<void> {
    await listen(this.#server, { socket: this.#siblings.socket, mode: 0o600 })
  }

  /** Cuts what is left. */
  async close(): Promise<void> {
    this.#agent.destroy()
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async route(routed: Routed): Promise<void> {
    const { request, serve, lost } = routed
    const claim = claimOf(routed)
    if (claim === undefined) return serve()
    for (let tries = 0; tries < mostTries; tries += 1) {
      const socket = await this.#siblings.socketOf(claim)
      // Whoever left meanwhile waits for nothing.
      if (request.socket.destroyed) return
      if (socket === undefined) return serve()
      if (await this.#pass(routed, socket)) return
      this.#siblings.forget(claim)
    }
    lost()
  }

  /** @returns false when the sibling was not reached: nothing of the request is lost */
  #pass({ request, response, lost }: Routed, socketPath: string): Promise<boolean> {
    return new Promise(resolve => {
      const { method = 'GET', url = '/' } = request
      const onward = askSibling({ agent: this.#agent, socketPath, method, path: url, headers: packed(request), setHost: false, maxHeaderSize: longestHandedOver })
      let isReached = false
      const stop = () => onward.destroy()
      response.once('close', stop)
      onward.once('socket', socket => {
        const begin = () => {
          isReached = true
          resolve(true)
          request.pipe(onward)
          // The body comes when the sibling has asked for it.
          if (request.headers.expect !== undefined) onward.flushHeaders()
        }
        if (socket.connecting) socket.once('connect', begin)
        else begin()
      })
      onward.on('continue', () => {
        if (request.httpVersion !== '1.0') response.writeContinue()
      })
      onward.once('response', answer => passBack(answer, response))
      onward.once('error', () => {
        // Who has left is told nothing, and the sibling is not gone.
        if (response.destroyed) return resolve(true)
        if (isReached) return response.headersSent ? response.destroy() : lost()
        response.off('close', stop)
        resolve(false)
      })
      // A sibling that has answered may not want the rest.
      onward.once('close', () => {
        if (isReached && response.writableEnded && !request.complete) request.destroy()
      })
    })
  }
}

const passBack = (answer: IncomingMessage, response: ServerResponse): void => {
  response.sendDate = false
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, grouped(without(answer.rawHeaders, ofConnection)))
  // A stream may be silent for long; else the head goes with the body.
  if (answer.headers['content-length'] === undefined) response.flushHeaders()
  answer.pipe(response)
  answer.once('error', () => response.destroy())
}

/** With what was set before, Node 20 keeps only the last of those that are repeated. */
const grouped = (pairs: readonly string[][]): (string | string[])[] => {
  const byName = new Map<string, [name: string, values: string[]]>()
  for (const [name = '', value = ''] of pairs) {
    const known = byName.get(name.toLowerCase())
    if (known) known[1].push(value)
    else byName.set(name.toLowerCase(), [name, [value]])
  }
  return [...byName.values()].flat()
}

/** These say how a message is sent on one connection; how the next one sends it is its own affair. */
const ofConnection: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding'])
const replaced: ReadonlySet<string> = new Set(['connection', 'trailer', originHeader])

const packed = (request: IncomingMessage): string[] => {
  const { method, headers, rawHeaders } = request
  const origin: Told = { ...originOf(request), connection: headers.connection }
  // Without a word of its length, Node would announce a body in chunks.
  const isBare = method === 'POST' && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  const kept = without(rawHeaders, replaced)
  return [...kept, [originHeader, JSON.stringify(origin)], ['connection', 'keep-alive'], ...(isBare ? [['content-length', '0']] : [])].flat()
}

/** @returns false when no sibling can have sent it */
const unpack = (request: IncomingMessage): boolean => {
  const { headers } = request
  const told = toldIn(headers[originHeader])
  if (told === undefined) return false
  const { address, scheme, connection } = told
  tellOrigin(request, { address, scheme })
  headers[originHeader] = undefined
  headers.connection = connection
  return true
}

const toldIn = (header: string | string[] | undefined): Told | undefined => {
  if (typeof header !== 'string') return undefined
  const told = objectIn(header)
  if (told === undefined) return undefined
  const [address, scheme, connection] = ['address', 'scheme', 'connection'].map(name => member(told, name))
  if (!isString(address)) return undefined
  return { address, scheme: scheme === 'https' ? scheme : 'http', connection: isString(connection) ? connection : undefined }
}

const objectIn = (text: string): JsonObject | undefined => {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** Names and values in turn, as they came. @returns pairs */
const without = (rawHeaders: readonly string[], names: ReadonlySet<string>): string[][] => {
  const kept: string[][] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (!names.has(name.toLowerCase())) kept.push([name, value])
  }
  return kept
}
