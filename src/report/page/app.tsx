import { useEffect, useState } from 'preact/hooks'
import type { GroupSummary, Spread, Summary } from '../summary.js'
import { clockOf, count, dayOf, duration, sumOf, whole } from '../units.js'
import { Distribution } from './distribution.js'
import { HeldBack } from './held.js'
import { OverTime } from './over-time.js'
import { Logs, Offers, Rules, Servers, Sessions, Tools } from './tables.js'

export type Connection = 'connecting' | 'live' | 'lost'

interface AppProps {
  readonly summary: Summary
  /** Undefined for a page that holds its data. */
  readonly connection?: Connection
}

export const App = ({ summary, connection }: AppProps) => {
  const [chosen, choose] = useState<string>()
  const { held, sessions, offers, logs, verdicts, families, servers } = summary
  const group: GroupSummary = servers.find(({ server }) => server === chosen) ?? summary.all
  const { server, series } = group
  const hasSeveral = servers.length > 1
  const isOfOne = server !== undefined || servers.length === 1
  const isLive = connection !== undefined
  const of = <Row extends { readonly server: string }>(rows: readonly Row[]): readonly Row[] =>
    server === undefined ? rows : rows.filter(row => row.server === server)
  useEffect(() => {
    const waiting = held.rows.length === 0 ? '' : `(${whole(held.rows.length + held.left)}) `
    const ofServer = server === undefined ? '' : `: ${server}`
    document.title = isLive ? `${waiting}mcp-customs` : `mcp-customs report${ofServer}`
  })
  return (
    <>
      <Header summary={summary} connection={connection} chosen={server} choose={choose} />
      <main>
        <Tiles group={group} verdicts={verdicts} />
        <div class="pair">
          <OverTime
            title="Calls over time" noun="call" names={verdicts} series={series} rows={series.calls}
            colour={name => `--${name}`}
          />
          <OverTime
            title="Findings over time" noun="finding" names={families} series={series} rows={series.findings}
            colour={name => `--family-${name}`} note="Without annotations that were removed"
          />
        </div>
        <HeldBack rows={of(held.rows)} left={held.left} verdicts={verdicts} isLive={isLive} />
        {hasSeveral && <Servers groups={servers} verdicts={verdicts} chosen={server} choose={choose} />}
        <Tools tools={group.tools} verdicts={verdicts} isOfOne={isOfOne} />
        <div class="pair">
          <Rules rules={group.rules} verdicts={verdicts} />
          <Distribution group={group} />
        </div>
        <Offers rows={of(offers.rows)} left={offers.left} />
        <Sessions rows={of(sessions.rows)} left={sessions.left} />
        {logs !== undefined && <Logs logs={logs} />}
      </main>
      <footer>
        {count(summary.records, 'record')} read
        {summary.unreadable > 0 && `, and ${count(summary.unreadable, 'line')} that could not be`}.
        {' '}Quantiles are within 2 %. Times are those of this browser's zone.
      </footer>
    </>
  )
}

interface HeaderProps {
  readonly summary: Summary
  readonly connection: Connection | undefined
  readonly chosen: string | undefined
  readonly choose: (server: string | undefined) => void
}

const words: Readonly<Record<Connection, string>> = {
  connecting: 'connecting', live: 'live', lost: 'no connection',
}

const Header = ({ summary, connection, chosen, choose }: HeaderProps) => {
  const { servers, logs } = summary
  return (
    <header>
      <div class="title">
        <h1>mcp-customs</h1>
        <p>{period(summary)}</p>
      </div>
      <div class="controls">
        {servers.length > 1 && (
          <label class="choice">
            Server{' '}
            <select value={chosen ?? ''} onChange={event => choose(event.currentTarget.value || undefined)}>
              <option value="">all {servers.length}</option>
              {servers.map(({ server = '' }) => <option key={server} value={server}>{server}</option>)}
            </select>
          </label>
        )}
        {logs !== undefined && <Chain logs={logs} />}
        {connection && <span class={`state ${connection}`} role="status">{words[connection]}</span>}
      </div>
    </header>
  )
}

const period = ({ from, to }: Summary): string => {
  if (from === undefined || to === undefined) return 'Nothing is on record'
  const [start, end] = [from, to].map(time => clockOf(time).slice(0, 5))
  if (dayOf(from) === dayOf(to)) return `${dayOf(from)}, ${start} to ${end}`
  return `${dayOf(from)} ${start} to ${dayOf(to)} ${end}`
}

const Chain = ({ logs }: { readonly logs: NonNullable<Summary['logs']> }) => {
  const broken = logs.filter(({ ok }) => !ok).length
  return broken === 0
    ? <a class="state live" href="#logs">{count(logs.length, 'log')} verified</a>
    : <a class="state lost" href="#logs">{broken} of {count(logs.length, 'log')} changed</a>
}

interface TileProps {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly colour?: string
  readonly isQuiet?: boolean
}

const Tile = ({ name, value, note, colour, isQuiet = false }: TileProps) => (
  <div class={isQuiet ? 'tile quiet' : 'tile'}>
    <h2>{colour !== undefined && <i class="dot" style={{ background: `var(${colour})` }} />}{name}</h2>
    <p class="value">{value}</p>
    <p class="note">{note}</p>
  </div>
)

const titles = new Map([
  ['pass', 'Passed'], ['log', 'With findings'], ['mend', 'Mended'],
  ['demote', 'Demoted'], ['block', 'Blocked'],
])

const Tiles = ({ group, verdicts }: { readonly group: GroupSummary } & Pick<Summary, 'verdicts'>) => {
  const calls = sumOf(group.calls)
  const tiles = verdicts.map((verdict, index) => ({ verdict, number: group.calls[index] ?? 0 }))
    // Messages are mended only when the operator asks for it.
    .filter(({ verdict, number }) => verdict !== 'mend' || number > 0)
  return (
    <section class="tiles" aria-label="In short">
      <Tile name="Calls" value={whole(calls)} note={`in ${count(group.sessions, 'session')}`} />
      {tiles.map(({ verdict, number }) => (
        <Tile
          key={verdict} name={titles.get(verdict) ?? verdict} colour={`--${verdict}`}
          value={whole(number)} note={share(number, calls)} isQuiet={number === 0}
        />
      ))}
      <Tile name="Server’s time" {...quantile(group.upstream)} />
      <Tile name="Relay’s time" {...quantile(group.relay)} />
    </section>
  )
}

const share = (part: number, of: number): string => {
  if (part === 0 || of === 0) return ' '
  const percent = (100 * part) / of
  const rounded = percent.toFixed(percent < 10 ? 1 : 0)
  return `${percent < 0.1 ? '< 0.1' : percent >= 99.95 && part < of ? '> 99.9' : rounded} % of calls`
}

const quantile = ({ count, p50, p95 }: Spread) =>
  count === 0
    ? { value: '–', note: ' ', isQuiet: true }
    : { value: duration(p50), note: `median; p95 ${duration(p95)}` }
