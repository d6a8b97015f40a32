// What was measured of the bridges, as tables: the least of rounds where noise can only add (CPU, the time of a call), else the median. A share is
// taken within a round.
import { least, median, shown, table } from './figures.mjs'
import { bridges } from './targets.mjs'

/** What is known of a target of a bridge; undefined where it was not measured. */
const summaryOf = (runs, limits) => {
  const good = runs.filter(run => run.sizes !== undefined)
  if (good.length === 0) return undefined
  const sizes = Object.keys(good[0].sizes).map(name => {
    const all = read => good.map(run => read(run.sizes[name]))
    const shares = good.flatMap(run => {
      const limit = limits.find(({ round }) => round === run.round)?.sizes?.[name]
      return limit ? [run.sizes[name].rate / limit.rate] : []
    })
    return [name, {
      p50: least(all(size => size.p50)), p95: median(all(size => size.p95)), p99: median(all(size => size.p99)),
      rate: median(all(size => size.rate)), cpu: least(all(size => size.cpu)), ...(shares.length > 0 && { share: median(shares), shares }),
    }]
  })
  return {
    startMs: least(good.flatMap(run => run.starts)), answers: good.find(run => run.answers !== 'exact')?.answers ?? 'exact', sizes: Object.fromEntries(sizes),
    ...Object.fromEntries(['idle', 'loaded', 'peak'].map(name => [name, median(good.map(run => run[name]))])),
  }
}

/** @return for each bridge that was measured: the name of its limit, and what is known of each target */
export const summarise = runs =>
  bridges.flatMap(({ name, limit: limits, bare, targets: known }) => {
    const own = runs.filter(run => run.bridge === name)
    if (own.length === 0) return []
    const of = target => own.filter(run => run.target === target)
    const limit = limits.find(target => of(target).some(run => run.sizes)) ?? limits[0]
    const measured = Object.keys(known).filter(target => of(target).length > 0)
    const targets = Object.fromEntries(measured.map(target => [target, summaryOf(of(target), of(limit))]))
    const why = Object.fromEntries(own.filter(run => run.missing || run.failed).map(run => [run.target, run.missing ? 'not installed' : run.failed]))
    return [{ name, limit, bare, targets, why }]
  })

const spread = shares => (shares.length > 1 ? ` (${shown(least(shares))}–${shown(Math.max(...shares))})` : '')

const bridgeTables = ({ name, limit, bare, targets, why }) => {
  const measured = Object.entries(targets).filter(([, summary]) => summary)
  if (measured.length === 0) return [`## ${name}: nothing was measured`]
  const sizes = Object.keys(measured[0][1].sizes)
  const [limitSizes, bareStart] = [targets[limit]?.sizes, targets[bare]?.startMs]
  const bySize = cell => table(['', ...sizes], measured.map(([target, summary]) => [target, ...sizes.map(size => cell(summary.sizes[size], limitSizes?.[size]))]))
  return [
    `## ${name}`,
    table(
      ['', 'start-up ms', 'over a bare node', 'memory MB: idle', 'after load', 'peak', 'answers'],
      measured.map(([target, { startMs, idle, loaded, peak, answers }]) => [target, shown(startMs), shown(startMs - bareStart), shown(idle), shown(loaded), shown(peak), answers]),
    ),
    `Calls a second, 32 in flight: share of ${limit} (least–most of the rounds)`,
    bySize(({ rate, share, shares }) => (share === undefined ? shown(rate) : `${shown(rate)}: ${shown(share)}${spread(shares)}`)),
    `One call at a time, ms: p50 / p95 / p99 (p50 over ${limit}, µs)`,
    bySize(({ p50, p95, p99 }, at) => `${shown(p50)} / ${shown(p95)} / ${shown(p99)}${at ? ` (${shown((p50 - at.p50) * 1000)})` : ''}`),
    'CPU seconds of 1000 calls, 32 in flight, without the server',
    bySize(({ cpu }) => shown(cpu)),
    ...Object.entries(why).map(([target, reason]) => `${target}: ${reason}`),
  ]
}
/** How quiet the machine was. */
export const noiseOf = runs => {
  const others = runs.map(run => run.others * 100)
  return `Others took ${median(others).toFixed(0)} % of the machine meanwhile (median of the runs), ${Math.max(...others).toFixed(0)} % at most: below 5 % the figures can be relied on.`
}
export const tables = runs => [noiseOf(runs), ...summarise(runs).flatMap(bridgeTables)].join('\n\n')

const titles = {
  'stdio-stdio': 'stdio → stdio', 'http-http': 'HTTP → HTTP', 'http-stdio': 'HTTP → stdio', 'stdio-http': 'stdio → HTTP',
}
const columns = ['small', 'medium', 'rows', 'blob', 'rows-repeated']

/** What is measured for the table of docs/speed.md. */
export const inDocs = { groups: Object.keys(titles), only: [...new Set(bridges.flatMap(({ limit, bare }) => [...limit, bare, 'ours']))] }
/** The table itself. */
export const docsTable = runs =>
  table(
    ['bridge, and its limit', '0.3 KB', '20 KB', '1 MB rows', '1 MB blob', 'rows, and as text', 'adds to a small call', 'memory idle / loaded', 'start-up over a bare node'],
    summarise(runs).filter(({ name, targets }) => titles[name] && targets.ours).map(({ name, limit, bare, targets: { ours, ...others } }) => [
      `${titles[name]}, ${limit}`, ...columns.map(size => (ours.sizes[size].share ?? NaN).toFixed(2)),
      `${shown((ours.sizes.small.p50 - others[limit]?.sizes.small.p50) * 1000)} µs`, `${ours.idle.toFixed(0)} / ${ours.loaded.toFixed(0)} MB`,
      `${(ours.startMs - others[bare]?.startMs).toFixed(0)} ms`,
    ]),
  )
