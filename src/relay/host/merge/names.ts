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
  /** The longest name that the client takes, in characters. */
  readonly longest: number
}

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
  #separator = ''
  #servers: readonly MergedServer[] = []
  /** By server. They stay while it is down: nobody takes them over. */
  readonly #names = new Map<string, ReadonlySet<string>>()
  /** By the longest name that clients take: who claims a shown name. Made when somebody asks. */
  readonly #claims = new Map<number, ReadonlyMap<string, readonly MergedTarget[]>>()

  /** Names of a server that is gone are forgotten. */
  offer(servers: readonly MergedServer[], separator: string): void {
    this.#servers = servers
    this.#separator = separator
    this.#claims.clear()
    for (const name of this.#names.keys()) {
      if (!servers.some(server => server.name === name)) this.#names.delete(name)
    }
  }

  shown(server: MergedServer, name: string, longest: number): string {
    return mergedName(server, name, { separator: this.#separator, longest })
  }

  /** @param adds the list's further pages: names from before stay */
  set(server: string, names: readonly string[], adds: boolean): void {
    this.#names.set(server, keptNames(adds ? this.#names.get(server) : undefined, names))
    this.#claims.clear()
  }

  /** The servers that claim a shown name. With more than one, it is nobody's. */
  claims(shown: string, longest: number): readonly MergedTarget[] {
    const known = this.#claims.get(longest) ?? this.#claimsFor(longest)
    return known.get(shown) ?? []
  }

  #claimsFor(longest: number): ReadonlyMap<string, readonly MergedTarget[]> {
    const made = new Map<string, MergedTarget[]>()
    for (const server of this.#servers) {
      for (const name of this.#names.get(server.name) ?? []) {
        const shown = this.shown(server, name, longest)
        const others = made.get(shown)
        if (others === undefined) made.set(shown, [{ server: server.name, name }])
        else others.push({ server: server.name, name })
      }
    }
    this.#claims.set(longest, made)
    return made
  }

  /** The servers that could show a name, as far as their prefixes tell. */
  couldShow(shown: string, longest: number): readonly string[] {
    const naming = { separator: this.#separator, longest }
    return this.#servers.filter(server => mayShow(server, shown, naming)).map(({ name }) => name)
  }
}

/** Most characters of names that are kept of one server's lists. */
const maxListedCharacters = 8 * 1024 * 1024

/** @param before names that stay */
export const keptNames = (
  before: ReadonlySet<string> = new Set(), names: readonly string[],
): ReadonlySet<string> => {
  const kept = new Set(before)
  let characters = [...kept].reduce((sum, { length }) => sum + length, 0)
  for (const name of names) {
    if ((characters += name.length) > maxListedCharacters) break
    kept.add(name)
  }
  return kept
}
