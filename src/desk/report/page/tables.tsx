import type { ComponentChildren } from 'preact'
import type {
  Counts, GroupSummary, LogRow, OfferRow, Quantiles, RuleRow, Rows, SessionRow, Summary, ToolRow,
} from '../summary.js'
import { countText, duration, sizeText, sumOf, wholeNumber } from '../units.js'
import { Card, type Column, dash, Sortable, When } from './card.js'
import { countsIn, type TimeRange } from '../range.js'
import type { FilterChange } from './filter.js'

/** How many calls were blocked or demoted. */
const heldOf = (counts: Counts, verdicts: readonly string[]): number =>
  sumOf(counts.filter((_, index) => ['demote', 'block'].includes(verdicts[index] ?? '')))

const orZero = (value: number): ComponentChildren =>
  (value === 0 ? <span class="zero">0</span> : wholeNumber(value))
const named = (name: string): ComponentChildren => <span class="name"><bdi>{name}</bdi></span>

/** A column of numbers; by default, zeros are dim. */
const numbers = <Row,>(name: string, by: (row: Row) => number, show = orZero): Column<Row> =>
  ({ name, kind: 'number', by, cell: row => show(by(row)) })

const quantile = <Row,>(
  name: string, at: 'p50' | 'p95' | 'p99', of: (row: Row) => Quantiles, show = duration,
): Column<Row> => {
  const cell = (row: Row) => (of(row).count === 0 ? dash() : show(of(row)[at]))
  return { name, kind: 'number', by: row => of(row)[at], cell }
}

/** A column of counts by verdict: their sum, and a bar of that length in the colours of the verdicts. */
const bars = <Row,>(
  name: string, rows: readonly Row[], verdicts: readonly string[], of: (row: Row) => Counts,
): Column<Row> => {
  const most = Math.max(1, ...rows.map(row => sumOf(of(row))))
  const cell = (row: Row) => {
    const parts = verdicts.map((verdict, index) => ({ verdict, number: of(row)[index] ?? 0 }))
      .filter(({ number }) => number > 0)
    const text = parts.map(({ verdict, number }) => `${verdict} ${wholeNumber(number)}`).join(', ')
    const styleOf = (verdict: string, number: number) =>
      ({ width: `${Math.max(0.6, (100 * number) / most)}%`, background: `var(--${verdict})` })
    return (
      <span class="bar" title={text}>
        <span class="amount">{wholeNumber(sumOf(of(row)))}</span>
        <span class="track" aria-hidden="true">
          {parts.map(({ verdict, number }) => <i key={verdict} style={styleOf(verdict, number)} />)}
        </span>
        <span class="unseen">{text}</span>
      </span>
    )
  }
  return { name, kind: 'bar', by: row => sumOf(of(row)), cell }
}

interface ServersProps {
  readonly summary: Summary
  readonly range: TimeRange
  readonly chosen: string | undefined
  readonly change: FilterChange
}

export const Servers = ({ summary, range, chosen, change }: ServersProps) => {
  const { servers, verdicts } = summary
  const button = ({ server = '' }: GroupSummary) => (
    <button
      type="button" class="name" aria-pressed={server === chosen}
      onClick={() => change({ server: server === chosen ? undefined : server })}
    >{server}</button>
  )
  const columns: readonly Column<GroupSummary>[] = [
    { name: 'Server', by: ({ server = '' }) => server, cell: button },
    bars('Calls', servers, verdicts, group => countsIn(group, range, summary).calls),
    numbers('Held back', group => countsIn(group, range, summary).held),
    // The others are known of the whole time alone.
    ...(!range.isAll ? [] : [
      numbers<GroupSummary>('Findings', ({ findings }) => findings),
      numbers<GroupSummary>('Errors', ({ errors }) => errors),
      numbers<GroupSummary>('Sessions', ({ sessions }) => sessions),
      quantile<GroupSummary>('Server p50', 'p50', ({ upstream }) => upstream),
      quantile<GroupSummary>('p95', 'p95', ({ upstream }) => upstream),
      quantile<GroupSummary>('Relay p95', 'p95', ({ relay }) => relay),
    ]),
  ]
  return (
    <Card title="Servers" note="Choose one to see only that">
      <Sortable
        caption="Servers" columns={columns} rows={servers} keyOf={({ server = '' }) => server} few={12}
        isMarked={({ server }) => server === chosen}
      />
    </Card>
  )
}

interface ToolsProps {
  readonly tools: Rows<ToolRow>
  readonly verdicts: readonly string[]
  readonly isOfOne: boolean
}

export const Tools = ({ tools: { rows, left }, verdicts, isOfOne }: ToolsProps) => {
  const name = ({ server, tool, shown }: ToolRow) => (
    <span class="name" title={tool}>
      <bdi>{tool}</bdi>{!isOfOne && <small><bdi>{server}</bdi></small>}
      {shown !== undefined && shown !== tool && <small>shown as <bdi>{shown}</bdi></small>}
    </span>
  )
  const columns: readonly Column<ToolRow>[] = [
    { name: 'Tool', by: ({ tool }) => tool, cell: name },
    bars('Calls', rows, verdicts, ({ calls }) => calls),
    numbers('Held back', ({ calls }) => heldOf(calls, verdicts)),
    numbers('Findings', ({ findings }) => findings),
    quantile('Server p50', 'p50', ({ upstream }) => upstream),
    quantile('p95', 'p95', ({ upstream }) => upstream),
    quantile('p99', 'p99', ({ upstream }) => upstream),
    quantile('Relay p95', 'p95', ({ relay }) => relay),
    quantile('Response p95', 'p95', ({ response }) => response, sizeText),
  ]
  const [was, is] = left === 1 ? ['was', 'is'] : ['were', 'are']
  const note = left > 0 ? `${countText(left, 'tool')} that ${was} called less often ${is} not shown.` : undefined
  const keyOf = ({ server, tool }: ToolRow) => `${server} ${tool}`
  return (
    <Card title="Tools">
      {rows.length === 0
        ? <p class="nothing">No tool was called.</p>
        : <Sortable caption="Tools" columns={columns} rows={rows} keyOf={keyOf} few={15} left={note} />}
    </Card>
  )
}

interface RulesProps {
  readonly rules: Rows<RuleRow>
  readonly verdicts: readonly string[]
}

export const RulesTable = ({ rules: { rows, left }, verdicts }: RulesProps) => {
  const columns: readonly Column<RuleRow>[] = [
    { name: 'Rule', by: ({ rule }) => rule, cell: ({ rule }) => named(rule) },
    bars('Records', rows, verdicts, ({ records }) => records),
    numbers('Findings', ({ findings }) => findings, wholeNumber),
    numbers('Last', ({ last }) => last, last => <When time={last} />),
  ]
  const keyOf = ({ rule }: RuleRow) => rule
  const note = left > 0 ? 'There are too many names of rules to show.' : undefined
  return (
    <Card title="Rules">
      {rows.length === 0
        ? <p class="nothing">Nothing was found.</p>
        : <Sortable caption="Rules" columns={columns} rows={rows} keyOf={keyOf} few={12} left={note} />}
    </Card>
  )
}

interface ListProps<Row> {
  readonly rows: readonly Row[]
  readonly left: number
}

/** Findings of one rule about what a server offers. */
interface OfferGroup extends Pick<OfferRow, 'server' | 'rule' | 'message' | 'path' | 'danger' | 'last'> {
  readonly names: readonly string[]
}

const ofOffer: readonly Column<OfferGroup>[] = [
  { name: 'Server', by: ({ server }) => server, cell: ({ server }) => named(server) },
  { name: 'Rule', by: ({ rule }) => rule, cell: ({ rule }) => named(rule) },
  {
    name: 'Of', kind: 'long', by: ({ names }) => names.join(),
    cell: ({ names, message, path, danger }) => (
      <>
        <b><bdi>{names.slice(0, 3).join(', ')}{names.length > 3 && `, and ${names.length - 3} more`}</bdi></b>
        {' '}<bdi>{message}</bdi> <small><bdi>{path}</bdi></small>
        {danger === 'nothing' && <small> (nothing to do)</small>}
      </>
    ),
  },
  numbers('Tools', ({ names }) => names.length, wholeNumber),
  numbers('Last', ({ last }) => last, last => <When time={last} />),
]

/** What was found about the lists of servers: a row for each server and rule. */
export const Offers = ({ rows, left }: ListProps<OfferRow>) => {
  const groups = new Map<string, OfferGroup>()
  for (const row of rows.filter(({ isMissing }) => !isMissing)) {
    const key = `${row.server} ${row.rule}`
    const before = groups.get(key)
    groups.set(key, {
      ...(before ?? row), names: [...before?.names ?? [], ...(row.name === '' ? [] : [row.name])],
      last: Math.max(before?.last ?? 0, row.last),
    })
  }
  if (groups.size === 0) return null
  const note = left > 0 ? `${countText(left, 'older finding')} left out.` : undefined
  return (
    <Card title="What servers offer" note="Findings about tools that clients get, as they were listed last">
      <Sortable
        caption="What servers offer" columns={ofOffer} rows={[...groups.values()]} few={8} left={note}
        keyOf={({ server, rule }) => `${server} ${rule}`}
      />
    </Card>
  )
}

const ofSession: readonly Column<SessionRow>[] = [
  {
    name: 'Began', by: ({ started = 0 }) => started,
    cell: ({ started }) =>
      (started === undefined ? <span class="zero">earlier</span> : <When time={started} />),
  },
  { name: 'Server', by: ({ server }) => server, cell: ({ server }) => named(server) },
  {
    name: 'Client', by: ({ client }) => client,
    cell: ({ client, revision }) =>
      <span class="name" title={client}><bdi>{client || '–'}</bdi> <small>{revision && `protocol ${revision}`}</small></span>,
  },
  numbers('Calls', ({ calls }) => calls, wholeNumber),
  numbers('Held back', ({ held }) => held),
  numbers('Findings', ({ findings }) => findings),
  {
    name: 'Lasted', kind: 'number', by: ({ started, last }) => last - (started ?? last),
    cell: ({ started, last }) => (started === undefined ? '–' : duration(last - started)),
  },
  {
    name: 'End', kind: 'long', by: ({ ended = '' }) => ended,
    cell: ({ ended }) => (ended === undefined ? <em>open</em> : <bdi>{ended}</bdi>),
  },
]

export const SessionsTable = ({ rows, left }: ListProps<SessionRow>) => {
  const keyOf = ({ server, session }: SessionRow) => `${server} ${session}`
  const note = left > 0 ? `${countText(left, 'older session')} left out.` : undefined
  return (
    <Card title="Sessions" note={rows.length === 0 ? undefined : wholeNumber(rows.length + left)}>
      {rows.length === 0
        ? <p class="nothing">There was none.</p>
        : <Sortable caption="Sessions" columns={ofSession} rows={rows} keyOf={keyOf} few={10} left={note} />}
    </Card>
  )
}

export const Logs = ({ logs }: { readonly logs: readonly LogRow[] }) => (
  <Card
    title="Logs" id="logs" note="Whether each is complete and unchanged, as mcp-customs audit verify says"
  >
    <ul class="logs">
      {logs.map(({ ok, text }) => (
        <li key={text} class={ok ? 'ok' : 'broken'}>
          <b>{ok ? '✓' : '✗'}<span class="unseen">{ok ? 'verified' : 'changed'}</span></b>
          {' '}<bdi>{text}</bdi>
        </li>
      ))}
    </ul>
  </Card>
)
