// What a short session costs: CPU time of a relay from its start to the Nth small call, beside other relays, in turns.
//
//   node bench/cold.mjs [stdio] [http] [gateway] [--rounds 5] [--in-flight 16] [--calls 1,10,100,1000,10000] [--other DIST] [--json FILE]
//
// The time is that of all threads of the relay's processes, from /proc: what V8 compiles beside the main thread is a part of it. `--other` is
// the `dist` of another build, such as the commit before, which is measured as `other`.
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { overHttp } from './client.mjs'
import { median, table } from './figures.mjs'
import { end, preciseCpuOf, relayOf, watchOthers } from './processes.mjs'
import { start } from './start.mjs'
import { bridges, open, ownCli, startUpstream } from './targets.mjs'

const bridge = name => bridges.find(one => one.name === name)

/** A gateway of two servers, in front of one by HTTP. */
export const openGateway = async (cli, upstream) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-bench-'))
  const config = join(folder, 'customs.json')
  const one = { url: upstream.url.href }
  writeFileSync(config, JSON.stringify({ version: 1, audit: { file: join(folder, 'audit.ndjson') }, servers: { one, two: one } }))
  const { url, child } = await start([cli, 'serve', '--listen', '127.0.0.1:0', '--config', config], 'stderr')
  const client = await overHttp(new URL('/one/mcp', url)).open()
  return { client, child, close: async () => { await client.close(); await end(child); rmSync(folder, { recursive: true, force: true }) } }
}

const groups = {
  stdio: { of: bridge('stdio-stdio'), targets: ['raw pipe', 'sdk', 'ours'] },
  http: { of: bridge('http-http'), targets: ['node pass', 'sdk', 'ours'] },
  gateway: { of: bridge('http-http'), targets: ['node pass', 'sdk', 'ours'], isGateway: true },
}

/** Another build in the place of ours. */
export const replaced = (target, dist) => ({
  ...target, command: place => target.command(place).map(word => (word === ownCli ? join(resolve(dist), 'cli.js') : word)),
})

/** One run. @return milliseconds of CPU: until each step, in all */
const run = async (group, name, upstream, { calls, inFlight, other }) => {
  const isOurs = name === 'ours' || name === 'other'
  const target = name === 'other' ? replaced(group.of.targets.ours, other) : group.of.targets[name]
  const session = group.isGateway && isOurs
    ? await openGateway(name === 'other' ? join(resolve(other), 'cli.js') : ownCli, upstream)
    : await open(group.of, target, upstream)
  const { client, child, close } = session
  try {
    const taken = () => preciseCpuOf(relayOf(child.pid))
    const steps = [taken()]
    await client.list()
    steps.push(taken())
    let done = 0
    for (const upTo of calls) {
      let left = upTo - done
      await Promise.all(Array.from({ length: Math.min(inFlight, left) }, async () => { while (left-- > 0) await client.call('small') }))
      done = upTo
      steps.push(taken())
    }
    return steps
  } finally {
    await close()
  }
}

export const measureCold = async ({ names = Object.keys(groups), rounds = 5, inFlight = 16, calls = [1, 10, 100, 1000, 10_000], other, note = () => {} }) => {
  const measured = { calls, groups: {} }
  const others = watchOthers()
  for (const name of names) {
    const group = groups[name]
    const targets = [...group.targets.filter(target => !group.of.targets[target].missing), ...(other ? ['other'] : [])]
    const upstream = await startUpstream(group.of)
    const runs = Object.fromEntries(targets.map(target => [target, []]))
    for (let round = 0; round < rounds; round++) {
      for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
        note(`${name}, round ${round + 1}: ${target}`)
        runs[target].push(await run(group, target, upstream, { calls, inFlight, other }))
      }
    }
    upstream?.child.kill('SIGKILL')
    measured.groups[name] = runs
  }
  return { ...measured, busy: others() }
}

const shownMs = ms => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0))

export const coldTables = ({ calls, groups: found, busy }) => {
  const tables = Object.entries(found).map(([name, runs]) => {
    const labels = Object.keys(runs)
    const row = (title, figure) => [title, ...labels.map(label => shownMs(median(runs[label].map(figure))))]
    const from = index => (index === 0 ? 0 : calls[index - 1])
    const rows = [
      row('until `initialize` is answered', steps => steps[0]), row('the list', steps => steps[1] - steps[0]),
      ...calls.map((upTo, index) => row(
        upTo - from(index) === 1 ? 'first call' : `calls ${from(index) + 1} to ${upTo}, each`,
        steps => (steps[index + 2] - steps[index + 1]) / (upTo - from(index)),
      )),
      ...calls.map((upTo, index) => row(`in all, to call ${upTo}`, steps => steps[index + 2])).slice(2),
    ]
    return `## ${name}\n\n${table(['CPU, ms', ...labels], rows)}`
  })
  return [...tables, `Others took ${(100 * busy).toFixed(0)} % of the machine meanwhile.`].join('\n\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string' }, 'in-flight': { type: 'string' }, calls: { type: 'string' }, other: { type: 'string' }, json: { type: 'string' },
      from: { type: 'string' },
    },
  })
  const unknown = positionals.find(name => groups[name] === undefined)
  if (unknown) throw new Error(`there is no group "${unknown}": ${Object.keys(groups).join(', ')}`)
  const measured = values.from ? JSON.parse(readFileSync(values.from, 'utf8')) : await measureCold({
    ...(positionals.length > 0 && { names: positionals }), rounds: Number(values.rounds ?? 5), inFlight: Number(values['in-flight'] ?? 16),
    ...(values.calls && { calls: values.calls.split(',').map(Number) }), other: values.other, note: text => process.stderr.write(`${text}\n`),
  })
  if (values.json) writeFileSync(values.json, JSON.stringify(measured))
  console.log(coldTables(measured))
  process.exit()
}
