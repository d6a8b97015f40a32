import type { GroupSummary, Spread } from '../summary.js'
import { duration, whole } from '../units.js'

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** The numbers that people ask for first. */
export const Tiles = ({ group, verdicts }: { readonly group: GroupSummary; readonly verdicts: readonly string[] }) => {
  const calls = sum(group.calls)
  return (
    <section class="tiles" aria-label="In short">
      <Tile name="Calls" value={whole(calls)} note={group.sessions === 1 ? 'in 1 session' : `in ${whole(group.sessions)} sessions`} />
      {verdicts.map((verdict, index) => {
        const number = group.calls[index] ?? 0
        // Of an action that nobody asked for there is nothing to say.
        return verdict === 'mend' && number === 0 ? null : <Tile key={verdict} name={titles.get(verdict) ?? verdict} colour={`--${verdict}`} value={whole(number)} note={share(number, calls)} isQuiet={number === 0} />
      })}
      <Tile name="Server’s time" {...quantile(group.upstream)} />
      <Tile name="Relay’s time" {...quantile(group.relay)} />
    </section>
  )
}

const titles = new Map([['pass', 'Passed'], ['log', 'With findings'], ['mend', 'Mended'], ['demote', 'Demoted'], ['block', 'Blocked']])

const share = (part: number, of: number): string => {
  if (part === 0 || of === 0) return ' '
  const percent = (100 * part) / of
  return `${percent < 0.1 ? '< 0.1' : percent >= 99.95 && part < of ? '> 99.9' : percent.toFixed(percent < 10 ? 1 : 0)} % of calls`
}

const quantile = ({ count, p50, p95 }: Spread) =>
  count === 0 ? { value: '–', note: ' ', isQuiet: true } : { value: duration(p50), note: `median; p95 ${duration(p95)}` }

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
