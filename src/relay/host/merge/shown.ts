import { edit } from '#relay/protocol/edit.js'
import { quote } from '#relay/protocol/quote.js'
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

/** Tools that are named in one finding. */
const maxNamed = 20

/** The elements of a merged list, as its client gets them. */
export class ShownItems {
  readonly texts: Buffer[] = []
  readonly #found: MergedFinding[] = []
  readonly #kind: ListKind
  readonly #tables: ShownTables
  readonly #limits: Asking['limits']
  /** By server: tools beyond the number that the client takes. */
  readonly #surplus = new Map<string, string[]>()

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
      const message = `is that of the server ${quote(owner)}, which lists it too and comes first`
      return void this.#found.push({ server, rule: 'resource/duplicate', name, message })
    }
    const table = this.#tables.names[kind]
    const { longest } = this.#limits
    const shown = table.shown(merged, name, longest)
    const claims = table.claims(shown, longest)
    if (claims.length > 1) {
      const others = new Set(claims.map(one => one.server))
      const message = `would be shown as ${quote(shown)}, which several claim: ${[...others].map(quote).join(', ')}`
      return void this.#found.push({ server, rule: 'tool/duplicate', name, message })
    }
    if (this.isFull) {
      const surplus = this.#surplus.get(server) ?? []
      surplus.push(name)
      return void this.#surplus.set(server, surplus)
    }
    this.texts.push(shown === name ? bytes : edit(bytes, [{ path: ['name'], replace: JSON.stringify(shown) }]))
  }

  /** Of this page and those before it. */
  get count(): number {
    return this.before + this.texts.length
  }

  /** The client takes no more. */
  get isFull(): boolean {
    return this.#kind === 'tools' && this.count >= (this.#limits.tools ?? Infinity)
  }

  get found(): readonly MergedFinding[] {
    const { profile, tools } = this.#limits
    return [...this.#found, ...[...this.#surplus].map(([server, names]): MergedFinding => ({
      server, rule: 'tool/profile',
      message: `the client (${profile}) takes ${String(tools)} tools of all servers, so ${names.length} are ` +
        `left out: ${names.slice(0, maxNamed).map(quote).join(', ')}${names.length > maxNamed ? ', …' : ''}`,
    }))]
  }
}
