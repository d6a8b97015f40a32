import { useMemo, useState } from 'preact/hooks'
import uPlot from 'uplot'
import type { SeriesSummary } from '../summary.js'
import { clockOf, count, dayOf, whole } from '../units.js'
import { axesOf, Chart } from './chart.js'
import { AsTable } from './as-table.js'
import { Card } from './card.js'

interface OverTimeProps {
  readonly title: string
  /** What is counted: `call`. */
  readonly noun: string
  readonly note?: string
  /** Of the kinds that are stacked, from the bottom. */
  readonly names: readonly string[]
  readonly series: SeriesSummary
  /** A number for each kind, in each period. */
  readonly rows: readonly (readonly number[])[]
  /** The custom property that holds the colour of a kind. */
  readonly colour: (name: string) => string
}

/** Counts over time, the kinds on top of each other. */
export const OverTime = ({ title, noun, note, names, series: { from, step }, rows, colour }: OverTimeProps) => {
  const [at, setAt] = useState<number>()
  const totals = useMemo(() => names.map((_, kind) => rows.reduce((sum, row) => sum + (row[kind] ?? 0), 0)), [rows])
  const kinds = names.map((name, kind) => ({ name, kind, total: totals[kind] ?? 0 })).filter(({ total }) => total > 0)
  const data = useMemo(() => stacked(from, step, rows, kinds.map(({ kind }) => kind)), [rows, from, step])
  const all = totals.reduce((sum, total) => sum + total, 0)
  const row = at === undefined ? undefined : rows[at]
  const heading = at === undefined ? `per ${words(step)}` : `${dayOf(from + at * step)} ${clockOf(from + at * step).slice(0, step < 60_000 ? 8 : 5)}`
  const label = `${title}, per ${words(step)}: ${count(all, noun)} in all; ${kinds.map(({ name, total }) => `${name} ${whole(total)}`).join(', ')}. The numbers are in the table that follows.`
  const options = (read: (name: string) => string) => {
    const { across, up } = axesOf(read)
    // What lies on top is drawn first: what is below it covers the rest.
    const series = [...kinds].reverse().map(({ name }) => ({
      label: name, fill: read(colour(name)), stroke: read(colour(name)), width: 0, points: { show: false }, paths: uPlot.paths.bars?.({ size: [0.86, 48], align: 1 }) ?? null,
    }))
    return {
      series: [{}, ...series],
      axes: [{ ...across, incrs: seconds, space: 64, values: (_: uPlot, times: number[]) => times.map(time => tickText(time * 1000, step * rows.length)) }, { ...up, incrs: wholes, values: (_: uPlot, values: number[]) => values.map(whole) }],
      scales: { x: { range: (): [number, number] => [from / 1000, (from + Math.max(1, rows.length) * step) / 1000] }, y: { range: (_: uPlot, __: number, most: number): [number, number] => [0, Math.max(1, most * 1.05)] } },
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    }
  }
  return (
    <Card title={title} note={note}>
      {all === 0 ? <p class="nothing">None.</p> : (
        <>
          <ul class="legend">
            <li class="when">{heading}</li>
            {kinds.map(({ name, kind, total }) => <li key={name}><i class="dot" style={{ background: `var(${colour(name)})` }} />{name} <b>{whole(row === undefined ? total : (row[kind] ?? 0))}</b></li>)}
          </ul>
          <Chart key={`${kinds.map(({ name }) => name).join()} ${from} ${step} ${rows.length}`} label={label} data={data} options={options} height={200} point={setAt} />
          <AsTable
            caption={title}
            head={['from', ...kinds.map(({ name }) => name)]}
            rows={() => rows.flatMap((row, index) => (row.some(number => number > 0) ? [[`${dayOf(from + index * step)} ${clockOf(from + index * step)}`, ...kinds.map(({ kind }) => whole(row[kind] ?? 0))]] : []))}
          />
        </>
      )}
    </Card>
  )
}

/** From one mark on an axis to the next: seconds, and numbers of things. */
const [minute, hour, day] = [60, 3600, 86_400]
const seconds = [1, 5, 10, 30, minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 28 * day, 91 * day, 364 * day, 3640 * day]
const wholes = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map(digit => digit * 10 ** power)).flat()

const stacked = (from: number, step: number, rows: readonly (readonly number[])[], kinds: readonly number[]): uPlot.AlignedData => {
  const times = rows.map((_, index) => (from + index * step) / 1000)
  const sums = rows.map(() => 0)
  const layers = kinds.map(kind => rows.map((row, index) => (sums[index] = (sums[index] ?? 0) + (row[kind] ?? 0))))
  return [times, ...layers.reverse()]
}

const tickText = (time: number, span: number): string => (span > 2.5 * 86_400_000 ? dayOf(time).slice(5) : clockOf(time).slice(0, span < 600_000 ? 8 : 5))

const words = (step: number): string => {
  const units = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000], ['second', 1000]] as const
  for (const [name, length] of units) if (step >= length) return step === length ? name : `${step / length} ${name}s`
  return 'moment'
}
