// Relay processes beside one process for all: CPU time for a call, calls a second of four servers, memory and start-up of forty.
//
//   node bench/relays.mjs OTHER [cost] [four] [forty] [fault] [worst]
//
// OTHER is a folder with another build (dist/cli.js), which is measured in turns with this one. Ratios are the medians of those of one turn; the
// machine may be shared. `fault` and `worst` need no other build: what a neighbour's calls take while another server's relay process hangs, is
// filled up, and is killed; and while its server does the worst that reviews have found, to a copy of this build that has no budgets.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { overHttp } from './client.mjs'
import { median, quantile, shown, table } from './figures.mjs'
import { concurrent, settle } from './load.mjs'
import { end, memoryOf, relayOf, sharesOf } from './processes.mjs'
import { start } from './start.mjs'

const here = path => fileURLToPath(new URL(path, import.meta.url))
const [other = '', ...wanted] = process.argv.slice(2)
const isWanted = part => wanted.length === 0 || wanted.includes(part)
const builds = { other: join(resolve(other), 'dist/cli.js'), this: here('../dist/cli.js') }
const turns = Number(process.env.TURNS ?? 7)

/** A gateway in front of these servers. */
const gateway = async (cli, servers, env = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-bench-'))
  const config = join(folder, 'customs.json')
  writeFileSync(config, JSON.stringify({ version: 1, audit: { file: join(folder, 'audit.ndjson') }, servers }))
  const began = performance.now()
  const { url, child } = await start([cli, 'serve', '--listen', '127.0.0.1:0', '--config', config], 'stderr', env)
  const startMs = performance.now() - began
  const client = name => overHttp(new URL(`/${name}/mcp`, url)).open()
  return { child, client, startMs, close: async () => { await end(child); rmSync(folder, { recursive: true, force: true }) } }
}

const upstream = () => start([here('http-server.mjs'), 'json'])
const stdio = { command: [process.execPath, here('server.mjs')], inheritEnv: true }

/** Both builds, in turns. @return the figures of each, by its name */
const inTurns = async act => {
  const figures = { other: [], this: [] }
  for (let turn = 0; turn < turns; turn += 1) {
    for (const name of turn % 2 === 0 ? ['other', 'this'] : ['this', 'other']) figures[name].push(await act(name))
  }
  return figures
}
/** Of figures that were taken next to each other: what others do on the machine is the same for both. */
const ratio = ({ other, this: ours }) => median(ours.map((figure, turn) => figure / other[turn]))

const cost = async () => {
  const server = await upstream()
  const rows = []
  for (const [bridge, one] of [['HTTP to HTTP', { url: server.url.href }], ['HTTP to stdio', stdio]]) {
    const gateways = {}
    for (const [name, cli] of Object.entries(builds)) gateways[name] = await gateway(cli, { one, two: one })
    const clients = {}
    for (const [name, { client }] of Object.entries(gateways)) {
      clients[name] = await client('one')
      await clients[name].ask('tools/list')
      await settle(() => clients[name].call('small'), 10_000, 32, 5000)
    }
    for (const [size, inFlight] of [['small', 32], ['small', 1], ['rows', 32], ['blob', 8]]) {
      for (const name of ['other', 'this']) await settle(() => clients[name].call(size), size === 'small' ? 0 : 100)
      const figures = await inTurns(async name => (await concurrent(() => clients[name].call(size), gateways[name].child.pid, { warm: 100, ms: 500, cpuMs: 400, inFlight })).cpu)
      rows.push([`${bridge}, ${size}, ${inFlight} in flight`, ...['other', 'this'].map(name => `${shown(median(figures[name]) * 1000)} us`), shown(ratio(figures))])
    }
    for (const name of ['other', 'this']) {
      await clients[name].close()
      await gateways[name].close()
    }
  }
  server.child.kill('SIGKILL')
  console.log(`\n${table(['CPU for a call', 'other', 'this', 'ratio'], rows)}`)
}

const four = async () => {
  const names = ['a', 'b', 'c', 'd']
  const upstreams = await Promise.all(names.map(upstream))
  const servers = Object.fromEntries(names.map((name, index) => [name, { url: upstreams[index].url.href }]))
  const gateways = {}
  const clients = {}
  for (const [name, cli] of Object.entries(builds)) {
    gateways[name] = await gateway(cli, servers)
    clients[name] = await Promise.all(names.map(server => gateways[name].client(server)))
    for (const client of clients[name]) {
      await client.ask('tools/list')
      await settle(() => client.call('small'), 10_000, 32, 5000)
      await settle(() => client.call('rows'), 2000)
    }
  }
  const rows = []
  for (const size of ['small', 'rows', 'rows-repeated']) {
    const figures = await inTurns(async name => {
      let at = 0
      return (await concurrent(() => clients[name][(at += 1) % 4].call(size), gateways[name].child.pid, { warm: 100, ms: 1000 })).rate
    })
    rows.push([size, ...['other', 'this'].map(name => shown(median(figures[name]))), shown(ratio(figures))])
  }
  for (const name of ['other', 'this']) {
    for (const client of clients[name]) await client.close()
    await gateways[name].close()
  }
  for (const { child } of upstreams) child.kill('SIGKILL')
  console.log(`\n${table(['calls a second, four servers', 'other', 'this', 'ratio'], rows)}`)
}

const memoryNow = ({ pid }) => ({ ...memoryOf(relayOf(pid)), ...sharesOf(relayOf(pid)) })

const forty = async () => {
  const servers = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`s${index}`, stdio]))
  const rows = []
  const starts = await inTurns(async name => {
    const { startMs, close } = await gateway(builds[name], servers)
    await close()
    return startMs
  })
  const firsts = { other: [], this: [] }
  const memory = {}
  for (const [name, cli] of Object.entries(builds)) {
    const { child, client, close } = await gateway(cli, servers)
    const idle = memoryNow(child)
    const clients = []
    for (const server of ['s1', 's2', 's3', 's4', 's5']) {
      const began = performance.now()
      clients.push(await client(server))
      firsts[name].push(performance.now() - began)
      await clients.at(-1).ask('tools/list')
      await settle(() => clients.at(-1).call('small'), 500)
    }
    await pause(300)
    memory[name] = [idle, memoryNow(child)]
    for (const one of clients) await one.close()
    await close()
  }
  const row = (what, figure) => rows.push([what, ...['other', 'this'].map(name => shown(figure(name)))])
  row('start, ms', name => median(starts[name]))
  row('first answer of a server, ms', name => median(firsts[name]))
  for (const [index, when] of ['none used', 'five used'].entries()) {
    row(`resident memory, ${when}, MB`, name => memory[name][index].now)
    row(`their share of it where several have the same page, MB`, name => memory[name][index].share)
    row(`of that, what nobody else has, MB`, name => memory[name][index].own)
  }
  console.log(`\n${table(['forty servers', 'other', 'this'], rows)}`)
}

/** 200 calls a second to one server. @return milliseconds of each call that began within so long */
const steady = async (client, ms) => {
  const times = []
  const calls = []
  let lost = 0
  const from = performance.now()
  for (let at = 0; performance.now() - from < ms; at += 1) {
    const due = from + at * 5 - performance.now()
    if (due > 0) await pause(due)
    const began = performance.now()
    calls.push(client.call('small').then(() => times.push(performance.now() - began), () => (lost += 1)))
  }
  await Promise.all(calls)
  return { times, lost }
}

/** What a neighbour's calls take while a server does harm. @param provoke has it do so @return a row of a table */
const beside = async (name, servers, provoke, { cli = builds.this, env = {} } = {}) => {
  const { client, close } = await gateway(cli, { ...servers, other: stdio }, env)
  const [victim, neighbour] = [await client('victim'), await client('other')]
  await neighbour.ask('tools/list')
  await steady(neighbour, 2000)
  const before = await steady(neighbour, 6000)
  const began = performance.now()
  const failed = Promise.resolve(provoke(victim)).catch(() => {})
  const during = steady(neighbour, 8000)
  await Promise.race([failed, pause(patienceMs)])
  const answers = async () => client('victim').then(again => again.ask('tools/call', { name: 'echo', arguments: { word: 'a' } }))
  while (!(await answers().then(() => true, () => false))) await pause(50)
  const again = performance.now() - began
  const { times, lost } = await during
  await close()
  const [was, is] = [before.times, times].map(values => quantile(values, 0.99))
  return [name, shown(was), shown(is), shown(is / was), String(before.lost + lost), shown(again / 1000)]
}
const patienceMs = 15_000
const besideHead = ['p99 before, ms', 'p99 during, ms', 'ratio', 'lost', 'answers again after, s']

const fault = async () => {
  const command = [process.execPath, here('../test/fixtures/process/fault-server.mjs'), '/dev/null']
  const env = { NODE_OPTIONS: `--import ${here('../test/fixtures/process/faults.mjs')}` }
  const rows = []
  for (const name of ['endless loop', 'heap bomb', 'string bomb', 'abort', 'exception', 'kill']) {
    const provoke = victim => victim.ask('tools/call', { name: `fault ${name}`, arguments: {} })
    rows.push(await beside(name, { victim: { command } }, provoke, { env }))
  }
  console.log(`\n${table(['fault', ...besideHead], rows)}`)
}

/** A copy of this build in which a budget never ends: the text of the copy is changed, so there is no switch that anybody could find. */
const withoutBudgets = folder => {
  const [dist, from] = [join(folder, 'dist'), here('..')]
  cpSync(join(from, 'dist'), dist, { recursive: true })
  for (const name of ['node_modules', 'package.json', 'config']) symlinkSync(join(from, name), join(folder, name))
  const spending = [
    [/if \(\(this\.#left -= steps\d*\) < 0\) (?:this\.#refill\(\)|throw new OverBudget\(\));/g, ''], [/return this\.#turn\.spent >= turnShare;/g, 'return false;'],
  ]
  const found = new Set()
  for (const file of readdirSync(join(dist, 'chunks')).filter(name => name.endsWith('.js')).map(name => join(dist, 'chunks', name))) {
    const text = readFileSync(file, 'utf8')
    const changed = spending.reduce((all, [what, instead]) => all.replace(what, one => found.add(one.replace(/steps\d+/, 'steps')) && instead), text)
    if (changed !== text) writeFileSync(file, changed)
  }
  if (found.size !== 3) throw new Error(`these budgets were found: ${[...found].join(' ')}`)
  return join(dist, 'cli.js')
}

/** By the part of the review that shows it: what has the server (worst-server.mjs) do it. */
const callWorst = (times = 1) => victim => Promise.all(Array.from({ length: times }, () => victim.ask('tools/call', { name: 'worst', arguments: {} })))
const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
}
const callModern = ({ url }) => fetch(url, {
  method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'worst', arguments: {}, _meta: modernMeta } }),
  headers: {
    'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'worst',
  },
}).then(response => response.text())
const worstCases = {
  'core 1': callWorst(), 'core 2': callModern, 'core 3': victim => victim.ask('prompts/list'), 'core 4': victim => victim.ask('resources/list'), 'core 5': callWorst(),
  'schema C1': victim => victim.ask('tools/list'), 'schema C2': callWorst(10), 'schema C3': callWorst(10),
}

const worst = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-bench-'))
  const cli = withoutBudgets(folder)
  const rows = []
  for (const [name, provoke] of Object.entries(worstCases)) {
    const [done, lock] = [join(folder, name), join(folder, 'customs.lock.json')]
    const victim = { command: [process.execPath, here('worst-server.mjs'), name, done], ...(name === 'core 3' && { lock }) }
    if (name === 'core 3') {
      writeFileSync(done, '')
      writeFileSync(join(folder, 'customs.json'), JSON.stringify({ version: 1, servers: { victim } }))
      execFileSync(process.execPath, [cli, 'lock', '--yes', '--config', join(folder, 'customs.json')], { stdio: 'ignore' })
      rmSync(done)
    }
    rows.push(await beside(name, { victim }, provoke, { cli }))
  }
  rmSync(folder, { recursive: true, force: true })
  console.log(`\n${table(['worst case', ...besideHead], rows)}`)
}

for (const [name, part] of Object.entries({ cost, four, forty, fault, worst })) if (isWanted(name)) await part()
process.exit()
