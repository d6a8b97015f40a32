/** What a page shows, as JSON: all that was counted, and the newest of what was not only counted. Nothing in it is longer than it says. */
export interface Summary {
  /** Milliseconds since 1970, as all times here. */
  readonly made: number
  /** Of the first and the last record; undefined when there is none. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly records: number
  /** Lines that are no records. */
  readonly unreadable: number
  /** From the mildest to the severest: the order of all counts by verdict. */
  readonly verdicts: readonly string[]
  /** The order of all counts by family. */
  readonly families: readonly string[]
  /** Of all servers. */
  readonly all: GroupSummary
  /** The busiest first. */
  readonly servers: readonly GroupSummary[]
  readonly held: Rows<Held>
  readonly sessions: Rows<SessionRow>
  /** What was found in what servers offer: tools, prompts, templates, instructions. */
  readonly offers: Rows<OfferRow>
  /** Undefined where nobody looked at the chain. */
  readonly logs: readonly LogRow[] | undefined
}

export interface Rows<Row> {
  readonly rows: readonly Row[]
  /** How many there are besides. */
  readonly left: number
}

/** How many of each verdict. */
export type Counts = readonly number[]

export interface GroupSummary {
  /** Undefined: of all servers, or of those that are too many to be told apart. */
  readonly server: string | undefined
  readonly calls: Counts
  /** All else that is on record, sessions aside. */
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
  /** When the first period begins, and how long each is. */
  readonly from: number
  readonly step: number
  /** Calls by verdict, a row for each period. */
  readonly calls: readonly Counts[]
  /** Findings by family, but for annotations that were removed; a row for each period. */
  readonly findings: readonly (readonly number[])[]
}

/** How values are spread; quantiles are within 2 %. */
export interface Spread {
  readonly count: number
  readonly sum: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly most: number
  /** Where a class of values begins, and how many are in it; each reaches 30 % further than it begins. */
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
  /** Records that have such a finding, by their verdict. */
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
  /** Undefined where the record of its start is not there. */
  readonly started: number | undefined
  readonly last: number
  /** Why it ended; undefined while it is open. */
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
  readonly verdict: string
  readonly times: number
  readonly first: number
  readonly last: number
}

export interface LogRow {
  readonly ok: boolean
  /** In one line, as `audit verify` says it. */
  readonly text: string
}
