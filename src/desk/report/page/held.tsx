import { useState } from 'preact/hooks'
import type { HeldGroup, Summary } from '../summary.js'
import { countText, wholeNumber } from '../units.js'
import { Card, Copied, Steps } from './card.js'
import { countsIn, inRange, type TimeRange } from '../range.js'
import type { FilterChange, Filter } from './filter.js'
import { ReasonFacts, Reason } from './reason.js'

interface HeldBackProps {
  readonly summary: Summary
  readonly filter: Filter
  readonly change: FilterChange
  readonly range: TimeRange
}

/** The messages that were blocked or demoted, grouped by their reasons. */
export const HeldBack = ({ summary, filter, change, range }: HeldBackProps) => {
  const { server, verdict = '', search = '' } = filter
  const [max, setMax] = useState(20)
  const words = search.toLowerCase().split(/\s+/).filter(word => word !== '')
  const group = summary.servers.find(one => one.server === server) ?? summary.all
  const { held } = countsIn(group, range, summary)
  // Calls that got no result at all come first.
  const rows = inRange(summary.held.rows, server, range)
    .toSorted((a, b) => a.verdict.localeCompare(b.verdict))
  const found = rows.filter(row =>
    (verdict === '' || row.verdict === verdict) && words.every(word => textOf(row, summary).includes(word)))
  const kinds = summary.verdicts.filter(one => one === verdict || rows.some(row => row.verdict === one))
  const tools = (
    <div class="tools">
      {kinds.length > 1 && (
        <select
          aria-label="Verdict" value={verdict}
          onChange={event => change({ verdict: event.currentTarget.value })}
        >
          <option value="">any verdict</option>
          {kinds.map(one => <option key={one} value={one}>{one}</option>)}
        </select>
      )}
      <input
        type="search" placeholder="Search tool, rule, reason …" aria-label="Search what was held back"
        value={search} onInput={event => change({ search: event.currentTarget.value })}
      />
    </div>
  )
  const isFiltered = words.length + verdict.length > 0
  const times = found.reduce((sum, row) => sum + row.times, 0)
  const note =
    `${isFiltered ? `${wholeNumber(times)} of ` : ''}${countText(held, 'message')}, ${countText(found.length, 'reason')}`
  const left = held - rows.reduce((sum, row) => sum + row.times, 0)
  return (
    <Card title="Held back" id="held" note={note} tools={rows.length > 0 && tools}>
      {rows.length > 0 && found.length === 0 && (
        <p class="nothing">Nothing that was held back has this in it.</p>
      )}
      <ul class="held">
        {found.slice(0, max).map(row => (
          <li key={[row.server, row.subject, row.verdict, row.rule, row.path, row.fault].join(' ')}>
            <Group row={row} summary={summary} range={range} />
          </li>
        ))}
      </ul>
      {found.length > max && (
        <button type="button" class="more" onClick={() => setMax(max + 100)}>
          Show more of {found.length}
        </button>
      )}
      {left > 0 && (
        <p class="note">
          {countText(left, 'message')} {left === 1 ? 'was' : 'were'} held back for rarer reasons, which are not in
          {' '}this page: <code>mcp-customs audit show --verdict block --verdict demote</code> has them.
        </p>
      )}
    </Card>
  )
}

/** A group that is shown, with its count in the range of time. */
type HeldInRange = HeldGroup & { readonly times: number }

/** What happened, in plain words. */
const meaningOf = ({ rule, newest }: HeldGroup, { rules }: Summary): string =>
  rules[rule]?.means ?? newest.reason

const textOf = (row: HeldInRange, summary: Summary): string =>
  [row.server, row.subject, row.rule, row.path, meaningOf(row, summary), ...row.clients,
    ...row.newest.findings, ...row.newest.facts.map(([, value]) => value)].join(' ').toLowerCase()

const Group = ({ row, summary, range }: {
  readonly row: HeldInRange
  readonly summary: Summary
  readonly range: TimeRange
}) => {
  const { server, subject, verdict, rule, path, clients, newest } = row
  return (
    <Reason
      {...{ row, range, subject, server, verdict }} kind={verdict} means={meaningOf(row, summary)}
      words={rule === '' ? '' : `${rule}${path === '' ? '' : ` at ${path}`}: ${newest.reason}`}
    >
      <ReasonFacts row={row}>
        {clients.length > 0
          && <>; {clients.length === 1 ? 'client' : 'clients'} <bdi>{clients.join(', ')}</bdi></>}
      </ReasonFacts>
      <Steps next={summary.rules[rule]?.next ?? []} server={server} tool={subject} />
      <h3>The newest</h3>
      <ul class="findings">
        {newest.findings.map((finding, index) => <li key={index}><bdi>{finding}</bdi></li>)}
        {newest.findings.length === 0 && <li><bdi>{newest.reason}</bdi></li>}
      </ul>
      <dl>
        {newest.facts.map(([name, value]) => (
          <div key={name}><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>
        ))}
      </dl>
      <Copied text={newest.command} />
    </Reason>
  )
}
