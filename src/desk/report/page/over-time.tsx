import { useMemo, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { clockOf, countText, dayOf, sumOf, wholeNumber } from '../units.js'
import { AsTable, Card } from './card.js'
import { axesOf, Chart, fromZero } from './chart.js'

interface OverTimeProps {
  readonly title: string
  /** The name of the things that are counted, such as `call`. */
  readonly noun: string
  readonly note?: string
  /** The kinds, in the order in which they are stacked from the bottom. */
  readonly names: readonly string[]
  /** Start of the first period, and length of each, in milliseconds. */
  readonly from: number
  readonly step: number
  /** A number for each kind, in each period. */
  readonly rows: readonly (readonly number[])[]
  /** The CSS custom property with the colour of a kind. */
  readonly colour: (name: string) => string
  /** Called with the times between which the reader has dragged. */
  readonly choose: (from: number, to: number) => void
}

/** A chart of counts over time, by kind, in stacked bars. */
export const OverTime = ({ title, noun, note, names, from, step, rows, colour, choose }: OverTimeProps) => {
  const [at, setAt] = useState<number>()
  const totals = useMemo(() => names.map((_, kind) => sumOf(rows.map(row => row[kind] ?? 0))), [rows])
  const kinds = names.map((name, kind) => ({ name, kind, total: totals[kind] ?? 0 }))
    .filter(({ total }) => total > 0)
  const data = useMemo(() => stacked(from, step, rows, kinds.map(({ kind }) => kind)), [rows, from, step])
  const all = sumOf(totals)
  const shape = `${kinds.map(({ name }) => name).join()} ${from} ${step} ${rows.length}`
  const row = at === undefined ? undefined : rows[at]
  const start = from + (at ?? 0) * step
  const heading = at === undefined
    ? `per ${words(step)}`
    : `${dayOf(start)} ${clockOf(start).slice(0, step < 60_000 ? 8 : 5)}`
  const label = `${title}, per ${words(step)}: ${countText(all, noun)} in all; ` +
    `${kinds.map(({ name, total }) => `${name} ${wholeNumber(total)}`).join(', ')}. ` +
    'The numbers are in the table that follows.'
  const options = (read: (name: string) => string) => {
    const { across, up } = axesOf(read)
    const ticks = (_: uPlot, times: number[]) => times.map(time => tickText(time * 1000, step * rows.length))
    const range = (): [number, number] => [from / 1000, (from + Math.max(1, rows.length) * step) / 1000]
    const paths = uPlot.paths.bars?.({ size: [0.86, 48], align: 1 }) ?? null
    // The values are sums from the bottom up: the highest bars are drawn first, and the lower ones over them.
    const bars = [...kinds].reverse().map(({ name }) => ({
      label: name, fill: read(colour(name)), stroke: read(colour(name)),
      width: 0, points: { show: false }, paths,
    }))
    return {
      series: [{}, ...bars],
      axes: [
        { ...across, incrs: seconds, space: 64, values: ticks },
        { ...up, incrs: wholes, values: (_: uPlot, values: number[]) => values.map(wholeNumber) },
      ],
      scales: { x: { range }, y: { range: fromZero } },
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag },
    }
  }
  const tableRows = () => rows.flatMap((row, index) => {
    const time = from + index * step
    const cells = [`${dayOf(time)} ${clockOf(time)}`, ...kinds.map(({ kind }) => wholeNumber(row[kind] ?? 0))]
    return row.some(number => number > 0) ? [cells] : []
  })
  return (
    <Card title={title} note={note}>
      {all === 0 ? <p class="nothing">None.</p> : (
        <>
          <ul class="legend">
            <li class="when">{heading}</li>
            {kinds.map(({ name, kind, total }) => (
              <li key={name}>
                <i class="dot" style={{ background: `var(${colour(name)})` }} />
                {name} <b>{wholeNumber(row === undefined ? total : (row[kind] ?? 0))}</b>
              </li>
            ))}
          </ul>
          <Chart key={shape} {...{ label, data, options, choose }} height={170} point={setAt} />
          <AsTable caption={title} head={['from', ...kinds.map(({ name }) => name)]} rows={tableRows} />
        </>
      )}
    </Card>
  )
}

const drag = { x: true, y: false, setScale: false }

/** Distances between the ticks of an axis: seconds, and whole numbers. */
const seconds = [
  ...[1, 5, 10, 30], ...[1, 5, 10, 30].map(n => n * 60), ...[1, 2, 3, 6, 12].map(n => n * 3600),
  ...[1, 2, 7, 28, 91, 364, 3640].map(n => n * 86_400),
]
const wholes = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map(digit => digit * 10 ** power)).flat()

/** The data of the chart: for each kind, sums of it and all kinds below it; the top one first. */
const stacked = (
  from: number, step: number, rows: OverTimeProps['rows'], kinds: readonly number[],
): uPlot.AlignedData => {
  const times = rows.map((_, index) => (from + index * step) / 1000)
  const sums = rows.map(() => 0)
  const layers = kinds.map(kind =>
    rows.map((row, index) => (sums[index] = (sums[index] ?? 0) + (row[kind] ?? 0))))
  return [times, ...layers.reverse()]
}

const tickText = (time: number, span: number): string =>
  (span > 2.5 * 86_400_000 ? dayOf(time).slice(5) : clockOf(time).slice(0, span < 600_000 ? 8 : 5))

const words = (step: number): string => {
  const units = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000], ['second', 1000]] as const
  for (const [name, length] of units) {
    if (step >= length) return step === length ? name : `${step / length} ${name}s`
  }
  return 'moment'
}
