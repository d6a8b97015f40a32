import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { realTimers } from '../timers.js'
import { quotaClientOf, Quota } from './quota.js'

/** The socket is not read while this many pipelined requests wait behind an open response. */
const manyWaiting = 8
/** With more waiting requests the connection is cut off. */
const maxWaiting = 64
/** The delay before it is cut, in milliseconds, so that its client does not reconnect at once. */
const cutMs = 1000

interface Connection {
  /** The client that it counts for. */
  readonly client: string
  /** Requests that came while another one was being answered (HTTP/1.1 pipelining). */
  readonly waiting: { readonly response: ServerResponse; readonly begin: () => void }[]
  isBusy: boolean
  isGivenUp: boolean
}

/**
 * The connections of a listener. Each client has a quota of them; when that is used up, its next connection
 * replaces the one that was idle longest. The requests of a connection are answered one at a time.
 */
export class Connections {
  readonly #places: Quota
  readonly #connections = new WeakMap<Socket, Connection>()
  /** Idle connections by client, the oldest first. */
  readonly #idle = new Map<string, Set<Socket>>()

  constructor(max = openFiles() / 2) {
    this.#places = new Quota(() => max)
  }

  accept(socket: Socket): void {
    const client = quotaClientOf({ address: socket.remoteAddress ?? '', token: undefined, subject: undefined })
    if (!this.#places.reserve(client)) {
      const [oldest] = this.#idle.get(client) ?? []
      if (oldest === undefined) return void socket.destroy()
      this.#leave(oldest)
      oldest.destroy()
      this.#places.reserve(client)
    }
    this.#connections.set(socket, {
      client, waiting: [], isBusy: false, isGivenUp: false,
    })
    this.#setIdle(socket, client, true)
    socket.once('close', () => this.#leave(socket))
  }

  /** Whether its requests are ignored. Node still parses the bytes that it has read. */
  hasGivenUp(socket: Socket): boolean {
    return socket.destroyed || this.#connections.get(socket)?.isGivenUp === true
  }

  /** @param begin called when the requests before it are answered; not called when the connection is gone */
  follow(socket: Socket, response: ServerResponse, begin: () => void): void {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return begin()
    if (!connection.isBusy) return this.#begin(socket, connection, { response, begin })
    // The response to this request would be kept in memory until the open response is over.
    connection.waiting.push({ response, begin })
    if (connection.waiting.length > maxWaiting) this.#giveUp(socket, connection)
    else if (connection.waiting.length >= manyWaiting) setImmediate(hold, socket, connection)
  }

  #begin(socket: Socket, connection: Connection, { response, begin }: Connection['waiting'][number]): void {
    connection.isBusy = true
    this.#setIdle(socket, connection.client, false)
    response.once('close', () => {
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
    // Node resumes the socket at the end of each request.
    socket.resume = () => socket
    socket.once('close', realTimers.after(cutMs, () => socket.destroy()))
  }

  /** Whether one of its requests is being answered. */
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
    this.#setIdle(socket, connection.client, false)
    this.#places.release(connection.client)
  }
}

// Called after the bytes read so far are parsed: Node resumes the socket at the end of each request.
const hold = (socket: Socket, { waiting }: Connection): void => {
  if (waiting.length >= manyWaiting) socket.pause()
}

/** The limit of open files, sockets included. A client's connection may need another one, to a server. */
const openFiles = (): number => {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1')
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? usualFiles)
  } catch {
    // Only Linux has the file.
    return usualFiles
  }
}
const usualFiles = 8192
