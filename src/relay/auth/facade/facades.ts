import type { Authority, Claims, ProtectedResource, Unverified } from '#relay/transport/front/authority.js'
import type { SitePage, Site, Visit } from '#relay/transport/front/site.js'
import type { Facade } from './facade.js'

/** The facades of a gateway: each checks the tokens for its own server. */
export class Facades implements Authority, Site {
  readonly #byPath: ReadonlyMap<string, Facade>

  /** @param byPath by the paths of their endpoints, such as `/files/mcp` */
  constructor(byPath: ReadonlyMap<string, Facade>) {
    this.#byPath = byPath
  }

  resourceAt(path: string): ProtectedResource | undefined {
    return this.#byPath.get(path)?.resource
  }

  check(token: string, path: string): Claims | Promise<Claims | Unverified> {
    return this.#byPath.get(path)?.check(token) ?? Promise.resolve('invalid')
  }

  has(path: string): boolean {
    return this.#at(path) !== undefined
  }

  async answer(visit: Visit): Promise<SitePage> {
    return this.#at(visit.path)?.answer(visit) ?? { status: 404, headers: {}, body: '' }
  }

  #at(path: string): Facade | undefined {
    for (const facade of this.#byPath.values()) if (facade.has(path)) return facade
    return undefined
  }
}
