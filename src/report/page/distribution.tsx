import { useMemo } from 'preact/hooks'
import uPlot from 'uplot'
import type { GroupSummary, Spread } from '../summary.js'
import { duration, size } from '../units.js'
import { axesOf, Chart } from './chart.js'
import { AsTable } from './as-table.js'
import { Card } from './card.js'

/** How long calls take, of the server's time and of ours, and how large they are. */
export const Distribution = ({ group: { relay, upstream, request, response } }: { readonly group: GroupSummary }) => {
  const data = useMemo(() => aligned([upstream, relay]), [upstream, relay])
  const options = (read: (name: string) => string) => {
    const { across, up } = axesOf(read)
    const area = (label: string, colour: string) => ({ label, stroke: read(colour), fill: `${read(colour)}33`, width: 2, points: { show: false }, paths: uPlot.paths.stepped?.({ align: 1 }) ?? null })
    return {
      series: [{}, area('server', '--upstream'), area('relay', '--relay')],
      axes: [{ ...across, values: (_: uPlot, values: number[]) => values.map(value => (isPowerOfTen(value) ? duration(value) : '')) }, { ...up, values: (_: uPlot, values: number[]) => values.map(value => `${value} %`) }],
      scales: { x: { time: false, distr: 3 as const }, y: { range: (_: uPlot, __: number, most: number): [number, number] => [0, Math.max(1, most * 1.05)] } },
      legend: { show: false },
      cursor: { show: false },
    }
  }
  const rows = [['Server’s time', upstream, duration, '--upstream'], ['Relay’s time', relay, duration, '--relay'], ['Request', request, size, undefined], ['Response', response, size, undefined]] as const
  return (
    <Card title="Time and size of calls">
      {upstream.count + relay.count > 0 && (
        <>
          <Chart label={`How long calls take. Server: half within ${duration(upstream.p50)}, 95 % within ${duration(upstream.p95)}. Relay: half within ${duration(relay.p50)}, 95 % within ${duration(relay.p95)}.`} data={data} options={options} height={170} />
          <AsTable caption="How long calls take" head={['from', 'server', 'relay']} rows={() => data[0].map((at, index) => [duration(at), ...[1, 2].map(kind => `${data[kind]?.[index] ?? 0} %`)])} />
        </>
      )}
      <div class="scroll">
        <table>
          <caption class="unseen">Time and size of calls</caption>
          <thead><tr><th scope="col" class="text">Of a call</th>{['p50', 'p95', 'p99', 'most'].map(name => <th key={name} scope="col" class="number">{name}</th>)}</tr></thead>
          <tbody>
            {rows.map(([name, { count, p50, p95, p99, most }, words, colour]) => (
              <tr key={name}>
                <td class="text">{colour !== undefined && <i class="dot" style={{ background: `var(${colour})` }} />}{name}</td>
                {[p50, p95, p99, most].map((value, index) => <td key={index} class="number">{count === 0 ? <span class="zero">–</span> : words(value)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

/** Shares of values, in percent, by where their classes begin. */
const aligned = (spreads: readonly Spread[]): [number[], ...number[][]] => {
  const edges = new Set(spreads.flatMap(({ classes }) => classes.map(([from]) => from)))
  const sorted = [...edges].sort((a, b) => a - b)
  // Each class ends where the next one begins; the last one needs an end too.
  const growth = 1.3159
  const all = [...new Set(sorted.flatMap(edge => [edge, ...(sorted.some(other => other > edge && other < edge * growth * 1.01) ? [] : [Number((edge * growth).toPrecision(4))])]))].sort((a, b) => a - b)
  const shares = spreads.map(({ classes, count }) => {
    const counts = new Map(classes)
    return all.map(edge => Math.round((1000 * (counts.get(edge) ?? 0)) / Math.max(1, count)) / 10)
  })
  return [all, ...shares]
}

const isPowerOfTen = (value: number): boolean => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9
