// Has a change made a call dearer? CPU of ten cases beside another build, such as that of the commit before, in turns. Ends with 1 when a case
// costs over 5 % more. CPU, not time: so the machine may be shared, though a quiet one needs fewer turns.
//
//   git worktree add ../before HEAD~1 && cp -al node_modules ../before && (cd ../before && npm run build)
//   node bench/guard.mjs ../before [--turns 7] [--only cold,small]
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { openGateway, replaced } from './cold.mjs'
import { median, shown, table } from './figures.mjs'
import { preciseCpuOf, relayOf, watchOthers } from './processes.mjs'
import { bridges, open, ownCli, startUpstream } from './targets.mjs'

const most = 1.05
const { values, positionals: [other] } = parseArgs({ allowPositionals: true, options: { turns: { type: 'string' }, only: { type: 'string' } } })
if (other === undefined) throw new Error('which other build? node bench/guard.mjs FOLDER')
const dists = { other: join(resolve(other), 'dist'), this: resolve(ownCli, '..') }
const turns = Number(values.turns ?? 7)

/** The bridge, or the gateway; the size of results; calls in a turn, and calls before the first; how many are in flight. */
const cases = [
  ['cold: stdio, from the start to call 100', 'stdio-stdio', 'small', 100, 0, 16],
  ['cold: HTTP, from the start to call 100', 'http-http', 'small', 100, 0, 16],
  ['stdio, small', 'stdio-stdio', 'small', 3000, 20_000, 32],
  ['stdio, medium', 'stdio-stdio', 'medium', 1000, 10_000, 32],
  ['stdio, rows', 'stdio-stdio', 'rows', 40, 400, 8],
  ['stdio, blob', 'stdio-stdio', 'blob', 100, 500, 8],
  ['HTTP to HTTP, small', 'http-http', 'small', 1500, 8000, 32],
  ['HTTP to stdio, small', 'http-stdio', 'small', 1500, 8000, 32],
  ['stdio to HTTP, small', 'stdio-http', 'small', 1500, 8000, 32],
  ['gateway, small', 'gateway', 'small', 1500, 8000, 32],
].filter(([title]) => values.only === undefined || values.only.split(',').some(word => title.includes(word)))

const calls = async (client, size, count, inFlight) => {
  let left = count
  await Promise.all(Array.from({ length: inFlight }, async () => { while (left-- > 0) await client.call(size) }))
}

const session = (bridge, dist, upstream) =>
  (bridge === 'gateway' ? openGateway(join(dist, 'cli.js'), upstream) : open(of(bridge), replaced(of(bridge).targets.ours, dist), upstream))
const of = bridge => bridges.find(({ name }) => name === (bridge === 'gateway' ? 'http-http' : bridge))

/** @return the CPU of both builds in each turn */
const measure = async ([, bridge, size, count, before, inFlight], upstream) => {
  const figures = { other: [], this: [] }
  const kept = {}
  for (let turn = 0; turn < turns; turn++) {
    for (const build of turn % 2 === 0 ? ['other', 'this'] : ['this', 'other']) {
      const { client, child, close } = kept[build] ?? await session(bridge, dists[build], upstream)
      if (before > 0 && kept[build] === undefined) {
        kept[build] = { client, child, close }
        await client.list()
        await calls(client, size, before, inFlight)
      }
      const from = before > 0 ? preciseCpuOf(relayOf(child.pid)) : 0
      if (before === 0) await client.list()
      await calls(client, size, count, inFlight)
      figures[build].push((preciseCpuOf(relayOf(child.pid)) - from) / count)
      if (before === 0) await close()
    }
  }
  for (const { close } of Object.values(kept)) await close()
  return figures
}

const others = watchOthers()
const rows = []
let dearer = 0
for (const one of cases) {
  const upstream = await startUpstream(of(one[1]))
  const ratioOf = figures => median(figures.this.map((figure, turn) => figure / figures.other[turn]))
  let figures = await measure(one, upstream)
  // What is dear once may be noise.
  if (ratioOf(figures) > most) figures = await measure(one, upstream)
  upstream?.child.kill('SIGKILL')
  const ratio = ratioOf(figures)
  if (ratio > most) dearer++
  rows.push([one[0], ...['other', 'this'].map(build => `${shown(median(figures[build]) * 1000)} us`), ratio.toFixed(3), ratio > most ? 'dearer' : ''])
}
console.log(`${table(['CPU for a call', 'other', 'this', 'ratio', ''], rows)}\n\nOthers took ${(100 * others()).toFixed(0)} % of the machine meanwhile.`)
process.exit(dearer > 0 ? 1 : 0)
