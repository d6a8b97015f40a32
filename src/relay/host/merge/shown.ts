import { edit } from '#relay/protocol/edit.js'
import { leftOut, quote } from '#relay/protocol/quote.js'
import type { MergedFinding } from './findings.js'
import type { Leg } from './leg.js'
import type { NameTable } from './names.js'
import type { ServerItem, ListKind } from './reading.js'
import type { Asking } from './requests.js'
import type { ResourceOwners } from './resources.js'

/** Who owns what the servers list. */
export interface ShownTables {
  readonly names: Readonly<Record<'tools' | 'prompts', NameTable>>
  readonly owners: ResourceOwners
}

/** Elements of a server that are left out for one reason. */
interface LeftOut extends Pick<MergedFinding, 'server' | 'rule'> {
  readonly reason: string
  /** What is said of one; undefined: the same as of several. */
  readonly alone?: string
  readonly names: string[]
}

/** The elements of a merged list, as its client gets them. */
export class ShownItems {
  readonly texts: Buffer[] = []
  /** By server and reason. */
  readonly #leftOut = new Map<string, LeftOut>()
  readonly #kind: ListKind
  readonly #tables: ShownTables
  readonly #limits: Asking['limits']

  /** @param before how many elements earlier pages have */
  constructor(kind: ListKind, tables: ShownTables, { limits }: Asking, readonly before: number) {
    this.#kind = kind
    this.#tables = tables
    this.#limits = limits
  }

  /** Adds an element: nothing where several servers claim its name, or where another owns its URI. */
  add({ name: server, server: merged }: Leg, { name, bytes }: ServerItem): void {
    const kind = this.#kind
    if (kind === 'resources' || kind === 'templates') {
      const owner = this.#tables.owners.listedBy(kind, name)
      if (owner === server || owner === undefined) return void this.texts.push(bytes)
      return this.#leave({
        server, rule: 'resource/duplicate', name, reason: `the server ${quote(owner)} lists them too and comes first`,
        alone: `is that of the server ${quote(owner)}, which lists it too and comes first`,
      })
    }
    const table = this.#tables.names[kind]
    const { longest } = this.#limits
    const shown = table.shown(merged, name, longest)
    const claims = table.claims(shown, longest)
    if (claims.length > 1) {
      const others = [...new Set(claims.map(one => one.server))].map(quote).join(', ')
      return this.#leave({
        server, rule: 'tool/duplicate', name, reason: `several claim the names that would be shown: ${others}`,
        alone: `would be shown as ${quote(shown)}, which several claim: ${others}`,
      })
    }
    if (this.isFull) {
      const { profile, tools } = this.#limits
      const reason = `the client (${profile}) takes ${String(tools)} tools of all servers`
      return this.#leave({ server, rule: 'tool/profile', name, reason })
    }
    this.texts.push(shown === name ? bytes : edit(bytes, [{ path: ['name'], replace: JSON.stringify(shown) }]))
  }

  /** Of this page and those before it. */
  get count(): number {
    return this.before + this.texts.length
  }

  /** The client takes no more. */
  get isFull(): boolean {
    return this.#kind === 'tools' && this.count >= this.#limits.tools
  }

  get found(): readonly MergedFinding[] {
    return [...this.#leftOut.values()].map(({ server, rule, reason, alone, names }): MergedFinding => {
      if (names.length === 1 && alone !== undefined) return { server, rule, name: names[0], message: alone }
      return { server, rule, message: leftOut(reason, names) }
    })
  }

  #leave({ name, ...left }: Omit<LeftOut, 'names'> & { readonly name: string }): void {
    const key = `${left.server} ${left.reason}`
    const known = this.#leftOut.get(key)
    if (known === undefined) this.#leftOut.set(key, { ...left, names: [name] })
    else known.names.push(name)
  }
}
