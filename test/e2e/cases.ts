import type { Verdict } from '../../dist/core/policy.js'
import type { RuleName } from '../../dist/core/rule-name.js'
import type { Revision } from '../../dist/protocol/revision.js'

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
  | { readonly error: number; readonly id: string; readonly message?: string }
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
  readonly reactions: readonly Reaction[]
  readonly steps: readonly Step[]
  /** What of it the server gets, after the handshake: lines, in order. */
  readonly forwarded: readonly Expected[]
  /** True when the relay has to ask for lists of its own. */
  readonly lists: boolean
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

const defaults = {
  capabilities: '{}',
  options: [],
  config: undefined,
  reactions: [],
  lists: false,
  also: [],
} as const

export type Given = Partial<Pick<Case, 'capabilities' | 'options' | 'config' | 'also'>>

const metaText = (capabilities: string) =>
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientInfo":{"name":"case","version":"1"},' +
  `"io.modelcontextprotocol/clientCapabilities":${capabilities}}`

/** A request as a client of the revision spells it; `params` without its braces. */
export const request = (revision: Revision, id: string, method: string, params = '', capabilities = '{}'): string => {
  const all = isModern(revision) ? [params, metaText(capabilities)].filter(part => part !== '').join(',') : params
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${all}}}`
}

export const call = (revision: Revision, id: string, name: string, args = '{}', capabilities = '{}'): string =>
  request(revision, id, 'tools/call', `"name":"${name}","arguments":${args}`, capabilities)

export const answer = (id: string, result: string): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`

/** A result as a server of the revision spells it. */
export const result = (revision: Revision, text: string): string =>
  isModern(revision) && !text.includes('"resultType"') ? text.replace('{', text === '{}' ? '{"resultType":"complete"' : '{"resultType":"complete",') : text

export const listResult = (revision: Revision, tools: readonly string[], more = ''): string =>
  result(revision, `{"tools":[${tools.join(',')}]${more}${isModern(revision) ? ',"ttlMs":3600000,"cacheScope":"private"' : ''}}`)

/** An honest tool, to see that others pass while one does not. */
export const honest = '{"name":"honest","description":"Says what it is given.","inputSchema":{"type":"object"}}'

/** The tool of the result cases. */
export const report = (outputSchema?: string): string =>
  `{"name":"report","description":"Reports.","inputSchema":{"type":"object"}${outputSchema === undefined ? '' : `,"outputSchema":${outputSchema}`}}`

const reacting = (when: string, ...say: readonly Act[]): Reaction => ({ when: `"${when}"`, say })

export const on = reacting

const listing = (revision: Revision, tools: readonly string[]): { reaction: Reaction; step: Step } => ({
  reaction: reacting('tools/list', answer('$ID', listResult(revision, tools))),
  step: { send: request(revision, '2', 'tools/list'), gets: [answer('2', listResult(revision, tools))] },
})

/** A case in which the client lists `tools` (they all pass), and then takes the steps. */
export const session = (
  about: Pick<Case, 'name' | 'rule' | 'revision' | 'verdict' | 'event' | 'steps'> &
    Given & { tools?: readonly string[]; reactions: readonly Reaction[]; forwarded?: readonly Expected[] },
): Case => {
  const { tools, forwarded, ...rest } = about
  const list = tools === undefined ? undefined : listing(about.revision, tools)
  const steps = [...(list === undefined ? [] : [list.step]), ...about.steps]
  return {
    ...defaults,
    ...rest,
    reactions: [...about.reactions, ...(list === undefined ? [] : [list.reaction])],
    steps,
    forwarded: [...(list === undefined ? [] : [list.step.send]), ...(forwarded ?? about.steps.map(step => step.send))],
  }
}

/** One tool definition in a list: it passes as it is, or goes, or loses the part that is named (with the comma before it). */
export const definition = (
  rule: RuleName,
  name: string,
  verdict: Verdict,
  tool: string,
  given: Given & { cut?: string; revisions?: readonly Revision[] } = {},
): readonly Case[] => {
  const { cut, revisions = bothEras, ...rest } = given
  return revisions.map(revision => {
    const listed = answer('2', listResult(revision, [honest, tool]))
    return session({
      ...rest,
      name: `${name} (${revision})`,
      rule,
      revision,
      verdict,
      event: 'tools/list',
      reactions: [reacting('tools/list', listed)],
      steps: [
        {
          send: request(revision, '2', 'tools/list'),
          gets: [verdict === 'block' ? listed.replace(cut ?? `,${tool}`, () => '') : listed],
        },
      ],
    })
  })
}

/** One result of a call of `report`. */
export const outcome = (
  rule: RuleName,
  name: string,
  verdict: Verdict,
  about: { outputSchema?: string; result: string; content?: string; path?: string; revisions?: readonly Revision[] } & Given,
): readonly Case[] => {
  const { outputSchema, content = '[]', revisions = bothEras, path, result: text, ...rest } = about
  return revisions.map(revision => {
    const said = answer('7', result(revision, text))
    const made = { id: '7', tool: 'report' }
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
      tools: [report(outputSchema)],
      reactions: [reacting('tools/call', said)],
      steps: [{ send: call(revision, '7', 'report'), gets: [gets] }],
    })
  })
}
