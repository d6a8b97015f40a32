import type { Fault, HeldGroup, RuleWords, Summary } from '../summary.js'
import { count, sumOf, whole } from '../units.js'
import { Step } from './card.js'
import { countsIn, type Range, sumsIn } from './filter.js'

export const faults: Readonly<Record<Fault, string>> = {
  server: 'the server’s fault', client: 'the client’s mistake', configuration: 'as you configured',
}

/** A group that is shown, with its count in the range of time. */
export interface HeldInRange extends HeldGroup {
  readonly times: number
}

export const heldIn = (
  { held, servers }: Summary, server: string | undefined, range: Range,
): readonly HeldInRange[] =>
  held.rows.filter(row => server === undefined || row.server === server || servers.length === 1)
    .map(row => ({ ...row, times: range.isAll ? row.count : sumOf(sumsIn(row.series, range, 1)) }))
    .filter(({ times }) => times > 0)

/** What happened, in plain words. */
export const meaningOf = (
  { rule, newest }: HeldGroup, rules: Readonly<Record<string, RuleWords>>,
): string => rules[rule]?.means ?? newest.reason

/** The name of a tool or message, with its server. */
export const nameOf = ({ server, subject }: HeldGroup): string =>
  `${server}.${subject === '…' ? 'several tools' : subject}`

interface NeedsProps {
  readonly summary: Summary
  readonly server: string | undefined
  readonly range: Range
}

/** Reasons that are named in the sentence. */
const named = 3

/** Says whether anything needs the reader. */
export const Needs = ({ summary, server, range }: NeedsProps) => {
  const group = summary.servers.find(one => one.server === server) ?? summary.all
  const { all, blocked, demoted, others } = countsIn(group, range, summary)
  const rows = [...heldIn(summary, server, range)]
    .sort((a, b) => Number(b.fault === 'server') - Number(a.fault === 'server') || b.times - a.times)
  const broken = summary.logs?.filter(({ ok }) => !ok).length ?? 0
  const problems = [
    ...(broken === 0 ? [] : [`${count(broken, 'log')} of ${summary.logs?.length ?? 0} ${was(broken)} changed`]),
  ]
  const held = [
    blocked > 0 && `${count(blocked, 'call')} ${was(blocked)} blocked`,
    demoted > 0 && `${count(demoted, 'call')} came without what was wrong in ${demoted === 1 ? 'it' : 'them'}`,
    others > 0 && `${count(others, 'other message')} ${was(others)} held back`,
  ].filter(part => part !== false)
  const isBad = problems.length > 0 || rows.some(({ fault }) => fault === 'server')
  const said = [...problems, ...held]
  const reasons = reasonsOf(rows, summary.rules)
  const passed = all === 0 ? 'No call was made' : `All ${all === 1 ? 'calls' : count(all, 'call')} passed`
  return (
    <section class={`needs ${isBad ? 'bad' : 'good'}`} aria-label="Does anything need you?">
      <h2>{said.length === 0 ? `Nothing needs you. ${passed}.` : `${sentenceOf(said)}.`}</h2>
      {reasons.length > 0 && (
        <ul>
          {reasons.slice(0, named).map(({ name, means, fault, times, next }) => (
            <li key={`${name} ${means}`}>
              <b><bdi>{name}</bdi></b>: {means}
              {' '}<em>({fault !== undefined && `${faults[fault]}, `}{times === 1 ? 'once' : `${whole(times)} times`})</em>
              {next !== undefined && <div class="next">What now: <Step text={next} /></div>}
            </li>
          ))}
        </ul>
      )}
      {said.length > 0 && (
        <p>
          {reasons.length > named && `${count(reasons.length - named, 'more reason')} below. `}
          {isBad ? 'Nothing else needs you.' : 'Nothing needs you.'}
        </p>
      )}
    </section>
  )
}

const was = (number: number): string => (number === 1 ? 'was' : 'were')

const sentenceOf = (parts: readonly string[]): string =>
  (parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`)

interface Reason {
  readonly name: string
  readonly means: string
  readonly fault: Fault | undefined
  readonly next: string | undefined
  readonly times: number
}

/** Groups that differ in nothing that the sentence says are one reason. */
const reasonsOf = (rows: readonly HeldInRange[], rules: Summary['rules']) => {
  const reasons = new Map<string, Reason>()
  for (const row of rows) {
    const [name, means] = [nameOf(row), meaningOf(row, rules)]
    const next = rules[row.rule]?.next[0]
    const reason = reasons.get(`${name} ${means}`) ?? { name, means, fault: row.fault, next, times: 0 }
    reasons.set(`${name} ${means}`, { ...reason, times: reason.times + row.times })
  }
  return [...reasons.values()]
}
