import { maxListedCharacters } from './resources.js'
import { createHash } from 'node:crypto'

/** A server behind the merged endpoint. */
export interface MergedServer {
  readonly name: string
  /** Stands before the names of its tools and prompts; empty for one server at most. */
  readonly prefix: string
}

/** How names are shown at the merged endpoint. */
export interface Naming {
  readonly separator: string
  /** The longest name that clients take, in characters. */
  readonly longest: number
}

/** Characters of a name that model APIs take (docs/profiles.md). */
export const usualLongest = 64

/** Digits that tell shortened names apart, as in profiles. */
const digits = 12

/**
 * The name under which a tool or prompt is shown. It is made from configuration and name alone, so that it is
 * the same in every session and after every restart.
 */
export const mergedName = (
  { prefix }: Pick<MergedServer, 'prefix'>, name: string, { separator, longest }: Naming,
): string => {
  const whole = prefix === '' ? name : `${prefix}${separator}${name}`
  if (whole.length <= longest) return whole
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, digits)
  // The cut may not leave half a surrogate pair behind.
  return `${whole.slice(0, longest - digits - 1).replace(/[\ud800-\udbff]$/, '')}_${digest}`
}

/** Whether a tool of this server could be shown under a name. False for most servers, so nobody asks them. */
export const mayShow = ({ prefix }: MergedServer, shown: string, { separator, longest }: Naming): boolean =>
  prefix === '' || shown.startsWith(`${prefix}${separator}`.slice(0, longest - digits - 1))

/** A tool or prompt of a server, as the server names it. */
export interface MergedTarget {
  readonly server: string
  readonly name: string
}

/**
 * The shown names of tools, or of prompts, by the lists that the servers gave last. Calls are routed by this
 * table and a shown name is never split: `a` with `b__c`, and `a__b` with `c`, are both `a__b__c`.
 */
export class NameTable {
  readonly #naming: Naming
  #servers: readonly MergedServer[] = []
  /** By server: its names by their shown names. They stay while it is down: nobody takes them over. */
  readonly #names = new Map<string, ReadonlyMap<string, string>>()

  constructor(naming: Naming) {
    this.#naming = naming
  }

  /** Names of a server that is gone are forgotten. */
  offer(servers: readonly MergedServer[]): void {
    this.#servers = servers
    for (const name of this.#names.keys()) {
      if (!servers.some(server => server.name === name)) this.#names.delete(name)
    }
  }

  shown(server: MergedServer, name: string): string {
    return mergedName(server, name, this.#naming)
  }

  /** @param adds the list's further pages: names from before stay */
  set(server: MergedServer, names: readonly string[], adds = false): void {
    const kept = new Map(adds ? this.#names.get(server.name) : [])
    let characters = [...kept.values()].reduce((sum, { length }) => sum + length, 0)
    for (const name of names) {
      if ((characters += name.length) > maxListedCharacters) break
      kept.set(this.shown(server, name), name)
    }
    this.#names.set(server.name, kept)
  }

  /** The servers that claim a shown name. With more than one, it is nobody's. */
  claims(shown: string): readonly MergedTarget[] {
    return this.#servers.flatMap(({ name: server }) => {
      const name = this.#names.get(server)?.get(shown)
      return name === undefined ? [] : [{ server, name }]
    })
  }

  /** The servers that could show a name, as far as their prefixes tell. */
  couldShow(shown: string): readonly string[] {
    return this.#servers.filter(server => mayShow(server, shown, this.#naming)).map(({ name }) => name)
  }
}
