import type { Json, JsonObject } from '#relay/protocol/json.js'
import type { Revision } from '#relay/protocol/revisions/index.js'
import type {
  Accepted, Checked, Entry, Identity, Policy, Rule, RuleName, Shapes, SharedOptions, Subject,
} from './vocabulary.js'
import type { CallRates } from './call-rates.js'
import type { Ledger } from './memory.js'
import type { Implementation } from './terms.js'

/** The operator's settings for one tool. */
export interface ToolSetting {
  readonly denied: boolean
  /** The rules that careless servers break (`Rule.relaxed`) are mended for it, whatever the policy says. */
  readonly relaxed?: boolean | undefined
  /** A client sees and may call the tool only with these scopes; undefined: any client may. */
  readonly scopes?: readonly string[] | undefined
  /** Replaces the server's schema, in the client's list too. */
  readonly outputSchema: JsonObject | boolean | undefined
  /** Each whole result must match this schema, which clients do not see. */
  readonly resultSchema?: JsonObject | boolean | undefined
  /** JSON in the text of a result becomes its structured content, if it matches the output schema. */
  readonly structured?: 'from-text' | undefined
  /** Merged over the server's annotations. */
  readonly annotations: JsonObject | undefined
  /** In place of the server's words, in the client's list; the lock and the rules judge the server's. */
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Members of properties of the input schema, shown in the place of the server's. */
  readonly inputSchema?: {
    readonly properties: Readonly<Record<string, Readonly<Record<string, Json>>>>
  } | undefined
  /** Longest wait for the response to a call, in milliseconds; undefined: that of every request. */
  readonly timeoutMs?: number | undefined
  /** Calls that each client may make within a minute. */
  readonly callsPerMinute?: number | undefined
  /** Longest result, in bytes of its JSON text. */
  readonly resultBytes?: number | undefined
}

/** The key of the settings of every tool. */
export const everyTool = '*'

/** The settings of a tool: its own, over those of every tool. What is denied to every tool stays denied. */
export const settingOf = (
  { tools }: Pick<Ruling, 'tools'>, name: string,
): ToolSetting | undefined => {
  const [own, every] = [tools.get(name), tools.get(everyTool)]
  return own === undefined ? every : withWider(own, every)
}

/** Settings over those of a wider name. What the wider one denies stays denied. */
export const withWider = (own: ToolSetting, wider: ToolSetting | undefined): ToolSetting =>
  (wider === undefined || wider === own ? own : {
    ...wider, ...own,
    denied: own.denied || wider.denied,
    outputSchema: own.outputSchema ?? wider.outputSchema,
    annotations: own.annotations ?? wider.annotations,
  })

/** Patterns of names of tools; `*` stands for any characters, also none. */
export interface Patterns {
  /** All other tools are denied; undefined: none is. */
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
}

/** The patterns for some clients. A client matches if it has all that is named; without names, any does. */
export interface ClientPatterns extends Patterns {
  readonly match: {
    /** A pattern for the name in `clientInfo`, which the client chooses itself. */
    readonly name?: string | undefined
    /** The name of its configured token. */
    readonly token?: string | undefined
    /** The subject of its OAuth token; undefined `issuer`: any. */
    readonly subject?: { readonly issuer?: string | undefined; readonly subject: string } | undefined
  }
}

export interface NamePatterns extends Patterns {
  /** Lists whose first matching entry denies further tools; no entry allows what is denied elsewhere. */
  readonly clients?: readonly (readonly ClientPatterns[])[] | undefined
}

/** Whether the operator denies a tool to a client: by the tool's setting, or by patterns. */
export const isDenied = (
  { ruling, options: { peer } }: JudgedSession, name: string, client: Implementation | undefined,
): boolean => {
  if (settingOf(ruling, name)?.denied === true) return true
  const { names } = ruling
  return names !== undefined && (
    refuses(names, name)
    || names.clients?.some(list => {
      const entry = list.find(({ match }) => isMatch(match, client, peer?.subject))
      return entry !== undefined && refuses(entry, name)
    }) === true
  )
}

const refuses = ({ allow, deny }: Patterns, name: string): boolean =>
  deny?.some(pattern => fits(name, pattern)) === true || allow?.some(pattern => fits(name, pattern)) === false

const isMatch = (
  { name, token, subject }: ClientPatterns['match'], client: Implementation | undefined,
  identity: Identity | undefined,
): boolean =>
  (name === undefined || (client !== undefined && fits(client.name, name)))
  && (token === undefined || identity?.name === token)
  && (subject === undefined || (
    identity?.issuer !== undefined && identity.subject === subject.subject
    && (subject.issuer === undefined || identity.issuer === subject.issuer)
  ))

/** Whether a name fits a pattern, in a time that is linear in both: the server chooses the name. */
export const fits = (name: string, pattern: string): boolean => {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === pattern
  const end = name.length - last.length
  let at = first.length
  if (at > end || !name.startsWith(first) || !name.endsWith(last)) return false
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= end
}

/**
 * Whether a token grants all the scopes that something needs.
 * @param scopes undefined: scopes are not checked
 */
export const grants = (scopes: readonly string[] | undefined, needed: readonly string[] = []): boolean =>
  scopes === undefined || needed.every(scope => scopes.includes(scope))

/** Rules that block the frames of clients under any policy where access is restricted. */
export const accessRules: readonly RuleName[] = ['wire/json', 'wire/json-rpc', 'wire/ambiguous']

/**
 * Whether the operator restricts who may call which tool: by tokens, scopes, or names. There, a frame of the
 * client that a lenient server could read as a call passes only where the relay reads it too.
 * @param scopes see `Envelope`
 */
export const restrictsAccess = (
  { ruling: { names, tools }, options: { peer } }: JudgedSession,
  scopes: readonly string[] | undefined,
): boolean =>
  scopes !== undefined || names !== undefined || peer?.token !== undefined || peer?.subject !== undefined
  || [...tools.values()].some(({ denied, scopes: needed }) => denied || needed !== undefined)

/** What the operator may change while sessions run. */
export interface Ruling {
  readonly policy: Policy
  readonly tools: ReadonlyMap<string, ToolSetting>
  /** Which tools clients may see and call, by their names; undefined: all. */
  readonly names?: NamePatterns | undefined
  /** How clients are shown the tools; undefined: as the server declares them. */
  readonly shapes?: Shapes | undefined
}

/**
 * How the messages of a server are judged: made once of the configuration and the flags, and handed on as it
 * is. The features that decide reach the core here: `rules` (with their mends), `accepted` (the lock),
 * `shapes` (the profiles).
 */
export interface Judgement {
  /** The server's name in the configuration; never `serverInfo.name`, which the server chooses itself. */
  readonly server: string
  /** Read at each use: it is another one after the operator has changed it. */
  readonly ruling: Ruling
  /** In the order in which findings are reported. */
  readonly rules: readonly Rule[]
  readonly trusted: boolean
  /** Undefined without a lock. */
  readonly accepted?: Accepted | undefined
  /** Counts the calls of all sessions of a server; undefined: of this session only. */
  readonly rates?: CallRates | undefined
  /** The oldest revision that a client or server may speak; undefined: any. */
  readonly minRevision?: Revision | undefined
  /** The name under which the merged endpoint shows a tool; undefined: there is none. */
  readonly mergedName?: ((tool: string, client: Implementation | undefined) => string) | undefined
  readonly limits: {
    /** Longest wait for the relay's own `tools/list`, in milliseconds. */
    readonly listMs: number
    /** Longest wait for a response, in milliseconds; 0: no limit. */
    readonly requestMs: number
    /** Most tools of a list. */
    readonly tools: number
  }
  /** Findings kept for one frame; undefined: as many as fit into a record. */
  readonly maxFindings?: number | undefined
  /** Records a call before it is sent, so that a crash leaves none unrecorded. */
  readonly intent: boolean
}

/** What the client of a session may see depends on the ruling of now, and on who it is. */
type JudgedSession = Pick<Judgement, 'ruling'> & { readonly options: Pick<RelayOptions, 'peer'> }

/** The relay of one session. Captures record options, events and effects from outside. */
export interface RelayOptions {
  readonly judgement: Judgement
  readonly session: string
  /** The network peer that began the session, if known. */
  readonly peer?: Entry['peer']
  /** Unguessable seed for the ids of relay-made requests. */
  readonly nonce: string
  /** HTTP without a session: ids are unique within an exchange only, and the handshake may not be known. */
  readonly stateless: boolean
  /** The session began at another replica or before a restart: its handshake is not known. */
  readonly joined?: boolean
  /** What the handshake has agreed (`termsData`), where another relay saw it and this one is told. */
  readonly agreed?: JsonObject | undefined
  /** Other replicas serve the session as well; undefined: only this relay is known to. */
  readonly shared?: SharedOptions | undefined
  /** The parent account of this session's memory; undefined: one for all sessions of the process. */
  readonly ledger?: Ledger | undefined
  /** Replicas count calls together; `rates` counts while they cannot. */
  readonly sharedCounts?: boolean | undefined
  /** Emits `observe` for each finished request, for metrics or traces. */
  readonly observed?: boolean
  /** The engine's verdict for a cheap check; undefined: the effect `check` asks for it. */
  readonly checkNow: (subject: Subject) => Checked | undefined
}
