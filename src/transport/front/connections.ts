import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The responses that are owed on each connection: all but one of them wait for the one before, where requests are pipelined. */
export class Connections {
  readonly #owed = new WeakMap<Socket, Set<ServerResponse>>()

  /** @returns the one that it waits behind */
  follow(socket: Socket, response: ServerResponse): ServerResponse | undefined {
    const owed = this.#owed.get(socket) ?? this.#opened(socket)
    const before = owed.size === 0 ? undefined : [...owed].at(-1)
    owed.add(response)
    response.on('close', () => owed.delete(response))
    return before
  }

  /** Node tells the response that is being sent when its connection closes, but not those that wait behind it. */
  #opened(socket: Socket): Set<ServerResponse> {
    const owed = new Set<ServerResponse>()
    this.#owed.set(socket, owed)
    socket.once('close', () => {
      process.nextTick(() => {
        for (const left of owed) left.emit('close')
      })
    })
    return owed
  }
}
