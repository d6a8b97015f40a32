import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clientOf, Quota } from './quota.js'
import type { FrontResponse } from './request.js'

/** From so many requests on that wait behind an open answer of their connection, its socket is not read. */
const manyWaiting = 8
/** With more the connection is given up. */
const mostWaiting = 64
/** It is cut so many milliseconds later: its client should not come back at once. */
const cutMs = 1000

interface Connection {
  /** The client whose place it has. */
  readonly client: string
  /** Begins the requests that came behind one that is being answered (HTTP/1.1 pipelining). */
  readonly waiting: { readonly response: ServerResponse; readonly begin: () => void }[]
  isBusy: boolean
  isGivenUp: boolean
  /** The response to the request in hand. */
  response: FrontResponse | undefined
  /** `onUnread` of the last response, which is over. */
  onUnread: FrontResponse['onUnread']
}

/**
 * The connections of a listener. Each client has a share of them; when that is used up, its next connection
 * replaces the one that was idle longest. Each connection has one request at a time in hand.
 */
export class Connections {
  readonly #places: Quota
  readonly #connections = new WeakMap<Socket, Connection>()
  /** By client, those without a request in hand, the oldest first. */
  readonly #idle = new Map<string, Set<Socket>>()

  constructor(max = openFiles() / 2) {
    this.#places = new Quota(() => max)
  }

  accept(socket: Socket): void {
    const client = clientOf({ address: socket.remoteAddress ?? '', token: undefined })
    if (!this.#places.take(client)) {
      const [oldest] = this.#idle.get(client) ?? []
      if (oldest === undefined) return void socket.destroy()
      this.#leave(oldest)
      oldest.destroy()
      this.#places.take(client)
    }
    this.#connections.set(socket, { client, waiting: [], isBusy: false, isGivenUp: false, response: undefined, onUnread: undefined })
    this.#setIdle(socket, client, true)
    socket.once('close', () => this.#leave(socket))
  }

  /** Whether no request is begun on it any more; what was read of it is still parsed to its end. */
  hasGivenUp(socket: Socket): boolean {
    return socket.destroyed || this.#connections.get(socket)?.isGivenUp === true
  }

  /** @param begin called when everything before it on the connection is answered; never, where the connection is gone by then */
  follow(socket: Socket, response: ServerResponse, begin: () => void): void {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return begin()
    if (!connection.isBusy) return this.#begin(socket, connection, { response, begin })
    // Its answer could not be sent before that of the request in hand, and would be kept in memory.
    connection.waiting.push({ response, begin })
    if (connection.waiting.length > mostWaiting) this.#giveUp(socket, connection)
    else if (connection.waiting.length >= manyWaiting) setImmediate(hold, socket, connection)
  }

  #begin(socket: Socket, connection: Connection, { response, begin }: Connection['waiting'][number]): void {
    connection.isBusy = true
    connection.response = response
    connection.onUnread = undefined
    this.#setIdle(socket, connection.client, false)
    response.once('close', () => {
      connection.onUnread = connection.response?.onUnread
      connection.response = undefined
      if (socket.destroyed || connection.isGivenUp) return
      const next = connection.waiting.shift()
      if (connection.waiting.length < manyWaiting && socket.isPaused()) socket.resume()
      if (next !== undefined) return this.#begin(socket, connection, next)
      connection.isBusy = false
      this.#setIdle(socket, connection.client, true)
    })
    begin()
  }

  #giveUp(socket: Socket, connection: Connection): void {
    connection.isGivenUp = true
    connection.waiting.length = 0
    socket.pause()
    // Node reads on at the end of each request.
    socket.resume = () => socket
    const timer = setTimeout(() => socket.destroy(), cutMs)
    socket.once('close', () => clearTimeout(timer))
  }

  /** Whether a request is in hand on it. */
  isBusy(socket: Socket): boolean {
    return this.#connections.get(socket)?.isBusy === true
  }

  #setIdle(socket: Socket, client: string, isIdle: boolean): void {
    const idle = this.#idle.get(client) ?? new Set()
    if (isIdle) idle.add(socket)
    else idle.delete(socket)
    if (idle.size > 0) this.#idle.set(client, idle)
    else this.#idle.delete(client)
  }

  #leave(socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (!this.#connections.delete(socket) || connection === undefined) return
    connection.waiting.length = 0
    const { onUnread } = connection.response ?? connection
    onUnread?.()
    this.#setIdle(socket, connection.client, false)
    this.#places.leave(connection.client)
  }
}

// Not before all that was read of the socket is parsed: the end of each request has Node read on.
const hold = (socket: Socket, { waiting }: Connection): void => {
  if (waiting.length >= manyWaiting) socket.pause()
}

/** How many files, sockets among them, this process may have open. Each connection may need another one, to a server. */
const openFiles = (): number => {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? usualFiles)
  } catch {
    return usualFiles
  }
}
const usualFiles = 8192
