/** The data of a page, as JSON. All texts and lists in it are bounded. */
export interface Summary {
  /** All times are milliseconds since 1970. */
  readonly made: number
  /** Times of the first and the last record; undefined when there is none. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly records: number
  /** Lines that are not records. */
  readonly unreadable: number
  /** By severity, ascending: the order of all counts by verdict. */
  readonly verdicts: readonly string[]
  /** The order of all counts by family. */
  readonly families: readonly string[]
  /** All servers together. */
  readonly all: GroupSummary
  /** The busiest first. */
  readonly servers: readonly GroupSummary[]
  readonly held: Rows<Held>
  readonly sessions: Rows<SessionRow>
  /** Findings about the tools, prompts, templates and instructions of servers. */
  readonly offers: Rows<OfferRow>
  /** Undefined on a live page, which does not verify the chain of hashes. */
  readonly logs: readonly LogRow[] | undefined
}

export interface Rows<Row> {
  readonly rows: readonly Row[]
  /** How many are not in `rows`. */
  readonly left: number
}

/** A number for each verdict. */
export type Counts = readonly number[]

export interface GroupSummary {
  /** Undefined for all servers together. */
  readonly server: string | undefined
  readonly calls: Counts
  /** All other messages on record, without the start and end of sessions. */
  readonly messages: Counts
  /** Calls that were answered with a JSON-RPC error. */
  readonly errors: number
  readonly findings: number
  readonly sessions: number
  readonly series: SeriesSummary
  /** Of calls: milliseconds in the relay, and at the server. */
  readonly relay: Spread
  readonly upstream: Spread
  /** Of calls: bytes. */
  readonly request: Spread
  readonly response: Spread
  readonly tools: Rows<ToolRow>
  readonly rules: Rows<RuleRow>
}

/** Counts over time. */
export interface SeriesSummary {
  /** Start of the first period, and length of each. */
  readonly from: number
  readonly step: number
  /** Calls by verdict, a row for each period. */
  readonly calls: readonly Counts[]
  /** Findings by family, without removed annotations; a row for each period. */
  readonly findings: readonly (readonly number[])[]
}

/** A distribution of values; quantiles are within 2 %. */
export interface Spread {
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly most: number
  /** Start of a class of values, and how many are in it; a class ends at about 1.3 times its start. */
  readonly classes: readonly (readonly [number, number])[]
}

export interface ToolRow {
  readonly server: string
  readonly tool: string
  readonly calls: Counts
  readonly findings: number
  readonly errors: number
  readonly relay: Quantiles
  readonly upstream: Quantiles
  readonly response: Quantiles
}

export type Quantiles = Pick<Spread, 'count' | 'p50' | 'p95' | 'p99' | 'most'>

export interface RuleRow {
  readonly rule: string
  readonly findings: number
  /** Records that have a finding of the rule, by verdict. */
  readonly records: Counts
  readonly last: number
}

export interface Held {
  readonly time: number
  readonly server: string
  readonly subject: string
  readonly verdict: string
  readonly client: string
  readonly session: string
  readonly reasons: readonly string[]
}

export interface SessionRow {
  readonly server: string
  readonly session: string
  readonly client: string
  readonly revision: string
  /** Undefined when the record of the start is missing. */
  readonly started: number | undefined
  readonly last: number
  /** Why the session ended; undefined while it is open. */
  readonly ended: string | undefined
  readonly calls: number
  readonly held: number
  readonly findings: number
}

export interface OfferRow {
  readonly server: string
  readonly rule: string
  readonly path: string
  readonly message: string
  readonly times: number
  readonly last: number
}

export interface LogRow {
  readonly ok: boolean
  /** The line that `audit verify` prints. */
  readonly text: string
}

/** A summary in parts, by name: a live page is sent only those that have changed. */
export type Parts = ReadonlyMap<string, unknown>

const ofServer = 'server '

type Lists = Pick<Summary, 'all' | 'held' | 'sessions' | 'offers'>
type Head = Omit<Summary, 'servers' | keyof Lists>

export const partsOf = ({ servers, all, held, sessions, offers, ...head }: Summary): Parts =>
  new Map<string, unknown>([
    ['head', { ...head, servers: servers.map(({ server }) => server) }],
    ['all', all],
    ['held', held],
    ['sessions', sessions],
    ['offers', offers],
    ...servers.map(group => [`${ofServer}${group.server ?? ''}`, group] as const),
  ])

/** @returns undefined before the first part came */
export const summaryOf = (parts: Parts): Summary | undefined => {
  const head = parts.get('head') as (Head & { readonly servers: readonly string[] }) | undefined
  if (head === undefined) return undefined
  const lists = Object.fromEntries(['all', 'held', 'sessions', 'offers'].map(name => [name, parts.get(name)]))
  const servers = head.servers.flatMap(name => {
    const group = parts.get(`${ofServer}${name}`)
    return group === undefined ? [] : [group as GroupSummary]
  })
  return { ...head, servers, ...lists as Lists }
}
