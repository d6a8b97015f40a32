import { useMemo } from 'preact/hooks'
import uPlot from 'uplot'
import type { GroupSummary, Spread } from '../summary.js'
import { duration, sizeText } from '../units.js'
import { AsTable, Card, dash } from './card.js'
import { axesOf, Chart, fromZero } from './chart.js'

/** How long calls take in the server and in the relay, and how large they are. */
export const Distribution = ({ group }: { readonly group: GroupSummary }) => {
  const { relay, upstream, request, response } = group
  const data = useMemo(() => aligned([upstream, relay]), [upstream, relay])
  const options = (read: (name: string) => string) => {
    const { across, up } = axesOf(read)
    const paths = uPlot.paths.stepped?.({ align: 1 }) ?? null
    const area = (label: string, colour: string) =>
      ({ label, stroke: read(colour), fill: `${read(colour)}33`, width: 2, points: { show: false }, paths })
    const ticks = (_: uPlot, values: number[]) =>
      values.map(value => (isPowerOfTen(value) ? duration(value) : ''))
    return {
      series: [{}, area('server', '--upstream'), area('relay', '--relay')],
      axes: [
        { ...across, values: ticks },
        { ...up, values: (_: uPlot, values: number[]) => values.map(value => `${value} %`) },
      ],
      scales: { x: { time: false, distr: 3 as const }, y: { range: fromZero } },
      legend: { show: false },
      cursor: { show: false },
    }
  }
  const rows = [
    ['Server’s time', upstream, duration, '--upstream'], ['Relay’s time', relay, duration, '--relay'],
    ['Request', request, sizeText, undefined], ['Response', response, sizeText, undefined],
  ] as const
  const half = ({ p50, p95 }: Spread) => `half within ${duration(p50)}, 95 % within ${duration(p95)}.`
  const label = `How long calls take. Server: ${half(upstream)} Relay: ${half(relay)}`
  const tableRows = () =>
    data[0].map((at, index) => [duration(at), ...[1, 2].map(kind => `${data[kind]?.[index] ?? 0} %`)])
  return (
    <Card title="Time and size of calls">
      {upstream.count + relay.count > 0 && (
        <>
          <Chart label={label} data={data} options={options} height={170} />
          <AsTable caption="How long calls take" head={['from', 'server', 'relay']} rows={tableRows} />
        </>
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label="Time and size of calls">
        <table>
          <caption class="unseen">Time and size of calls</caption>
          <thead>
            <tr>
              <th scope="col" class="text">Of a call</th>
              {heads.map(name => <th key={name} scope="col" class="number">{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, { count, p50, p95, p99, most }, words, colour]) => (
              <tr key={name}>
                <td class="text">
                  {colour !== undefined && <i class="dot" style={{ background: `var(${colour})` }} />}{name}
                </td>
                {[p50, p95, p99, most].map((value, index) => (
                  <td key={index} class="number">{count === 0 ? dash() : words(value)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

const heads = ['p50', 'p95', 'p99', 'most']

/** The end of a class divided by its start. */
const growth = 1.3159

/** The shares of values in each class, in percent, by the start of the class. */
const aligned = (spreads: readonly Spread[]): [number[], ...number[][]] => {
  const starts = spreads.flatMap(({ classes }) => classes.map(([from]) => from))
  // The end of a class is the start of the next; a class without a next one needs an end of its own.
  const ends = starts.filter(start => !starts.some(other => other > start && other < start * growth * 1.01))
    .map(start => Number((start * growth).toPrecision(4)))
  const all = [...new Set([...starts, ...ends])].sort((a, b) => a - b)
  const shares = spreads.map(({ classes, count }) => {
    const counts = new Map(classes)
    return all.map(edge => Math.round((1000 * (counts.get(edge) ?? 0)) / Math.max(1, count)) / 10)
  })
  return [all, ...shares]
}

const isPowerOfTen = (value: number): boolean =>
  Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9
