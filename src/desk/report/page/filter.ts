import { useEffect, useMemo, useState } from 'preact/hooks'
import type { GroupSummary, Periods, SeriesSummary, Summary } from '../summary.js'
import { sumOf } from '../units.js'

/** What the reader has chosen to see. It is kept in the fragment of the address, which can be shared. */
export interface Filter {
  readonly server?: string | undefined
  readonly verdict?: string | undefined
  readonly search?: string | undefined
  /** The last so many milliseconds; or else from and to, in milliseconds since 1970. */
  readonly last?: number | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export type Change = (change: Filter) => void

export const useFilter = (): readonly [Filter, Change] => {
  const [fragment, setFragment] = useState(location.hash)
  useEffect(() => {
    const read = () => setFragment(location.hash)
    addEventListener('popstate', read)
    return () => removeEventListener('popstate', read)
  }, [])
  const filter = useMemo(() => filterIn(fragment), [fragment])
  const change = (changed: Filter) => {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries({ ...filter, ...changed })) {
      if (value !== undefined && value !== '') parameters.set(name, String(value))
    }
    const next = `#${parameters.toString()}`
    // Each letter of a search would be a step back.
    if ('search' in changed) history.replaceState(null, '', next)
    else history.pushState(null, '', next)
    setFragment(next)
  }
  return [filter, change]
}

const filterIn = (fragment: string): Filter => {
  const parameters = new URLSearchParams(fragment.slice(1))
  const text = (name: string) => parameters.get(name) ?? undefined
  const number = (name: string) => {
    const value = Number(text(name) ?? NaN)
    return Number.isFinite(value) && Math.abs(value) < 8e15 ? value : undefined
  }
  return {
    server: text('server'), verdict: text('verdict'), search: text('search'),
    last: number('last'), from: number('from'), to: number('to'),
  }
}

/** Periods, as indexes; `end` is not included. */
export interface Range {
  readonly start: number
  readonly end: number
  /** Whether these are all periods. */
  readonly isAll: boolean
}

/** @param now the end of "the last hour" */
export const rangeOf = (
  { last, from, to }: Filter, { from: first, step, count }: Periods, now: number,
): Range => {
  const begin = last === undefined ? from : now - last
  const index = (time: number) => Math.min(Math.max(Math.floor((time - first) / step), 0), count)
  const start = begin === undefined ? 0 : index(begin)
  const end = to === undefined || last !== undefined ? count : Math.max(start, index(to - 1) + 1)
  return { start, end: Math.min(end, count), isAll: start === 0 && end >= count }
}

/** Start and end of a range, in milliseconds since 1970. */
export const timesOf = ({ start, end }: Range, { from, step }: Periods): readonly [number, number] =>
  [from + start * step, from + end * step]

/** The numbers of each period in the range. */
export const rowsIn = (series: SeriesSummary, { start, end }: Range): readonly (readonly number[])[] => {
  const rows = new Map(series.map(([index = 0, ...numbers]) => [index, numbers]))
  return Array.from({ length: Math.max(0, end - start) }, (_, index) => rows.get(start + index) ?? [])
}

/** The sum of a range, for each kind. */
export const sumsIn = (series: SeriesSummary, { start, end }: Range, kinds: number): readonly number[] => {
  const rows = series.filter(([index = 0]) => index >= start && index < end)
  return Array.from({ length: kinds }, (_, kind) => sumOf(rows.map(row => row[kind + 1] ?? 0)))
}

/** The rows of a server, or of all, with something in the range, and how often. */
export const inRange = <Row extends {
  readonly server: string; readonly count: number; readonly series: SeriesSummary
}>(rows: readonly Row[], server: string | undefined, range: Range): readonly (Row & { times: number })[] =>
  rows.filter(row => server === undefined || row.server === server)
    .map(row => ({ ...row, times: range.isAll ? row.count : sumOf(sumsIn(row.series, range, 1)) }))
    .filter(({ times }) => times > 0)

/** The counts of a group in a range: calls by verdict, and what was held back. */
export const countsIn = ({ series }: GroupSummary, range: Range, { verdicts }: Summary) => {
  const sums = sumsIn(series, range, verdicts.length + 1)
  const calls = sums.slice(0, verdicts.length)
  const of = (verdict: string) => calls[verdicts.indexOf(verdict)] ?? 0
  const others = sums[verdicts.length] ?? 0
  const [blocked, demoted] = [of('block'), of('demote')]
  return { calls, all: sumOf(calls), blocked, demoted, others, held: blocked + demoted + others }
}
