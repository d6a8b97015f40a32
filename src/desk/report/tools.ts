import { byDanger, type Danger, dangerOf, ranked } from '#relay/core/danger.js'
import type { LoggedFinding, LogRecord } from '#relay/audit/read/record.js'
import { explained } from '#relay/rules/index.js'
import { type Style, wrapText } from '#desk/terminal/style.js'
import { changesIn, removedAnnotations, shownText, shownName } from './sentence.js'
import { clockOf, countText, dayOf } from './units.js'

/** A tool of the last list of a server. */
interface ToolState {
  /** Its name at the merged endpoint. */
  readonly shown?: string | undefined
  /** `missing`: clients do not get it; `changed`: they get it other than the server lists it. */
  readonly state: 'same' | 'changed' | 'missing'
  /** Why, the most dangerous first, without removed annotations. */
  readonly findings: readonly LoggedFinding[]
  readonly lostAnnotations: boolean
}

/** What clients saw of a server when they listed its tools last. */
export interface ServerTools {
  readonly server: string
  readonly client: string | undefined
  readonly time: number
  /** In the order of the list; the missing ones last. */
  readonly tools: ReadonlyMap<string, ToolState>
  /** Tools beyond those that a record names. */
  readonly more: number
  /** Findings about the list as a whole. */
  readonly others: readonly LoggedFinding[]
}

interface Listed {
  readonly session: string
  time: number
  readonly client: string | undefined
  readonly tools: Map<string, ToolState>
  readonly others: LoggedFinding[]
  more: number
}

/** Most tools of a server that are kept. */
const maxTools = 5000

/** Gathers the last list of tools of each server; its pages are records of one session. */
export class LastTools {
  readonly #servers = new Map<string, Listed>()
  /** What the merged endpoint has left out of the last list of each server. */
  readonly #merged = new Map<string, Pick<LogRecord, 'time' | 'findings'>>()

  /** Takes records in the order of time. */
  take(record: LogRecord): void {
    const { event, from, server, session, time, client, tools, shownTools, moreTools, findings } = record
    if (event !== 'tools/list') return
    if (tools === undefined) {
      if (from === 'relay' && session === '') this.#merged.set(server, { time, findings })
      return
    }
    const last = this.#servers.get(server)
    const listed = last?.session === session
      ? Object.assign(last, { time })
      : { session, time, client, tools: new Map<string, ToolState>(), others: [], more: 0 }
    this.#servers.set(server, listed)
    // A list that is read again replaces what was known of its tools.
    listed.others.splice(0)
    listed.more = moreTools
    const about = new Map<string, LoggedFinding[]>(tools.map(name => [name, []]))
    for (const finding of findings) {
      if (finding.tool === undefined) listed.others.push(finding)
      else about.set(finding.tool, [...(about.get(finding.tool) ?? []), finding])
    }
    const delivered = new Set(tools)
    const shown = new Map(tools.map((name, at) => [name, shownTools?.[at]] as const))
    for (const [name, all] of [...about].slice(0, maxTools)) {
      const reasons = ranked(all.filter(({ rule }) => rule !== removedAnnotations))
      const isChanged = reasons.some(({ mended, rule }) => mended !== undefined || rule === 'tool/drift')
      listed.tools.delete(name)
      listed.tools.set(name, {
        shown: shown.get(name),
        state: delivered.has(name) ? (isChanged ? 'changed' : 'same') : 'missing',
        findings: reasons, lostAnnotations: reasons.length < all.length,
      })
    }
  }

  /** By name. */
  get servers(): readonly ServerTools[] {
    return [...this.#servers].sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([server, { client, time, tools, more, others }]) =>
        ({ server, client, time, more, ...this.#withMerged(server, time, { tools, others }) }))
  }

  #withMerged(
    server: string, time: number, { tools, others }: Pick<ServerTools, 'tools' | 'others'>,
  ): Pick<ServerTools, 'tools' | 'others'> {
    const merged = this.#merged.get(server)
    if (merged === undefined || merged.time < time) return { tools, others }
    const all = new Map(tools)
    for (const finding of merged.findings) {
      const state = all.get(finding.tool ?? '')
      if (finding.tool === undefined || state === undefined) continue
      all.set(finding.tool, { ...state, state: 'missing', findings: [finding, ...state.findings] })
    }
    return { tools: all, others: [...others, ...merged.findings.filter(({ tool }) => tool === undefined)] }
  }
}

/** How a tool concerns the reader. */
const dangerIn = ({ state, findings: [first] }: ToolState): Danger => {
  if (state !== 'missing') return first?.rule === 'tool/drift' ? 'passed' : 'nothing'
  const danger = first === undefined ? 'held' : dangerOf(first)
  return danger === 'nothing' ? 'held' : danger
}

/** The tool's name, with that at the merged endpoint. */
const labelOf = (name: string, { shown }: ToolState): string =>
  `${shownName(name)}${shown === undefined || shown === name ? '' : ` (${shownName(shown)})`}`

/** Servers with longer names are rare: the rest of a name would push the text away. */
const nameOf = ({ server }: ServerTools): string => shownText(server, 30)

/** Tools that need the reader, in one line for each server. */
const maxNamed = 3

/**
 * The tools of all servers as text: a line for each server, and a line for each tool that a person must know
 * of, with the command that answers.
 * @param width in characters
 */
export const overviewText = (servers: readonly ServerTools[], style: Style, width: number): string => {
  const column = Math.max(...servers.map(one => nameOf(one).length))
  return servers.map(one => ({ one, needing: needingIn(one) }))
    .toSorted((a, b) => byDanger(worstOf(a.needing), worstOf(b.needing)))
    .flatMap(({ one, needing }) => [
      ...withHead(style, needing.length > 0, nameOf(one).padEnd(column), summaryOf(one), width),
      ...needing.slice(0, maxNamed)
        .flatMap(([name, state]) => whyLines(one.server, name, state, style, width)),
      ...(needing.length > maxNamed
        ? [`    and ${needing.length - maxNamed} more: mcp-customs tools ${shownName(one.server)}`]
        : []),
    ]).join('\n')
}

const needingIn = ({ tools }: ServerTools): readonly (readonly [string, ToolState])[] =>
  [...tools].filter(([, state]) => dangerIn(state) !== 'nothing')
    .sort(([, a], [, b]) => byDanger(dangerIn(a), dangerIn(b)))

const worstOf = ([first]: ReturnType<typeof needingIn>): Danger =>
  (first === undefined ? 'nothing' : dangerIn(first[1]))

const withHead = (
  style: Style, isBad: boolean, name: string, text: string, width: number,
): readonly string[] => {
  const [first = '', ...rest] = wrapText(text, Math.max(20, width - name.length - 4))
  const [symbol, paint] = isBad ? ['✗', style.bad] : ['✓', style.good]
  return [
    `${paint(symbol)} ${style.title(name)}  ${first}`,
    ...rest.map(line => `${' '.repeat(name.length + 4)}${line}`),
  ]
}

/** What a server has, and what was done for its client. */
const summaryOf = ({ tools, client, more }: ServerTools): string => {
  const all = [...tools.values()]
  const missing = all.filter(({ state }) => state === 'missing').length
  const rewritten = all.filter(one => one.state === 'changed' && dangerIn(one) === 'nothing').length
  const bare = all.filter(({ state, lostAnnotations }) => lostAnnotations && state !== 'missing').length
  const whom = client === undefined ? 'the client' : shownName(client)
  return [
    countText(all.length - missing + more, 'tool'),
    ...(missing > 0 ? [`${missing} withheld`] : []),
    ...(rewritten > 0 ? [`${rewritten} rewritten for ${whom} (nothing to do)`] : []),
    ...(bare > 0 ? [`annotations of ${bare} removed (--trust keeps them)`] : []),
  ].join(', ')
}

const whyLines = (
  server: string, name: string, tool: ToolState, style: Style, width: number,
): readonly string[] => {
  const { state, findings } = tool
  const [first] = findings
  const words = first && explained(first.rule, server, name)
  // What stands in brackets is for those who read more.
  const step = words?.next[0]?.split(' (')[0]
  const said = first === undefined ? 'not delivered' : saidOf(first)
  return [
    ...wrapText(`${labelOf(name, tool)} ${state === 'missing' ? 'is withheld' : 'changed'}: ${said}`, width - 4)
      .map(line => `    ${style.bad(line)}`),
    ...(first === undefined ? [] : changesIn(first).slice(0, 1)).flatMap(({ before, after }) => [
      ...(before === undefined ? [] : wrapText(`was: ${before}`, width - 6)),
      ...wrapText(`now: ${after}`, width - 6),
    ]).map(line => `      ${line}`),
    ...(step === undefined ? [] : wrapText(`→ ${step}`, width - 4).map(line => `    ${line}`)),
  ]
}

const saidOf = ({ rule, message, mended }: LoggedFinding): string =>
  `${shownText(mended ?? message, 200)} (${shownName(rule)})`

/** Every tool of a server as text, those that a person must know of first. @param width in characters */
export const toolsText = (of: ServerTools, style: Style, width: number): string => {
  const { server, client, time, tools, more, others } = of
  const needing = needingIn(of)
  const named = new Set(needing.map(([name]) => name))
  const rest = [...tools].filter(([name]) => !named.has(name))
  const same = rest.filter(([, { state }]) => state === 'same').map(([name, tool]) => labelOf(name, tool))
  if (more > 0) same.push(`and ${more} more`)
  const told = `${client === undefined ? '' : `${shownName(client)}, `}${dayOf(time)} ${clockOf(time)}`
  const lines = (text: string) => wrapText(text, width - 4).map(line => `  ${line}`)
  return [
    ...wrapText(`${nameOf(of)}  ${summaryOf(of)}  ${told}`, width).map(style.title),
    ...needing.flatMap(([name, tool]) => [
      ...whyLines(server, name, tool, style, width).map(line => line.slice(2)),
      ...tool.findings.slice(1).flatMap(one => lines(`  also: ${saidOf(one)}`)),
    ]),
    ...others.flatMap(finding => lines(`the list: ${saidOf(finding)}`)),
    ...[...rewrittenIn(rest)].flatMap(([rules, all]) => lines(`~ rewritten (${rules}): ${all.join(', ')}`)),
    ...(same.length === 0 ? [] : lines(`✓ ${same.join(', ')}`)),
  ].join('\n')
}

/** The tools that were rewritten for the client, by the rules that say why. */
const rewrittenIn = (tools: ReturnType<typeof needingIn>): ReadonlyMap<string, readonly string[]> => {
  const byRules = new Map<string, string[]>()
  for (const [name, tool] of tools) {
    if (tool.state !== 'changed') continue
    const rules = [...new Set(tool.findings.map(({ rule }) => shownName(rule)))].join(', ')
    byRules.set(rules, [...(byRules.get(rules) ?? []), labelOf(name, tool)])
  }
  return byRules
}
