import type { Counts, GroupSummary, Quantiles, RuleRow, Rows, ToolRow } from '../summary.js'
import { clockOf, count, dayOf, duration, size, whole } from '../units.js'
import { Card } from './card.js'
import { Sortable, type Column } from './sortable.js'

export const sumOf = (counts: Counts): number => counts.reduce((sum, number) => sum + number, 0)

/** Of what did not pass, or not as it came. */
const heldOf = (counts: Counts, verdicts: readonly string[]): number =>
  verdicts.reduce((sum, verdict, index) => (verdict === 'demote' || verdict === 'block' ? sum + (counts[index] ?? 0) : sum), 0)

/** A number, with a bar as long as it is great beside the greatest, in the colours of the verdicts. */
const Bar = ({ counts, verdicts, most }: { readonly counts: Counts; readonly verdicts: readonly string[]; readonly most: number }) => {
  const all = sumOf(counts)
  const said = verdicts.flatMap((verdict, index) => ((counts[index] ?? 0) > 0 ? [`${verdict} ${whole(counts[index] ?? 0)}`] : [])).join(', ')
  return (
    <span class="bar" title={said}>
      <span class="amount">{whole(all)}</span>
      <span class="track" aria-hidden="true">
        {verdicts.map((verdict, index) => {
          const number = counts[index] ?? 0
          return number === 0 ? null : <i key={verdict} style={{ width: `${Math.max(0.6, (100 * number) / most)}%`, background: `var(--${verdict})` }} />
        })}
      </span>
      <span class="unseen">{said}</span>
    </span>
  )
}

const number = (value: number) => (value === 0 ? <span class="zero">0</span> : whole(value))
const time = (quantiles: Quantiles, of: 'p50' | 'p95' | 'p99') => (quantiles.count === 0 ? <span class="zero">–</span> : duration(quantiles[of]))

interface ServersProps {
  readonly groups: readonly GroupSummary[]
  readonly verdicts: readonly string[]
  readonly chosen: string | undefined
  readonly choose: (server: string | undefined) => void
}

export const Servers = ({ groups, verdicts, chosen, choose }: ServersProps) => {
  const most = Math.max(1, ...groups.map(({ calls }) => sumOf(calls)))
  const columns: readonly Column<GroupSummary>[] = [
    { name: 'Server', by: ({ server = '' }) => server, cell: ({ server = '' }) => <button type="button" class="name" aria-pressed={server === chosen} onClick={() => choose(server === chosen ? undefined : server)}>{server}</button> },
    { name: 'Calls', kind: 'bar', by: ({ calls }) => sumOf(calls), cell: ({ calls }) => <Bar counts={calls} verdicts={verdicts} most={most} /> },
    { name: 'Held back', kind: 'number', by: ({ calls }) => heldOf(calls, verdicts), cell: ({ calls }) => number(heldOf(calls, verdicts)) },
    { name: 'Findings', kind: 'number', by: ({ findings }) => findings, cell: ({ findings }) => number(findings) },
    { name: 'Errors', kind: 'number', by: ({ errors }) => errors, cell: ({ errors }) => number(errors) },
    { name: 'Sessions', kind: 'number', by: ({ sessions }) => sessions, cell: ({ sessions }) => number(sessions) },
    { name: 'Server p50', kind: 'number', by: ({ upstream }) => upstream.p50, cell: ({ upstream }) => time(upstream, 'p50') },
    { name: 'p95', kind: 'number', by: ({ upstream }) => upstream.p95, cell: ({ upstream }) => time(upstream, 'p95') },
    { name: 'Relay p95', kind: 'number', by: ({ relay }) => relay.p95, cell: ({ relay }) => time(relay, 'p95') },
  ]
  return (
    <Card title="Servers" note="Choose one to see only that">
      <Sortable caption="Servers" columns={columns} rows={groups} keyOf={({ server = '' }) => server} few={12} isMarked={({ server }) => server === chosen} />
    </Card>
  )
}

interface ToolsProps {
  readonly tools: Rows<ToolRow>
  readonly verdicts: readonly string[]
  readonly isOfOne: boolean
}

export const Tools = ({ tools: { rows, left }, verdicts, isOfOne }: ToolsProps) => {
  const most = Math.max(1, ...rows.map(({ calls }) => sumOf(calls)))
  const columns: readonly Column<ToolRow>[] = [
    { name: 'Tool', by: ({ tool }) => tool, cell: ({ server, tool }) => <span class="name" title={tool}><bdi>{tool}</bdi>{!isOfOne && <small><bdi>{server}</bdi></small>}</span> },
    { name: 'Calls', kind: 'bar', by: ({ calls }) => sumOf(calls), cell: ({ calls }) => <Bar counts={calls} verdicts={verdicts} most={most} /> },
    { name: 'Held back', kind: 'number', by: ({ calls }) => heldOf(calls, verdicts), cell: ({ calls }) => number(heldOf(calls, verdicts)) },
    { name: 'Findings', kind: 'number', by: ({ findings }) => findings, cell: ({ findings }) => number(findings) },
    { name: 'Server p50', kind: 'number', by: ({ upstream }) => upstream.p50, cell: ({ upstream }) => time(upstream, 'p50') },
    { name: 'p95', kind: 'number', by: ({ upstream }) => upstream.p95, cell: ({ upstream }) => time(upstream, 'p95') },
    { name: 'p99', kind: 'number', by: ({ upstream }) => upstream.p99, cell: ({ upstream }) => time(upstream, 'p99') },
    { name: 'Relay p95', kind: 'number', by: ({ relay }) => relay.p95, cell: ({ relay }) => time(relay, 'p95') },
    { name: 'Response p95', kind: 'number', by: ({ response }) => response.p95, cell: ({ response }) => (response.count === 0 ? <span class="zero">–</span> : size(response.p95)) },
  ]
  return (
    <Card title="Tools">
      {rows.length === 0 ? <p class="nothing">No tool was called.</p> : <Sortable caption="Tools" columns={columns} rows={rows} keyOf={({ server, tool }) => `${server} ${tool}`} few={15} left={left > 0 ? `${count(left, 'tool')} that ${left === 1 ? 'was' : 'were'} called less often ${left === 1 ? 'is' : 'are'} not shown.` : undefined} />}
    </Card>
  )
}

export const Rules = ({ rules: { rows, left }, verdicts }: { readonly rules: Rows<RuleRow>; readonly verdicts: readonly string[] }) => {
  const most = Math.max(1, ...rows.map(({ records }) => sumOf(records)))
  const columns: readonly Column<RuleRow>[] = [
    { name: 'Rule', by: ({ rule }) => rule, cell: ({ rule }) => <span class="name"><bdi>{rule}</bdi></span> },
    { name: 'Records', kind: 'bar', by: ({ records }) => sumOf(records), cell: ({ records }) => <Bar counts={records} verdicts={verdicts} most={most} /> },
    { name: 'Findings', kind: 'number', by: ({ findings }) => findings, cell: ({ findings }) => whole(findings) },
    { name: 'Last', kind: 'number', by: ({ last }) => last, cell: ({ last }) => <When time={last} /> },
  ]
  return (
    <Card title="Rules">
      {rows.length === 0 ? <p class="nothing">Nothing was found.</p> : <Sortable caption="Rules" columns={columns} rows={rows} keyOf={({ rule }) => rule} few={12} left={left > 0 ? 'There are too many names of rules to show.' : undefined} />}
    </Card>
  )
}

/** The minute, and the day when one looks closer. */
export const When = ({ time: at, seconds = false }: { readonly time: number; readonly seconds?: boolean }) => (
  <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}><span class="day">{dayOf(at).slice(5)}</span> {clockOf(at).slice(0, seconds ? 8 : 5)}</time>
)
