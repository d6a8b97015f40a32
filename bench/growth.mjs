// How the cost of ours grows with what there is of a thing: CPU time of the relay, without the server, the least of four times.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lengths, shapeNames } from './answers.mjs'
import { overHttp } from './client.mjs'
import { least, shown, table } from './figures.mjs'
import { concurrent, settle } from './load.mjs'
import { cpuOf, relayOf } from './processes.mjs'
import { bridges, open, startUpstream } from './targets.mjs'

/** `ms` of CPU time are taken `times` over, after so many `calls`. */
const plans = { full: { times: 4, ms: 250, calls: 3000 }, quick: { times: 1, ms: 150, calls: 500 } }

/** CPU milliseconds of one call of many. */
const each = async (call, { child, plan }, inFlight) => {
  await settle(call, plan.calls, Math.min(inFlight, 8))
  const costs = []
  for (let i = 0; i < plan.times; i++) costs.push((await concurrent(call, child.pid, { warm: 0, ms: 0, cpuMs: plan.ms, inFlight })).cpu)
  return least(costs)
}
const calls = (name, inFlight) => async relay => ({ cost: await each(() => relay.client.call(name), relay, inFlight), bytes: await relay.client.call(name) })
const lists = async relay => ({ cost: await each(() => relay.client.list(), relay, 1), bytes: await relay.client.list() })

/** What a relay takes to read a catalogue the first time, and to make the first call with it. */
const first = name => async ({ client, child }) => {
  const before = cpuOf(relayOf(child.pid))
  const bytes = await client.list()
  await client.call(name)
  return { cost: cpuOf(relayOf(child.pid)) - before, bytes }
}

/** Sessions stay open from step to step. */
const sessions = async (relay, count) => {
  const opened = (relay.sessions ??= [relay.client])
  while (opened.length < count) opened.push(await overHttp(relay.client.url, relay.client.pool).open())
  return opened
}
const callsOfSessions = async (relay, count) => {
  const opened = await sessions(relay, count)
  for (const client of opened) await client.call('small')
  let turn = 0
  return { cost: await each(() => opened[turn++ % count].call('small'), relay, 32) }
}
const opening = async (relay, count) => {
  await sessions(relay, count)
  const more = 100
  const before = cpuOf(relayOf(relay.child.pid))
  await sessions(relay, count + more)
  return { cost: (cpuOf(relayOf(relay.child.pid)) - before) / more }
}

/** Where a curve has a step, and it is meant (docs/speed.md). */
const why = {
  long: 'A result over 3 MiB is not judged in one turn of the event loop: it is read in pieces, and validated by another thread.',
  large: 'More than about 700 subschemas are not read in one turn of the event loop: another thread reads them, and is handed each value.',
}

const inFlight = [1, 4, 16, 64, 256]
const tools = [10, 50, 200, 1000, 2000]
const subschemas = [10, 50, 200, 1000, 5000]
/**
 * `answers`: what the server has at a step, a relay being started for each; else one relay is for all steps, and `all` what its server has. `per`:
 * what the cost is divided by, and should be flat by then.
 */
const curves = [
  { title: 'calls in flight, stdio → stdio', bridge: 'stdio-stdio', steps: inFlight, per: 'call', measure: (relay, step) => calls('small', step)(relay) },
  { title: 'calls in flight, HTTP → HTTP', bridge: 'http-http', steps: inFlight, per: 'call', measure: (relay, step) => calls('small', step)(relay) },
  { title: 'sessions, HTTP → HTTP: a call', bridge: 'http-http', steps: [1, 10, 100, 1000], per: 'call', measure: callsOfSessions },
  { title: 'sessions, HTTP → HTTP: one more', bridge: 'http-http', steps: [1, 300, 600, 1000], per: 'call', measure: opening },
  { title: 'tools: listed first, and a call', bridge: 'stdio-stdio', steps: tools, answers: count => `tools:${count}`, per: 'byte', measure: first('tool-0'), starts: 2 },
  { title: 'tools: listed again', bridge: 'stdio-stdio', steps: tools, answers: count => `tools:${count}`, per: 'byte', measure: lists },
  { title: 'tools: a call', bridge: 'stdio-stdio', steps: tools, answers: count => `tools:${count}`, per: 'call', measure: calls('tool-9', 32) },
  { title: 'subschemas: listed first, and a call', bridge: 'stdio-stdio', steps: subschemas, answers: count => `schema:${count}`, per: 'byte', measure: first('all'), starts: 2 },
  { title: 'subschemas: a result with all of them', bridge: 'stdio-stdio', steps: subschemas, answers: count => `schema:${count}`, per: 'byte', measure: calls('all', 8), why: why.large },
  { title: 'subschemas: a result with one of them', bridge: 'stdio-stdio', steps: subschemas, answers: count => `schema:${count}`, per: 'call', measure: calls('one', 32), why: why.large },
  ...shapeNames.map(shape => ({
    title: `bytes of a result, ${{ rows: 'rows', repeated: 'rows that the text repeats', text: 'prose' }[shape]}`,
    bridge: 'stdio-stdio', steps: lengths, all: 'results', per: 'byte', measure: (relay, step) => calls(`${shape}-${step}`, 2)(relay), ...(shape !== 'text' && { why: why.long }),
  })),
]

/** With room for all the sessions of one client. */
const roomy = target => ({
  ...target,
  command: place => {
    const file = join(place.folder, 'customs.yaml')
    writeFileSync(file, 'version: 1\nsessions: { max: 10000 }\n')
    return [...target.command(place), '--config', file]
  },
})

const measureStep = async ({ bridge: name, measure, answers, starts = 1 }, step, plan, shared) => {
  if (answers === undefined) return measure(shared, step)
  const bridge = bridges.find(bridge => bridge.name === name)
  const measured = []
  for (let i = 0; i < Math.min(starts, plan.times); i++) {
    const relay = await open(bridge, bridge.targets.ours, undefined, { BENCH_ANSWERS: answers(step) })
    try { measured.push(await measure({ ...relay, plan }, step)) } finally { await relay.close() }
  }
  return measured.reduce((one, other) => (other.cost < one.cost ? other : one))
}

const measureCurve = async (curve, plan) => {
  const bridge = bridges.find(({ name }) => name === curve.bridge)
  const upstream = curve.answers ? undefined : await startUpstream(bridge)
  const { ours } = bridge.targets
  const shared = curve.answers ? undefined : { ...await open(bridge, upstream ? roomy(ours) : ours, upstream, curve.all && { BENCH_ANSWERS: curve.all }), plan }
  const points = []
  try {
    for (const step of curve.steps) points.push({ step, ...await measureStep(curve, step, plan, shared).catch(error => ({ failed: error.message.slice(0, 200) })) })
  } finally {
    await shared?.close()
    upstream?.child.kill('SIGKILL')
  }
  return { title: curve.title, per: curve.per, why: curve.why, points }
}

/** @return for each curve its points: `cost` of a call in CPU milliseconds, and the bytes of its answer */
export const measureGrowth = async ({ quick, curves: wanted, note }) => {
  const measured = []
  for (const curve of curves.filter(({ title }) => wanted === undefined || wanted.some(word => title.includes(word)))) {
    const began = performance.now()
    measured.push(await measureCurve(curve, quick ? plans.quick : plans.full))
    note(`growth, ${curve.title}: ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
  return measured
}

/** The most that a step costs beside one before it. */
const factorOf = costs => Math.max(...costs.map((cost, index) => cost / least(costs.slice(0, index + 1))))

const growthTable = ({ title, per, why, points }) => {
  const unit = per === 'byte' ? 'ns a byte' : 'µs a call'
  const good = points.filter(({ failed }) => failed === undefined)
  const costs = good.map(({ cost, bytes }) => (per === 'byte' ? (cost * 1e6) / bytes : cost * 1000))
  const cells = good.map((point, index) => `${shown(costs[index])}${per === 'byte' ? ` (${shown(point.cost)} ms)` : ''}`)
  return [
    `${title}: grows by ${shown(factorOf(costs))} at most`,
    table(['', ...good.map(({ step }) => step.toLocaleString('en'))], [[unit, ...cells]]),
    ...(why && factorOf(costs) > 2 ? [why] : []),
    ...points.filter(({ failed }) => failed).map(({ step, failed }) => `${step}: ${failed}`),
  ].join('\n\n')
}
export const growthTables = curves => ['## Growth: CPU of ours', ...curves.map(growthTable)].join('\n\n')
