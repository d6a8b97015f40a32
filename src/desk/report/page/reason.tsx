import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type TimeRange, rowsIn } from '../range.js'
import type { FaultSummary, SeriesSummary } from '../summary.js'
import { wholeNumber } from '../units.js'
import { When } from './card.js'

export const faults: Readonly<Record<FaultSummary, string>> = {
  server: 'The server’s fault', client: 'The client’s mistake', configuration: 'As you configured',
}

/** What happened several times for the same reason. */
interface Repeated {
  readonly times: number
  readonly first: number
  readonly last: number
  readonly series: SeriesSummary
  readonly fault?: FaultSummary | undefined
}

interface ReasonProps {
  readonly row: Repeated
  readonly range: TimeRange
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
          <b>{wholeNumber(row.times)}</b> <small>{row.times === 1 ? 'time' : 'times'}</small>
        </span>
        <span class="last"><span class="unseen">last </span><When time={row.last} /></span>
      </summary>
      {isOpen && <div class="detail">{children}</div>}
    </details>
  )
}

/** Whose fault it was, and when. */
export const ReasonFacts = (
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
