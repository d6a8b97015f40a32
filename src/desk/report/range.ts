import type { GroupSummary, Periods, SeriesSummary, Summary } from './summary.js'
import { sumOf } from './units.js'

/** Periods, as indexes; `end` is not included. */
export interface TimeRange {
  readonly start: number
  readonly end: number
  /** Whether these are all periods. */
  readonly isAll: boolean
}

/** Start and end of a range, in milliseconds since 1970. */
export const timesOf = ({ start, end }: TimeRange, { from, step }: Periods): readonly [number, number] =>
  [from + start * step, from + end * step]

/** The numbers of each period in the range. */
export const rowsIn = (series: SeriesSummary, { start, end }: TimeRange): readonly (readonly number[])[] => {
  const rows = new Map(series.map(([index = 0, ...numbers]) => [index, numbers]))
  return Array.from({ length: Math.max(0, end - start) }, (_, index) => rows.get(start + index) ?? [])
}

/** The sum of a range, for each kind. */
export const sumsIn = (
  series: SeriesSummary, { start, end }: TimeRange, kinds: number,
): readonly number[] => {
  const rows = series.filter(([index = 0]) => index >= start && index < end)
  return Array.from({ length: kinds }, (_, kind) => sumOf(rows.map(row => row[kind + 1] ?? 0)))
}

/** The rows of a server, or of all, with something in the range, and how often. */
export const inRange = <Row extends {
  readonly server: string; readonly count: number; readonly series: SeriesSummary
}>(
  rows: readonly Row[], server: string | undefined, range: TimeRange,
): readonly (Row & { times: number })[] =>
  rows.filter(row => server === undefined || row.server === server)
    .map(row => ({ ...row, times: range.isAll ? row.count : sumOf(sumsIn(row.series, range, 1)) }))
    .filter(({ times }) => times > 0)

/** The counts of a group in a range: calls by verdict, and what was held back. */
export const countsIn = ({ series }: GroupSummary, range: TimeRange, { verdicts }: Summary) => {
  const sums = sumsIn(series, range, verdicts.length + 1)
  const calls = sums.slice(0, verdicts.length)
  const of = (verdict: string) => calls[verdicts.indexOf(verdict)] ?? 0
  const others = sums[verdicts.length] ?? 0
  const [blocked, demoted] = [of('block'), of('demote')]
  return { calls, all: sumOf(calls), blocked, demoted, others, held: blocked + demoted + others }
}
