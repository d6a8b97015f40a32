import { byDanger, type Danger } from '#relay/core/danger.js'
import type { ChangedText, FaultSummary, HeldGroup, HealthRow, OfferRow, Summary } from './summary.js'
import { countText } from './units.js'
import { inRange, type TimeRange } from './range.js'

/** Something that happened, once or often, for one reason: what a person decides about. */
export interface Cause {
  readonly key: string
  readonly danger: Danger
  readonly server: string
  /** The tool or server, as it is called in the page. */
  readonly name: string
  /** What happened to it: the predicate of a sentence. */
  readonly state: string
  /** How often, in calls or lists. */
  readonly times: string
  /** Why, each reason in a sentence. */
  readonly why: readonly string[]
  readonly fault: FaultSummary | undefined
  readonly changes: readonly ChangedText[]
  /** What the texts are compared with; undefined where there is nothing. */
  readonly before: string | undefined
  /** The values that came, beside what was declared. */
  readonly values: readonly { readonly path: string; readonly got: string; readonly declared: string }[]
  /** What the reader can do, the best first; what stands between backquotes can be copied. */
  readonly next: readonly string[]
  /** A text for the author of the server. */
  readonly report: string | undefined
  readonly first: number
  readonly last: number
  /** True when it has not happened since things went well again. */
  readonly isResolved: boolean
  /** True when somebody has to do something. */
  readonly isBad: boolean
}

/** The causes of a range of time, the most dangerous first. @param server undefined: of all */
export const causesOf = (
  summary: Summary, server: string | undefined, range: TimeRange,
): readonly Cause[] => {
  const offers = inRange(summary.offers.rows, server, range).filter(({ danger, isMissing }) =>
    isMissing || danger === 'changed' || danger === 'hidden')
  const withheld = new Set(offers.filter(({ isMissing }) => isMissing).map(keyOf))
  const held = inRange(summary.held.rows, server, range)
  // Calls of a withheld tool have the same cause as its absence.
  const isOfWithheld = (row: HeldGroup) =>
    row.rule === 'call/unlisted' && withheld.has(keyOf({ server: row.server, name: row.subject }))
  const callsOf = (row: OfferRow) => held
    .filter(one => isOfWithheld(one) && keyOf({ server: one.server, name: one.subject }) === keyOf(row))
    .reduce((sum, { times }) => sum + times, 0)
  return [
    ...offers.map(row => ofOffer(summary, row, callsOf(row))),
    ...inRange(summary.health, server, range).map(ofHealth),
    ...ofHeld(summary, [
      ...held.filter(row => !isOfWithheld(row)), ...inRange(summary.refused.rows, server, range),
    ]),
  ].sort((a, b) =>
    Number(a.isResolved) - Number(b.isResolved) || Number(b.isBad) - Number(a.isBad)
    || byDanger(a.danger, b.danger) || b.last - a.last)
}

const keyOf = ({ server, name }: Pick<OfferRow, 'server' | 'name'>): string => `${server}\n${name}`

const nameOf = ({ server, name }: Pick<OfferRow, 'server' | 'name'>): string =>
  (name === '' || name === '…' ? server : `${server}.${name}`)

const ofOffer = (summary: Summary, row: OfferRow & { readonly times: number }, calls: number): Cause => {
  const { server, name, danger, rule, kind, isMissing, isNew, isResolved, times, first, last } = row
  const { means, next = [], help } = summary.rules[rule] ?? {}
  const isDrift = rule === 'tool/drift'
  const noun = name === '' ? 'list' : kind
  const state = isNew ? `is a new ${noun} that you have not accepted`
    : isDrift && isMissing ? 'was changed after you accepted it, and is withheld'
      : isDrift ? 'was changed, and clients still get it'
        : rule.endsWith('/hidden-text') ? 'is withheld: its description hides text from people' : 'is withheld'
  return {
    key: `${nameOf(row)} offer`, danger, server, name: nameOf(row), state,
    times: [
      `in ${countText(times, 'list')}`, ...(calls > 0 ? [`${countText(calls, 'call')} of it refused`] : []),
    ].join(', '),
    why: [
      ...(means === undefined ? [] : [means]),
      ...(row.changes.length > 0 ? [] : [row.path === '' ? row.message : `${row.path}: ${row.message}`]),
    ],
    fault: isDrift ? 'server' : row.fault,
    changes: row.changes, values: [],
    before: !isDrift ? undefined : /accepted/.test(row.message) ? 'What you accepted' : 'As it was listed first',
    // Nobody should be led to let hidden text pass.
    next: isDrift ? accept : danger === 'hidden' ? next.slice(0, 1) : next,
    isResolved, isBad: !isResolved,
    report: isDrift || row.fault !== 'server' ? undefined : reportOf(summary, {
      ...row, what: `The ${noun} \`${name}\` is not described as the protocol asks.`, help,
    }),
    first, last,
  }
}

const accept = [
  'Compare the texts. To accept what it says now: `mcp-customs lock --server SERVER` (of a gateway: with ' +
    '--config FILE)',
  'If you do not know why it changed, ask its author, or remove the server',
]

const ofHealth = (row: HealthRow & { readonly times: number }): Cause => ({
  key: `${row.server} health`, danger: 'down', server: row.server, name: row.server,
  state: row.isDown ? 'is down' : 'failed, and answers again', times: countText(row.times, 'failure'),
  why: [row.reason, ...row.stderr.slice(-1).map(line => `Its last words: ${line}`)],
  fault: row.isDown ? 'server' : undefined, changes: [], before: undefined, values: [],
  next: stepsFor(row), report: undefined,
  first: row.first, last: row.last, isResolved: !row.isDown, isBad: row.isDown,
})

/** What the reader can do about a server that failed. */
const stepsFor = ({ health, isDown, isProcess, stderr }: HealthRow): readonly string[] => [
  !isDown
    ? 'Nothing, unless it happens again'
    : isProcess
      ? (stderr.length === 0 ? '' : 'Check what its last words name, and its settings. ') +
        'Restart the client, which starts its servers again (a gateway does so at the next session)'
      : 'Check its address, and whether it runs: the next request tries it again',
  ...(health === 'exit' || health === 'refusal'
    ? [`See what it does by itself: \`mcp-customs inspect ${isProcess ? 'COMMAND' : 'URL'}\``] : []),
  ...(health === 'silence' ? ['See whether it still runs, or raise `limits.requestMs`'] : []),
]

/** One cause for each tool and fault: the words are those of its severest verdict. */
const ofHeld = (
  summary: Summary, rows: readonly (HeldGroup & { readonly times: number })[],
): readonly Cause[] => {
  const causes = new Map<string, Cause & { readonly calls: number }>()
  const isBlocked = ({ verdict }: HeldGroup) => verdict === 'block'
  for (const row of [...rows.filter(isBlocked), ...rows.filter(one => !isBlocked(one))]) {
    const { server, subject, verdict, rule, fault, isResolved, newest, path } = row
    const { means, next = [], help } = summary.rules[rule] ?? {}
    const name = nameOf({ server, name: subject })
    const key = `${name} ${fault ?? ''} ${isResolved ? 'resolved' : ''}`
    const before = causes.get(key)
    const calls = (before?.calls ?? 0) + row.times
    const did = fault === 'configuration' ? 'is not allowed by your configuration'
      : fault === 'client' ? 'was called wrongly'
        : rule === 'result/unchecked' ? 'could not be checked'
          : rule.startsWith('result/') ? 'did not return what it declares' : 'returned what cannot be passed on'
    const became = verdict === 'log' ? 'strict clients refuse it'
      : verdict === 'demote' ? 'clients get an error beside the text' : 'blocked'
    const isCall = !subject.includes('/')
    causes.set(key, {
      key, calls, server, name, fault, isResolved,
      danger: before === undefined || byDanger(row.danger, before.danger) < 0 ? row.danger : before.danger,
      state: before?.state ?? (isCall ? `${did}: ${became}` : 'was blocked'),
      times: `in ${countText(calls, isCall ? 'call' : 'message')}`,
      why: [...new Set([...before?.why ?? [], means ?? newest.reason])],
      changes: [], before: undefined,
      values: [
        ...before?.values ?? [],
        ...(row.got === undefined ? [] : [{ path, got: row.got, declared: row.declared ?? '' }]),
      ].slice(0, 3),
      next: [...new Set([...before?.next ?? [], ...next])],
      report: before?.report ?? (fault !== 'server' ? undefined : reportOf(summary, {
        ...row, message: newest.reason, revision: new Map(newest.facts).get('revision'),
        what: `The tool \`${subject}\` returns what it does not declare.`, help,
      })),
      first: Math.min(before?.first ?? Infinity, row.first), last: Math.max(before?.last ?? 0, row.last),
      isBad: !isResolved && fault === 'server',
    })
  }
  return [...causes.values()]
}

interface Reported extends Pick<HeldGroup, 'server' | 'rule' | 'path'> {
  readonly what: string
  readonly message: string
  readonly help: string | undefined
  readonly revision?: string | undefined
  readonly got?: string | undefined
  readonly declared?: string | undefined
}

/** A text for an issue. Its values are those of the record, which are redacted. */
const reportOf = (
  { version, programs }: Summary,
  { server, what, message, help, revision, rule, path, got, declared }: Reported,
): string => [
  what, '',
  ...programs.filter(([name]) => name === server).map(([, program]) => `- Server: ${program}`),
  ...(path === '' ? [] : [`- Where: \`${path}\``]),
  `- Found: ${message}`,
  ...(declared === undefined ? [] : [`- Declared: \`${declared}\``]),
  ...(got === undefined ? [] : [`- Got: \`${got}\``]),
  `- Rule: ${rule}${revision === undefined ? '' : `, protocol revision ${revision}`}, mcp-customs ${version}`,
  ...(help === undefined ? [] : ['', help]), '',
].join('\n')
