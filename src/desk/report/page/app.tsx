import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { GroupSummary, ReadingProgress, Spread, Summary } from '../summary.js'
import { clockOf, countText, dayOf, duration, wholeNumber } from '../units.js'
import { Copied } from './card.js'
import { Distribution } from './distribution.js'
import { countsIn, type TimeRange, rowsIn, timesOf } from '../range.js'
import { type FilterChange, type Filter, rangeOf, useFilter } from './filter.js'
import { HeldBack } from './held.js'
import { Needs } from './needs.js'
import { OverTime } from './over-time.js'
import { Logs, Offers, RulesTable, Servers, SessionsTable, Tools } from './tables.js'

export type FeedConnection = 'connecting' | 'live' | 'lost'

interface AppProps {
  readonly summary: Summary
  /** Undefined for a page that holds its data. */
  readonly connection?: FeedConnection
  /** Set while many new records are read. */
  readonly reading?: ReadingProgress | undefined
}

export const App = ({ summary, connection, reading }: AppProps) => {
  const [filter, change] = useFilter()
  const { sessions, offers, logs, verdicts, servers, periods, made, to } = summary
  const group: GroupSummary = servers.find(({ server }) => server === filter.server) ?? summary.all
  const { server } = group
  const isLive = connection !== undefined
  const range = rangeOf(filter, periods, isLive ? made : (to ?? made))
  const [from] = timesOf(range, periods)
  const of = <Row extends { readonly server: string }>(rows: readonly Row[]): readonly Row[] =>
    server === undefined ? rows : rows.filter(row => row.server === server)
  const { held } = countsIn(group, range, summary)
  useEffect(() => {
    const [waiting, ofServer] =
      [held === 0 ? '' : `(${wholeNumber(held)}) `, server === undefined ? '' : `: ${server}`]
    document.title = isLive ? `${waiting}mcp-customs` : `mcp-customs report${ofServer}`
  })
  const rows = rowsIn(group.series, range)
  const choose = (start: number, end: number) =>
    change({ from: Math.floor(start), to: Math.ceil(end), last: undefined })
  const charts = { from, step: periods.step, choose }
  const isOfOne = server !== undefined || servers.length === 1
  return (
    <>
      <Header {...{ summary, connection, reading, filter, change, range, server }} />
      {summary.records === 0 ? <main><Empty summary={summary} isLive={isLive} /></main> : (
        <main>
          {isLive && <p class="unseen" role="status">{newsOf(summary)}</p>}
          <Needs summary={summary} server={server} range={range} />
          <Tiles {...{ group, summary, range, filter, change }} />
          {held > 0 && <HeldBack {...{ summary, range, change }} filter={{ ...filter, server }} />}
          <div class={held > 0 ? 'pair' : ''}>
            {held > 0 && (
              <OverTime
                {...charts} title="Held back over time" noun="message" names={heldKinds}
                rows={rows.map(row => heldOf(row, verdicts))} colour={name => `--${name}`}
              />
            )}
            <OverTime
              {...charts} title="Calls over time" noun="call" names={verdicts}
              rows={rows.map(row => row.slice(0, verdicts.length))} colour={name => `--${name}`}
            />
          </div>
          {servers.length > 1 && <Servers {...{ summary, range, change }} chosen={server} />}
          {!range.isAll && (
            <p class="note">What follows is of the whole time, not only of the time chosen.</p>
          )}
          <Tools tools={group.tools} verdicts={verdicts} isOfOne={isOfOne} />
          <div class="pair">
            <RulesTable rules={group.rules} verdicts={verdicts} />
            <Distribution group={group} />
          </div>
          <Offers rows={of(offers.rows)} left={offers.left} />
          <SessionsTable rows={of(sessions.rows)} left={sessions.left} />
          {logs !== undefined && <Logs logs={logs} />}
        </main>
      )}
      <footer>
        {countText(summary.records, 'record')} read
        {summary.unreadable > 0 && `, and ${countText(summary.unreadable, 'line')} that could not be`}.
        {summary.records > 0 && ' Medians and p95 are within 2 %. Times are those of this browser’s zone.'}
      </footer>
    </>
  )
}

/** What was held back last, for screen readers: it is read out when it changes. */
const newsOf = ({ held: { rows: [row] } }: Summary): string =>
  (row === undefined ? '' : `${row.verdict}: ${row.server} ${row.subject}, ${row.newest.reason}`)

const heldKinds = ['demote', 'block', 'other']

const heldOf = (row: readonly number[], verdicts: readonly string[]): readonly number[] =>
  ['demote', 'block'].map(verdict => row[verdicts.indexOf(verdict)] ?? 0).concat(row[verdicts.length] ?? 0)

interface HeaderProps {
  readonly summary: Summary
  readonly connection: FeedConnection | undefined
  readonly reading: ReadingProgress | undefined
  readonly filter: Filter
  readonly change: FilterChange
  readonly range: TimeRange
  readonly server: string | undefined
}

const words: Readonly<Record<FeedConnection, string>> = {
  connecting: 'connecting', live: 'live', lost: 'no connection',
}

const Header = ({ summary, connection, reading, filter, change, range, server }: HeaderProps) => {
  const { servers, logs, records } = summary
  return (
    <header>
      <div class="title">
        <h1>mcp-customs</h1>
        <p>{period(summary, range)}</p>
      </div>
      <div class="controls">
        {servers.length > 1 && (
          <label class="choice">
            Server{' '}
            <select value={server ?? ''} onChange={event => change({ server: event.currentTarget.value })}>
              <option value="">all {servers.length} servers</option>
              {servers.map(({ server = '' }) => <option key={server} value={server}>{server}</option>)}
            </select>
          </label>
        )}
        {records > 0 && <Time {...{ summary, filter, change, range }} />}
        {logs !== undefined && <Chain logs={logs} />}
        {connection && (
          <span class={`state ${connection}`} role="status">
            {reading && connection === 'live' ? `reading, ${percent(reading)}` : words[connection]}
          </span>
        )}
      </div>
    </header>
  )
}

const percent = ({ done, total }: ReadingProgress): string =>
  `${total === 0 ? 0 : Math.floor((100 * done) / total)} %`

const period = ({ from, to, periods }: Summary, range: TimeRange): string => {
  if (from === undefined || to === undefined) return 'Nothing is on record'
  const [first, last] = range.isAll ? [from, to] : timesOf(range, periods)
  const [start, end] = [first, last].map(time => clockOf(time).slice(0, 5))
  if (dayOf(first) === dayOf(last)) return `${dayOf(first)}, ${start} to ${end}`
  return `${dayOf(first)} ${start} to ${dayOf(last)} ${end}`
}

const hour = 3_600_000
const spans: readonly (readonly [number, string])[] = [
  [hour, 'the last hour'], [6 * hour, 'the last 6 hours'], [24 * hour, 'the last 24 hours'],
  [7 * 24 * hour, 'the last 7 days'],
]

type TimeProps = Pick<HeaderProps, 'summary' | 'filter' | 'change' | 'range'>

/** The choice of a range of time. */
const Time = ({ summary: { periods }, filter: { last, from, to }, change, range }: TimeProps) => {
  const [first, end] = timesOf(range, periods)
  const span = periods.count * periods.step
  const isOwn = last === undefined && (from !== undefined || to !== undefined)
  const choose = (value: string) => {
    if (value === 'own') change({ last: undefined, from: first, to: end })
    else change({ last: value === '' ? undefined : Number(value), from: undefined, to: undefined })
  }
  const input = (name: 'from' | 'to', value: number) => (
    <input
      type="datetime-local" aria-label={name} value={localOf(value)} step={periods.step < 60_000 ? 1 : 60}
      onChange={({ currentTarget: { value: text } }) => {
        const time = Date.parse(text)
        if (!Number.isNaN(time)) change({ last: undefined, from: first, to: end, [name]: time })
      }}
    />
  )
  return (
    <>
      <label class="choice">
        Time{' '}
        <select
          value={isOwn ? 'own' : String(last ?? '')} onChange={event => choose(event.currentTarget.value)}
        >
          <option value="">the whole time</option>
          {spans.filter(([length]) => length < span || length === last)
            .map(([length, name]) => <option key={length} value={String(length)}>{name}</option>)}
          <option value="own">from … to …</option>
        </select>
      </label>
      {isOwn && <span class="choice">{input('from', first)} {input('to', end)}</span>}
    </>
  )
}

/** As an input for a local time has it. */
const localOf = (time: number): string => `${dayOf(time)}T${clockOf(time)}`

const Chain = ({ logs }: { readonly logs: NonNullable<Summary['logs']> }) => {
  const broken = logs.filter(({ ok }) => !ok).length
  // A link would replace the fragment of the address, which holds the filter.
  const go = () => document.getElementById('logs')?.scrollIntoView()
  return (
    <button type="button" class={`state ${broken === 0 ? 'live' : 'lost'}`} onClick={go}>
      {broken === 0 ? '' : `${broken} of `}{countText(logs.length, 'log')} {broken === 0 ? 'verified' : 'changed'}
    </button>
  )
}

/** Shown in the place of everything else while there is nothing to count. */
const Empty = ({ summary: { places }, isLive }: { readonly summary: Summary; readonly isLive: boolean }) => {
  const isOfGateway = places.length === 0
  return (
    <section class="card start">
      <h2>{isLive ? 'No server was used yet' : 'The logs hold no record'}</h2>
      {places.length > 0 && (
        <p>{isLive ? 'This page watches' : 'This page is of'} <code>{places.join(', ')}</code>.</p>
      )}
      {!isLive && (
        <p><code>--since</code>, <code>--until</code> and <code>--server</code> leave records out.</p>
      )}
      {!isOfGateway && (
        <>
          <p>Nothing is wrong: either no client uses a server through mcp-customs, or no tool was called
            {' '}yet.{isLive && ' Calls show up here within a second.'}</p>
          <ul class="steps">
            <li>see which clients do: <Copied text="mcp-customs install --check" /></li>
            <li>for the servers that a client has already: <Copied text="mcp-customs install" /></li>
            <li>for one server, by hand: <Copied text="mcp-customs wrap -- COMMAND" /></li>
          </ul>
          <p>Restart the client after that, and use a tool.</p>
        </>
      )}
      {isLive && isOfGateway && (
        <p>Calls show up here within a second. Point a client at the address of this gateway.</p>
      )}
    </section>
  )
}

/** While a page is read for the first time. No total is shown, because it would be one of a part. */
export const Loading = ({ reading }: { readonly reading: ReadingProgress | undefined }) => (
  <main class="waiting">
    <h1>mcp-customs</h1>
    <p role="status">Reading{reading !== undefined && reading.total > 0 ? `, ${percent(reading)}` : ' …'}</p>
    {reading !== undefined && (
      <>
        <progress aria-label="Read" max={Math.max(1, reading.total)} value={reading.done} />
        <p>The logs in <code>{reading.places.join(', ')}</code></p>
      </>
    )}
  </main>
)

interface TileProps {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly colour?: string
  readonly isQuiet?: boolean
  /** For a tile that filters: whether it does, and how to change that. */
  readonly isPressed?: boolean
  readonly press?: () => void
}

const Tile = ({ name, value, note, colour, isQuiet = false, isPressed, press }: TileProps) => {
  const content: ComponentChildren = (
    <>
      <span class="name">
        {colour !== undefined && <i class="dot" style={{ background: `var(${colour})` }} />}{name}
      </span>
      <span class="value">{value}</span>
      <span class="note">{note}</span>
    </>
  )
  const kind = isQuiet ? 'tile quiet' : 'tile'
  return press === undefined
    ? <div class={kind}>{content}</div>
    : <button type="button" class={kind} aria-pressed={isPressed} onClick={press}>{content}</button>
}

const titles = new Map([
  ['pass', 'Passed'], ['log', 'Passed, with findings'], ['mend', 'Mended'],
  ['demote', 'Turned into errors'], ['block', 'Blocked'], ['lost', 'Lost with the server'],
])

interface TilesProps extends Pick<HeaderProps, 'summary' | 'filter' | 'change' | 'range'> {
  readonly group: GroupSummary
}

const Tiles = ({ group, summary, range, filter, change }: TilesProps) => {
  const { calls, all } = countsIn(group, range, summary)
  const errors = group.errors > 0 ? `, ${wholeNumber(group.errors)} answered by an error` : ''
  const sessions = range.isAll ? `in ${countText(group.sessions, 'session')}${errors}` : ' '
  const tiles = summary.verdicts.map((verdict, index) => ({ verdict, number: calls[index] ?? 0 }))
    // Calls are mended only when the operator asks for it.
    .filter(({ verdict, number }) => (verdict !== 'mend' && verdict !== 'lost') || number > 0)
  const filtering = (verdict: string, number: number) => {
    const isPressed = filter.verdict === verdict
    return (verdict === 'demote' || verdict === 'block') && (number > 0 || isPressed)
      ? { isPressed, press: () => change({ verdict: isPressed ? undefined : verdict }) }
      : {}
  }
  return (
    <section class="tiles" aria-label="In short">
      <Tile name="Calls" value={wholeNumber(all)} note={sessions} />
      {tiles.map(({ verdict, number }) => (
        <Tile
          key={verdict} name={titles.get(verdict) ?? verdict} colour={`--${verdict}`}
          value={wholeNumber(number)} note={share(number, all)} isQuiet={number === 0}
          {...filtering(verdict, number)}
        />
      ))}
      {range.isAll && <Tile name="Server’s time" {...quantile(group.upstream)} />}
      {range.isAll && <Tile name="Relay’s time" {...quantile(group.relay)} />}
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
