import type { LogRow, OfferRow, SessionRow } from '../summary.js'
import { count, duration, whole } from '../units.js'
import { Card } from './card.js'
import { Sortable, type Column } from './sortable.js'
import { When } from './tables.js'

const drift = 'tool/drift'

/** What was found in what servers offer: what has changed first, then the rest. */
export const Offers = ({ rows, left }: { readonly rows: readonly OfferRow[]; readonly left: number }) => {
  const changed = rows.filter(({ rule }) => rule === drift)
  const found = rows.filter(({ rule }) => rule !== drift)
  const columns: readonly Column<OfferRow>[] = [
    { name: 'Server', by: ({ server }) => server, cell: ({ server }) => <span class="name"><bdi>{server}</bdi></span> },
    { name: 'Finding', kind: 'long', by: ({ rule }) => rule, cell: ({ rule, path, message }) => <><b>{rule}</b> <bdi>{message}</bdi> <small><bdi>{path}</bdi></small></> },
    { name: 'Times', kind: 'number', by: ({ times }) => times, cell: ({ times }) => whole(times) },
    { name: 'Last', kind: 'number', by: ({ last }) => last, cell: ({ last }) => <When time={last} /> },
  ]
  const keyOf = ({ server, rule, path, message }: OfferRow) => [server, rule, path, message].join(' ')
  return (
    <Card title="What servers offer" note="Tools, prompts and instructions, as they were listed">
      <h3>Changed</h3>
      {changed.length === 0 ? <p class="nothing">No server changed what it offers.</p> : <Sortable caption="Changed" columns={columns} rows={changed} keyOf={keyOf} few={10} />}
      {found.length > 0 && <h3>Found</h3>}
      {found.length > 0 && <Sortable caption="Found" columns={columns} rows={found} keyOf={keyOf} few={8} left={left > 0 ? `${count(left, 'older finding')} left out.` : undefined} />}
    </Card>
  )
}

interface SessionsProps {
  readonly rows: readonly SessionRow[]
  readonly left: number
  readonly now: number
}

export const Sessions = ({ rows, left }: SessionsProps) => {
  const columns: readonly Column<SessionRow>[] = [
    { name: 'Began', by: ({ started = 0 }) => started, cell: ({ started }) => (started === undefined ? <span class="zero">earlier</span> : <When time={started} />) },
    { name: 'Server', by: ({ server }) => server, cell: ({ server }) => <span class="name"><bdi>{server}</bdi></span> },
    { name: 'Client', by: ({ client }) => client, cell: ({ client, revision }) => <span class="name" title={client}><bdi>{client === '' ? '–' : client}</bdi> <small>{revision}</small></span> },
    { name: 'Calls', kind: 'number', by: ({ calls }) => calls, cell: ({ calls }) => whole(calls) },
    { name: 'Held back', kind: 'number', by: ({ held }) => held, cell: ({ held }) => (held === 0 ? <span class="zero">0</span> : whole(held)) },
    { name: 'Findings', kind: 'number', by: ({ findings }) => findings, cell: ({ findings }) => (findings === 0 ? <span class="zero">0</span> : whole(findings)) },
    { name: 'Lasted', kind: 'number', by: row => row.last - (row.started ?? row.last), cell: ({ started, last }) => (started === undefined ? '–' : duration(last - started)) },
    { name: 'End', kind: 'long', by: ({ ended = '' }) => ended, cell: ({ ended }) => (ended === undefined ? <em>open</em> : <bdi>{ended}</bdi>) },
  ]
  return (
    <Card title="Sessions" note={rows.length === 0 ? undefined : whole(rows.length + left)}>
      {rows.length === 0 ? <p class="nothing">There was none.</p> : <Sortable caption="Sessions" columns={columns} rows={rows} keyOf={({ server, session }) => `${server} ${session}`} few={10} left={left > 0 ? `${count(left, 'older session')} left out.` : undefined} />}
    </Card>
  )
}

export const Logs = ({ logs }: { readonly logs: readonly LogRow[] }) => (
  <Card title="Logs" id="logs" note="What the chain of hashes shows, as audit verify says it">
    <ul class="logs">
      {logs.map(({ ok, text }) => <li key={text} class={ok ? 'ok' : 'broken'}><b>{ok ? '✓' : '✗'}<span class="unseen">{ok ? 'verified' : 'changed'}</span></b> <bdi>{text}</bdi></li>)}
    </ul>
  </Card>
)
