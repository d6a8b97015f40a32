import { isString, member } from '#relay/protocol/json.js'
import type { Request } from '#relay/protocol/json-rpc.js'
import { request } from './frames.js'
import type { Leg } from './leg.js'
import type { Legs } from './legs.js'
import { maxOpen } from './machine.js'

/** The resources to which a legacy client has subscribed, and at which server. */
export class MergedSubscriptions {
  readonly #legs: Legs
  /** By URI. */
  readonly #servers = new Map<string, string>()

  constructor(legs: Legs) {
    this.#legs = legs
  }

  serverOf(uri: string): string | undefined {
    return this.#servers.get(uri)
  }

  /** A server has carried out a request. */
  done({ method, params }: Request, leg: Leg): void {
    const uri = member(params, 'uri')
    if (!isString(uri)) return
    if (method === 'resources/subscribe' && this.#servers.size < maxOpen) this.#servers.set(uri, leg.name)
    if (method === 'resources/unsubscribe') this.#servers.delete(uri)
  }

  /** Subscribes again at a server that has come back. */
  renew(leg: Leg): void {
    for (const [uri, server] of this.#servers) {
      if (server !== leg.name) continue
      const params = JSON.stringify({ uri })
      const ask = (number: number) => request(number, 'resources/subscribe', params)
      this.#legs.requests.ask(leg, ask, { answered: () => undefined })
    }
  }
}
