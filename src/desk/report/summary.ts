import type { Danger } from '#relay/core/danger.js'

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
  /** Of this program. */
  readonly version: string
  /** How messages end: verdicts by severity, ascending, and `lost`. The order of counts by verdict. */
  readonly verdicts: readonly string[]
  /** The periods that all counts over time refer to. */
  readonly periods: Periods
  /** What each rule means that is named in the page, and what to do about its findings. */
  readonly rules: Readonly<Record<string, RuleWords>>
  /** Files and folders that were read, as the operator named them. */
  readonly places: readonly string[]
  /** All servers together. */
  readonly all: GroupSummary
  /** The busiest first. */
  readonly servers: readonly GroupSummary[]
  /** Messages that were blocked or demoted, in groups; the newest first. */
  readonly held: Rows<HeldGroup>
  /** Results that passed as they are, and that strict clients refuse. */
  readonly refused: Rows<HeldGroup>
  readonly sessions: Rows<SessionRow>
  /** Servers that failed; the latest first. */
  readonly health: readonly HealthRow[]
  /** The tools, prompts, templates and instructions with findings; the most dangerous first. */
  readonly offers: Rows<OfferRow>
  /** By server: name and version that it gives itself. */
  readonly programs: readonly (readonly [server: string, program: string])[]
  /** Servers that print lines to stdout that are no messages, which are dropped. */
  readonly noise: readonly { readonly server: string; readonly lines: number }[]
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
  /** Calls that were answered with a JSON-RPC error. */
  readonly errors: number
  readonly findings: number
  readonly sessions: number
  /** Calls by verdict, and then the number of other messages that were held back. */
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

export interface Periods {
  /** Start of the first, in milliseconds since 1970. */
  readonly from: number
  /** Length of each, in milliseconds. */
  readonly step: number
  readonly count: number
}

/** For each period with something in it: its index, then its numbers. */
export type SeriesSummary = readonly (readonly number[])[]

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
  /** Its name at the merged endpoint. */
  readonly shown: string | undefined
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

/** Messages of a server that were held back for the same reason. */
export interface HeldGroup {
  readonly server: string
  /** The tool, or the event of other messages; empty for several that there was no room to tell apart. */
  readonly subject: string
  readonly verdict: string
  /** Empty when the message was held back without a finding. */
  readonly rule: string
  /** Where the finding is, with `*` for positions in lists; `…` for several. */
  readonly path: string
  /** Whose mistake it is; undefined where nobody made one. */
  readonly fault: FaultSummary | undefined
  readonly danger: Danger
  /**
   * True when the rule was relaxed, or the tool has given good results since, in another session or for an
   * hour, and for longer than it used to between two such messages.
   */
  readonly isResolved: boolean
  /** What stood there, redacted, and what was declared; JSON. */
  readonly got: string | undefined
  readonly declared: string | undefined
  readonly count: number
  readonly first: number
  readonly last: number
  readonly series: SeriesSummary
  readonly clients: readonly string[]
  /** The newest of these messages. */
  readonly newest: RecordSummary
}

export type FaultSummary = 'server' | 'client' | 'configuration'

/** A record. Texts are cut, and made safe to show. */
export interface RecordSummary {
  readonly time: number
  readonly reason: string
  readonly findings: readonly string[]
  /** Names and values, such as the id and digests. */
  readonly facts: readonly (readonly [string, string])[]
  /** The command that shows this record. */
  readonly command: string
}

export interface RuleWords {
  /** What happened, in a sentence. */
  readonly means: string
  /** What the reader can do; what stands between backquotes can be copied. */
  readonly next: readonly string[]
  /** Advice to the author. */
  readonly help: string
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

export interface HealthRow {
  readonly server: string
  /** What happened last, by the name that records have for it, and in words. */
  readonly health: string
  readonly reason: string
  /** The last lines that it wrote to stderr. */
  readonly stderr: readonly string[]
  /** Whether it has not answered since. */
  readonly isDown: boolean
  /** Whether its process is ours: a remote server is not started again. */
  readonly isProcess: boolean
  /** How often it failed. */
  readonly count: number
  readonly first: number
  readonly last: number
  readonly series: SeriesSummary
}

/** A text of a definition: as it was accepted or first listed, and as it is now. */
export interface ChangedText {
  readonly path: string
  /** Undefined for a text that is new, or that was not kept. */
  readonly before: string | undefined
  readonly after: string
}

/** A tool, prompt or resource with findings. The most dangerous finding of the newest list is told. */
export interface OfferRow {
  readonly server: string
  /** Empty for a finding about the whole list. */
  readonly name: string
  readonly kind: 'tool' | 'prompt' | 'resource'
  readonly rule: string
  readonly fault: FaultSummary | undefined
  readonly danger: Danger
  /** In what is named, or else in the message. */
  readonly path: string
  readonly message: string
  readonly changes: readonly ChangedText[]
  /** All findings, in words. */
  readonly findings: readonly string[]
  readonly revision: string | undefined
  /** Whether clients do not get it because of this finding. */
  readonly isMissing: boolean
  /** True for a tool that was not accepted before. */
  readonly isNew: boolean
  /** True when each client that found it has listed the tools since without a finding. */
  readonly isResolved: boolean
  /** How many lists had it, and in how many of them clients did not get it. */
  readonly count: number
  readonly missing: number
  readonly first: number
  readonly last: number
  readonly series: SeriesSummary
}

export interface LogRow {
  readonly ok: boolean
  /** The line that `audit verify` prints. */
  readonly text: string
}

/** A summary in parts, by name: a live page is sent only those that have changed. */
export type Parts = ReadonlyMap<string, unknown>

const ofServer = 'server '

const alone = ['all', 'held', 'refused', 'sessions', 'health', 'offers', 'noise', 'programs', 'rules'] as const
type Lists = Pick<Summary, (typeof alone)[number]>
type Head = Omit<Summary, 'servers' | keyof Lists>

export const summaryParts = (summary: Summary): Parts => {
  const head = Object.entries(summary).filter(([name]) => !alone.some(one => one === name))
  return new Map<string, unknown>([
    ['reading', null],
    ['head', { ...Object.fromEntries(head), servers: summary.servers.map(({ server }) => server) }],
    ...alone.map(name => [name, summary[name]] as const),
    ...summary.servers.map(group => [`${ofServer}${group.server ?? ''}`, group] as const),
  ])
}

/** @returns undefined before the first part came */
export const windowSummary = (parts: Parts): Summary | undefined => {
  const head = parts.get('head') as (Head & { readonly servers: readonly string[] }) | undefined
  if (head === undefined) return undefined
  const lists = Object.fromEntries(alone.map(name => [name, parts.get(name)]))
  const servers = head.servers.flatMap(name => {
    const group = parts.get(`${ofServer}${name}`)
    return group === undefined ? [] : [group as GroupSummary]
  })
  return { ...head, servers, ...lists as Lists }
}

/** How much of the logs was read, in bytes, while a page has no totals yet. */
export interface ReadingProgress {
  readonly done: number
  readonly total: number
  readonly places: readonly string[]
}

/** The parts of a page before everything was read: no number in it could be right. */
export const partsOfReading = (reading: ReadingProgress): Parts => new Map([['reading', reading]])
