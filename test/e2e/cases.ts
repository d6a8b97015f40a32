import type { Verdict } from '#relay/core/vocabulary.js'
import type { RuleName } from '#relay/rules/index.js'
import type { Revision } from '#relay/protocol/revisions/index.js'

/** What the scripted server does when a line arrives; see test/fixtures/lying/scripted-server.mjs. */
export interface Reaction {
  readonly when: string
  readonly once?: boolean
  readonly say: readonly Act[]
}

export type Act =
  | string
  | { readonly bytes: string }
  | { readonly exit: number }
  | { readonly kill: NodeJS.Signals }
  | { readonly closeOutput: true }

/** One line that a client or a server gets: exactly this text, or something that the relay made. */
export type Expected =
  | string
  /** A JSON-RPC error of ours, to this id as it was spelled. */
  | { readonly error: number; readonly id: string; readonly message?: string | RegExp }
  /** A tool result of ours instead of the server's. */
  | { readonly refused: RuleName; readonly id: string; readonly tool: string; readonly path?: string }
  /** The server's result, turned into an error: these content blocks and our explanation. */
  | { readonly demoted: RuleName; readonly id: string; readonly tool: string; readonly content: string }

export interface Step {
  /** What the client sends: a line. */
  readonly send: string
  /** What it gets before the next step, in this order. */
  readonly gets: readonly Expected[]
}

/**
 * A tool definition as the server lists it, and as the client gets it: the same text, or another, or none.
 */
export interface ListedTool {
  readonly sent: string
  readonly gets: string | undefined
}

/** One rule, broken or kept, on whatever transports. Everything that crosses the wire is spelled out. */
export interface Case {
  /** A sentence. */
  readonly name: string
  readonly rule: RuleName
  readonly revision: Revision
  /** What the client declares, as JSON text. */
  readonly capabilities: string
  readonly options: readonly string[]
  /** A configuration file's content. */
  readonly config: object | undefined
  /**
   * Tools that are in the server's list from the start; undefined when the case has to do with lists itself,
   * and needs a session of its own.
   */
  readonly tools: readonly ListedTool[] | undefined
  readonly reactions: readonly Reaction[]
  readonly steps: readonly Step[]
  /** What of the steps the server gets: lines, in order. */
  readonly forwarded: readonly Expected[]
  readonly verdict: Verdict
  /** The event of the audit record that has the verdict. */
  readonly event: string
  /** Further rules that cannot but be broken along with it. */
  readonly also: readonly RuleName[]
}

export const legacy: Revision = '2025-11-25'
export const modern: Revision = '2026-07-28'
export const bothEras: readonly Revision[] = [legacy, modern]

export const isModern = (revision: Revision): boolean => revision === modern

const defaults = { capabilities: '{}', options: [], config: undefined, reactions: [], also: [] } as const

export type Given = Partial<Pick<Case, 'capabilities' | 'options' | 'config' | 'also'>>

const metaText = (capabilities: string) =>
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientInfo":{"name":"case","version":"1"},' +
  `"io.modelcontextprotocol/clientCapabilities":${capabilities}}`

/** A request as a client of the revision spells it; `params` without its braces. */
export const request = (
  revision: Revision, id: string, method: string, params = '', capabilities = '{}',
): string => {
  const all =
    isModern(revision) ? [params, metaText(capabilities)].filter(part => part !== '').join(',') : params
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${all}}}`
}

export const initializeOf = (id = '1', revision: Revision = legacy, capabilities = '{}'): string => request(
  revision, id, 'initialize',
  `"protocolVersion":"${revision}","capabilities":${capabilities},"clientInfo":{"name":"test","version":"1"}`,
)

export const call =
  (revision: Revision, id: string, name: string, args = '{}', capabilities = '{}'): string =>
    request(revision, id, 'tools/call', `"name":"${name}","arguments":${args}`, capabilities)

export const answer = (id: string, result: string): string =>
  `{"jsonrpc":"2.0","id":${id},"result":${result}}`

/** A result as a server of the revision spells it. */
export const result = (revision: Revision, text: string): string =>
  isModern(revision) && !text.includes('"resultType"')
    ? text.replace('{', text === '{}' ? '{"resultType":"complete"' : '{"resultType":"complete",')
    : text

export const listResult = (revision: Revision, tools: readonly string[], more = ''): string =>
  result(
    revision,
    `{"tools":[${tools.join(',')}]${more}${isModern(revision) ? ',"ttlMs":3600000,"cacheScope":"private"' : ''}}`,
  )

/** An honest tool, to see that others pass while one does not. */
export const honest =
  '{"name":"honest","description":"Says what it is given.","inputSchema":{"type":"object"}}'

/** A tool with an output schema, or none. */
export const report = (outputSchema?: string, name = 'report'): string =>
  `{"name":"${name}","description":"Reports.","inputSchema":{"type":"object"}${outputSchema === undefined ? '' : `,"outputSchema":${outputSchema}`}}`

/** What the server says to a method. */
export const on = (method: string, ...say: readonly Act[]): Reaction => ({ when: `"${method}"`, say })

/** A tool that passes. */
export const kept = (tool: string): ListedTool => ({ sent: tool, gets: tool })

/** A session in which `tools` are listed, if there are any, and the client takes the steps. */
export const session = (
  about: Pick<Case, 'name' | 'rule' | 'revision' | 'verdict' | 'event' | 'steps' | 'reactions'>
    & Given & { tools?: readonly (string | ListedTool)[]; forwarded?: readonly Expected[] },
): Case => {
  const { tools, forwarded, ...rest } = about
  return {
    ...defaults,
    ...rest,
    tools: tools?.map(tool => (typeof tool === 'string' ? kept(tool) : tool)),
    forwarded: forwarded ?? about.steps.map(step => step.send),
  }
}

// Cases share sessions: no two of them may list tools of one name.
let count = 0

/**
 * One tool definition in a list: it passes as it is, or goes, or loses the part that is named, or has it made
 * into another.
 */
export const definition = (
  rule: RuleName,
  name: string,
  verdict: Verdict,
  tool: string,
  given: Given & { cut?: string; made?: string; revisions?: readonly Revision[] } = {},
): readonly Case[] => {
  const { cut, made = '', revisions = bothEras, ...rest } = given
  const sent = tool.replace('"suspect"', () => `"suspect_${(count += 1)}"`)
  const gets = cut !== undefined ? sent.replace(cut, () => made) : verdict === 'block' ? undefined : sent
  return revisions.map(revision =>
    session({
      ...rest, name: `${name} (${revision})`, rule, revision, verdict, event: 'tools/list',
      tools: [{ sent, gets }], reactions: [], steps: [],
    }),
  )
}

/** One result of a call of a tool with this output schema. */
export const outcome = (
  rule: RuleName,
  name: string,
  verdict: Verdict,
  about: {
    outputSchema?: string; result: string; content?: string; path?: string; revisions?: readonly Revision[]
  } & Given,
): readonly Case[] => {
  const { outputSchema, content = '[]', revisions = bothEras, path, result: text, ...rest } = about
  const tool = `report_${(count += 1)}`
  return revisions.map(revision => {
    const said = answer('7', result(revision, text))
    const made = { id: '7', tool }
    const gets: Expected =
      verdict === 'block' ? { ...made, refused: rule, ...(path !== undefined && { path }) }
        : verdict === 'demote' ? { ...made, demoted: rule, content }
          : said
    return session({
      ...rest,
      name: `${name} (${revision})`,
      rule,
      revision,
      verdict,
      event: 'tools/call',
      tools: [report(outputSchema, tool)],
      reactions: [on('tools/call', said)],
      steps: [{ send: call(revision, '7', tool), gets: [gets] }],
    })
  })
}
