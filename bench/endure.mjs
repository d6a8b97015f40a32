// Hours in small: each bridge at 80 % of what it can do, by a clock that does not wait for answers. Memory should be flat and the slowest calls
// steady from slice to slice; every call has to be answered, and the audit log has to hold each and verify. After `npm run build`:
//
//   node bench/endure.mjs [--minutes N (10)] [--groups stdio-stdio,http-http,…] [--share 0.8]          (Linux: reads /proc)
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median, quantile, shown, table } from './figures.mjs'
import { concurrent } from './load.mjs'
import { memoryOf, relayOf, watchOthers } from './processes.mjs'
import { bridges, open, startUpstream } from './targets.mjs'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, groups: { type: 'string' }, share: { type: 'string', default: '0.8' } } })
const groups = values.groups?.split(',') ?? ['stdio-stdio', 'http-http', 'http-stdio', 'stdio-http']
const slices = 10
const sliceMs = (Number(values.minutes) * 60_000) / slices

/** What is asked for in turn: mostly little, now and then much. */
const mixture = Array.from({ length: 200 }, (_, i) => {
  if (i === 50) return 'rows'
  if (i === 100) return 'rows-repeated'
  if (i === 150) return 'blob'
  return i % 10 === 9 ? 'medium-repeated' : i % 10 === 4 ? 'medium' : 'small'
})
const caller = ({ client }) => {
  let calls = 0
  return { call: () => client.call(mixture[calls++ % mixture.length]), made: () => calls }
}

/** Calls at a rate, for so long. @return when each was due to when it was answered, in milliseconds */
const atRate = async (call, rate, ms) => {
  const times = []
  const running = new Set()
  let failed
  const from = performance.now()
  for (let sent = 0; performance.now() - from < ms && failed === undefined;) {
    for (const due = Math.min(ms, performance.now() - from) * (rate / 1000); sent < due; sent++) {
      const wanted = from + (sent * 1000) / rate
      const one = call().then(() => times.push(performance.now() - wanted), error => (failed = error)).finally(() => running.delete(one))
      running.add(one)
    }
    await pause(1)
  }
  await Promise.all(running)
  if (failed) throw failed
  return times
}

/** What `audit verify` says, and whether it verifies and there is a record for each call. */
const verify = (folder, calls) => {
  const files = readdirSync(folder).filter(name => name.endsWith('.ndjson')).map(name => join(folder, name))
  const { status, stdout, stderr } = spawnSync(process.execPath, [fileURLToPath(new URL('../dist/cli.js', import.meta.url)), 'audit', 'verify', ...files], { encoding: 'utf8' })
  const megabytes = files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6
  const records = [...stdout.matchAll(/(\d+) records/g)].reduce((sum, [, count]) => sum + Number(count), 0)
  return { isWhole: status === 0 && records >= calls, said: `audit, of ${calls} calls, ${megabytes.toFixed(0)} MB: ${(stdout + stderr).trim()}` }
}

const endure = async bridge => {
  const upstream = await startUpstream(bridge)
  const relay = await open(bridge, bridge.targets.ours, upstream)
  try {
    const { call, made } = caller(relay)
    const { rate: capacity } = await concurrent(call, relay.child.pid, { warm: 5000, ms: Math.min(10_000, sliceMs) })
    const rate = capacity * Number(values.share)
    console.log(`\n## ${bridge.name}: ${shown(rate)} calls a second of ${shown(capacity)}\n`)
    const rows = []
    for (let slice = 1; slice <= slices; slice++) {
      const others = watchOthers()
      const times = await atRate(call, rate, sliceMs)
      rows.push({ calls: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99), most: quantile(times, 1), memory: memoryOf(relayOf(relay.child.pid)).now, others: others() * 100 })
    }
    console.log(table(['slice', 'calls', 'p50 ms', 'p99 ms', 'most ms', 'memory MB', 'others %'], rows.map(({ calls, ...figures }, index) => [index + 1, calls, ...Object.values(figures).map(shown)])))
    const ended = new Promise(resolve => relay.child.once('exit', resolve))
    await relay.client.close()
    if (bridge.front === 'http') relay.child.kill('SIGTERM')
    await ended
    const { isWhole, said } = verify(relay.folder, made())
    const [early, late] = [rows.slice(1, 4), rows.slice(-3)].map(some => median(some.map(({ memory }) => memory)))
    const all = rows.map(({ p99 }) => p99)
    console.log(`\nmemory at the end ${shown(late / early)} of what it was; p99 at most ${shown(Math.max(...all) / median(all))} of the usual\n${said}`)
    return isWhole
  } finally {
    await relay.close()
    upstream?.child.kill('SIGKILL')
  }
}

let sound = true
for (const name of groups) sound = (await endure(bridges.find(bridge => bridge.name === name))) && sound
process.exit(sound ? 0 : 1)
