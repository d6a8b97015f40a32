import { useState } from 'preact/hooks'
import type { Held } from '../summary.js'
import { count, whole } from '../units.js'
import { Card, When } from './card.js'

interface HeldBackProps {
  readonly rows: readonly Held[]
  readonly left: number
  readonly verdicts: readonly string[]
  readonly isLive: boolean
}

/** The messages that were blocked or demoted, with the reasons; the newest first. */
export const HeldBack = ({ rows, left, verdicts, isLive }: HeldBackProps) => {
  const [text, setText] = useState('')
  const [verdict, setVerdict] = useState('')
  const [max, setMax] = useState(12)
  const words = text.toLowerCase().split(/\s+/).filter(word => word !== '')
  const found = rows.filter(row =>
    (verdict === '' || row.verdict === verdict) && words.every(word => textOf(row).includes(word)))
  const [newest] = rows
  const kinds = verdicts.filter(one => rows.some(row => row.verdict === one))
  const tools = (
    <div class="tools">
      {kinds.length > 1 && (
        <select
          aria-label="Verdict" value={verdict} onChange={event => setVerdict(event.currentTarget.value)}
        >
          <option value="">any verdict</option>
          {kinds.map(one => <option key={one} value={one}>{one}</option>)}
        </select>
      )}
      <input
        type="search" placeholder="Search tool, rule, reason …" aria-label="Search what was held back"
        value={text} onInput={event => setText(event.currentTarget.value)}
      />
    </div>
  )
  const note = words.length + verdict.length > 0
    ? `${found.length} of ${rows.length}`
    : `${whole(rows.length + left)}, calls and other messages`
  const news = newest && `${newest.verdict}: ${newest.server} ${newest.subject}, ${newest.reasons[0] ?? ''}`
  return (
    <Card title="Held back" note={rows.length === 0 ? undefined : note} tools={rows.length > 0 && tools}>
      {isLive && <p class="unseen" role="status">{news}</p>}
      {rows.length === 0 && <p class="nothing">Nothing was held back.</p>}
      {rows.length > 0 && found.length === 0 && (
        <p class="nothing">Nothing that was held back has this in it.</p>
      )}
      <ol class="held">
        {found.slice(0, max).map(row => (
          <li key={`${row.time} ${row.session} ${row.subject} ${row.reasons[0] ?? ''}`}>
            <When time={row.time} seconds />
            <span class={`verdict ${row.verdict}`}>{row.verdict}</span>
            <span class="what" title={`${row.subject}, ${row.server}; ${row.client}`}>
              <b><bdi>{row.subject}</bdi></b> <small><bdi>{row.server}</bdi></small>
            </span>
            <span class="why">
              {row.reasons.map((reason, index) => <span key={index}><bdi>{reason}</bdi></span>)}
            </span>
          </li>
        ))}
      </ol>
      {found.length > max && (
        <button type="button" class="more" onClick={() => setMax(max + 100)}>
          Show more of {found.length}
        </button>
      )}
      {left > 0 && (
        <p class="note">
          {count(left, 'older one')} {left === 1 ? 'is' : 'are'} not in this page:
          {' '}<code>mcp-customs audit show --verdict block --verdict demote</code> has them.
        </p>
      )}
    </Card>
  )
}

const textOf = ({ server, subject, client, session, reasons }: Held): string =>
  [server, subject, client, session, ...reasons].join(' ').toLowerCase()
