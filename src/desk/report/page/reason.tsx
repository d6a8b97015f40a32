import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Fault, HealthRow, SeriesSummary, Summary } from '../summary.js'
import { whole } from '../units.js'
import { Card, Steps, When } from './card.js'
import { inRange, type Range, rowsIn } from './filter.js'

export const faults: Readonly<Record<Fault, string>> = {
  server: 'The server’s fault', client: 'The client’s mistake', configuration: 'As you configured',
}

/** What happened several times for the same reason. */
interface Repeated {
  readonly times: number
  readonly first: number
  readonly last: number
  readonly series: SeriesSummary
  readonly fault?: Fault | undefined
}

interface ReasonProps {
  readonly row: Repeated
  readonly range: Range
  /** The class of the label, which sets its colour. */
  readonly kind: string
  /** The label. */
  readonly verdict: string
  readonly subject: string
  readonly server?: string
  /** What happened, in a sentence; and in the words of the record. */
  readonly means: string
  readonly words: string
  /** Shown when the row is open. */
  readonly children: ComponentChildren
}

/** A row that opens: what happened, to which tool or server, how often, and when. */
export const Reason = (props: ReasonProps) => {
  const { row, range, kind, verdict, subject, server, means, words, children } = props
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <span class={`verdict ${kind}`}>{verdict}</span>
        <span class="what"><b><bdi>{subject}</bdi></b>{' '}
          {server !== undefined && <small><bdi>{server}</bdi></small>}
        </span>
        <span class="why"><span>{means}</span> <small><bdi>{words}</bdi></small></span>
        <Trend rows={rowsIn(row.series, range)} />
        <span class="times">
          <b>{whole(row.times)}</b> <small>{row.times === 1 ? 'time' : 'times'}</small>
        </span>
        <span class="last"><span class="unseen">last </span><When time={row.last} /></span>
      </summary>
      {isOpen && <div class="detail">{children}</div>}
    </details>
  )
}

/** Whose fault it was, and when. */
export const Facts = (
  { row: { fault, first, last }, children }: Pick<ReasonProps, 'row'> & { children?: ComponentChildren },
) => (
  <p>
    {fault !== undefined && `${faults[fault]}. `}
    First <When time={first} seconds />, last <When time={last} seconds />{children}.
  </p>
)

const mostBars = 30

/** A small chart of a number over time, without scales. */
const Trend = ({ rows }: { readonly rows: readonly (readonly number[])[] }) => {
  const width = Math.max(1, Math.ceil(rows.length / mostBars))
  const bars = Array.from({ length: Math.ceil(rows.length / width) }, (_, at) =>
    rows.slice(at * width, (at + 1) * width).reduce((sum, [number = 0]) => sum + number, 0))
  const most = Math.max(1, ...bars)
  return (
    <span class="trend" aria-hidden="true">
      {bars.map((bar, at) => <i key={at} style={{ height: `${bar === 0 ? 0 : 12 + (88 * bar) / most}%` }} />)}
    </span>
  )
}

interface StateProps {
  readonly summary: Summary
  readonly server: string | undefined
  readonly range: Range
}

/** Servers that failed. */
export const Health = ({ summary, server, range }: StateProps) => {
  const rows = inRange(summary.health, server, range)
  if (rows.length === 0) return null
  return (
    <Card title="Servers that failed" note="With the last line that each wrote to stderr">
      <ul class="held">
        {rows.map(row => (
          <li key={row.server}>
            <Reason
              {...{ row, range }} kind={row.isDown ? 'block' : 'log'} verdict={row.isDown ? 'down' : 'back'}
              subject={row.server} means={row.reason} words={row.stderr.at(-1) ?? ''}
            >
              <Facts row={row}>{!row.isDown && '; it has answered since'}</Facts>
              {row.stderr.length > 0 && (
                <>
                  <h3>Its last words on stderr</h3>
                  <pre><bdi>{row.stderr.join('\n')}</bdi></pre>
                </>
              )}
              <Steps rule={{ means: row.reason, next: stepsFor(row) }} server={row.server} />
            </Reason>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** What the reader can do about a server that failed. */
export const stepsFor = ({ health, isDown, stderr }: HealthRow): readonly string[] => [
  !isDown ? 'Nothing, unless it happens again'
    : stderr.length === 0 ? 'Restart the client, which starts its servers again'
      : 'Check what the server’s last words name, and its settings; then restart the client, which starts ' +
        'the server again',
  ...(health === 'exit' || health === 'refusal'
    ? ['If it fails again, see what the server does by itself: `mcp-customs inspect COMMAND`']
    : []),
  ...(health === 'silence' ? ['See whether the server still runs, or raise `limits.requestMs`'] : []),
]

/** Tools, prompts and resources that clients do not get, and why. */
export const Withheld = ({ summary, server, range }: StateProps) => {
  const rows = inRange(summary.offers.rows.filter(row => row.isMissing), server, range)
  if (rows.length === 0) return null
  return (
    <Card title="Withheld tools" note="Listed by the server, and not shown to clients">
      <ul class="held">
        {rows.map(row => (
          <li key={[row.server, row.name, row.rule, row.path, row.message].join(' ')}>
            <Reason
              {...{ row, range }} kind="block" verdict="withheld" subject={row.name} server={row.server}
              means={summary.rules[row.rule]?.means ?? row.message}
              words={`${row.rule}${row.path === '' ? '' : ` at ${row.path}`}: ${row.message}`}
            >
              <Facts row={row} />
              <Steps rule={summary.rules[row.rule]} server={row.server} />
            </Reason>
          </li>
        ))}
      </ul>
    </Card>
  )
}
