import { type Style, wrap } from '#desk/terminal/style.js'
import { explained } from '#relay/rules/index.js'
import type { LoggedFinding, LogRecord } from '#relay/audit/read/record.js'
import { removedAnnotations, shown, shownName } from './sentence.js'
import { clockOf, count, dayOf } from './units.js'

/** A tool of the last list of a server. */
interface ToolState {
  /** `missing`: clients do not get it; `changed`: they get it other than the server lists it. */
  readonly state: 'same' | 'changed' | 'missing'
  /** Why, without removed annotations. */
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

  /** Takes records in the order of time. */
  take({ event, server, session, time, client, tools, moreTools, findings }: LogRecord): void {
    if (event !== 'tools/list' || tools === undefined) return
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
    for (const [name, all] of [...about].slice(0, maxTools)) {
      const reasons = all.filter(({ rule }) => rule !== removedAnnotations)
      const isChanged = reasons.some(({ mended, rule }) => mended !== undefined || rule === 'tool/drift')
      listed.tools.delete(name)
      listed.tools.set(name, {
        state: delivered.has(name) ? (isChanged ? 'changed' : 'same') : 'missing',
        findings: reasons, lostAnnotations: reasons.length < all.length,
      })
    }
  }

  /** By name. */
  get servers(): readonly ServerTools[] {
    return [...this.#servers].sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([server, { client, time, tools, more, others }]) =>
        ({ server, client, time, tools, more, others }))
  }
}

const symbols = { same: '✓', changed: '~', missing: '✗' } as const

/** The tools of a server as text. @param width in characters */
export const toolsText = (
  { server, client, time, tools, more, others }: ServerTools, style: Style, width: number,
): string => {
  const all = [...tools]
  const inState = (wanted: ToolState['state']) => all.filter(([, { state }]) => state === wanted)
  const [same, changed, missing] = [inState('same'), inState('changed'), inState('missing')]
  const bare = all.filter(([, { lostAnnotations }]) => lostAnnotations).length
  const counts = [
    count(same.length + changed.length + more, 'tool'), `${missing.length} missing`,
    `${changed.length} changed`,
  ]
  const names = same.map(([name]) => shownName(name)).join(', ') + (more > 0 ? `, and ${more} more` : '')
  return [
    `${style.title(shownName(server))}  ${counts.join(', ')}  ` +
      style.dim(`${client === undefined ? '' : `${shownName(client)}, `}${dayOf(time)} ${clockOf(time)}`),
    ...missing.flatMap(one => reasonLines(server, one, style.bad, width)),
    ...changed.flatMap(one => reasonLines(server, one, style.warn, width)),
    ...others.flatMap(finding => wrap(`the list: ${whyOf(finding)}`, width - 4).map(line => `  ${line}`)),
    ...(names === '' ? [] : wrap(`${symbols.same} ${names}`, width - 4).map(line => `  ${line}`)),
    ...(bare === 0
      ? []
      : [style.dim(`  annotations of ${count(bare, 'tool')} removed (--trust keeps them)`)]),
  ].join('\n')
}

const reasonLines = (
  server: string, [name, { state, findings }]: readonly [string, ToolState],
  paint: (text: string) => string, width: number,
): readonly string[] => {
  const head = `${symbols[state]} ${shownName(name)}  ${state}`
  const rules = [...new Map(findings.map(finding => [finding.rule, finding])).values()]
  return [
    `  ${paint(head)}`,
    ...rules.flatMap(finding => [
      ...wrap(whyOf(finding), width - 6).map(line => `      ${line}`),
      ...(explained(finding.rule, server, name)?.next.slice(0, 1) ?? [])
        .flatMap(step => wrap(`→ ${step}`, width - 6).map(line => `      ${line}`)),
    ]),
  ]
}

const whyOf = ({ rule, message, mended }: LoggedFinding): string => {
  const means = explained(rule)?.means ?? ''
  return `${shownName(rule)}: ${means} (${shown(mended ?? message, 200)})`
}
