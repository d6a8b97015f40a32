// What a translation costs: CPU time of `wrap` for a small call, translated and not, in turns, in front of the same server.
// After `npm run build`: node bench/eras.mjs [--calls 3000] [--rounds 9]
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median, table } from './figures.mjs'
import { end, preciseCpuOf, watchOthers } from './processes.mjs'
import { ownCli } from './targets.mjs'

const { calls, rounds } = Object.fromEntries(Object.entries(parseArgs({
  options: { calls: { type: 'string', default: '3000' }, rounds: { type: 'string', default: '9' } },
}).values).map(([name, value]) => [name, Number(value)]))
const prefix = 'io.modelcontextprotocol/'
const _meta = { [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientInfo`]: { name: 'b', version: '1' }, [`${prefix}clientCapabilities`]: {} }
const handshake = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'b', version: '1' } }
const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-bench-'))
const inFlight = 16

/** @param isModern the client's era @param server its program */
const open = async (isModern, server) => {
  const program = fileURLToPath(new URL(`../test/fixtures/eras/${server}`, import.meta.url))
  const audit = join(folder, `${server}-${isModern}.ndjson`)
  const child = spawn(process.execPath, [ownCli, 'wrap', '--translate', 'both', '--audit', audit, '--', process.execPath, program], { stdio: ['pipe', 'pipe', 'ignore'], detached: true })
  const waiting = new Map()
  createInterface({ input: child.stdout }).on('line', line => {
    const { id, error } = JSON.parse(line)
    if (error) throw new Error(line)
    waiting.get(id)?.()
  })
  let last = 0
  const say = message => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const ask = (method, params) => new Promise(resolve => {
    const id = last++
    waiting.set(id, () => resolve(waiting.delete(id)))
    say({ id, method, params: { ...params, ...(isModern && { _meta }) } })
  })
  if (isModern) await ask('server/discover', {})
  else {
    await ask('initialize', handshake)
    say({ method: 'notifications/initialized' })
  }
  await ask('tools/list', {})
  const call = { name: 'echo', arguments: { text: 'hello', message: 'hello' } }
  const time = async () => {
    const before = preciseCpuOf([child.pid])
    let left = calls
    await Promise.all(Array.from({ length: inFlight }, async () => { while (left-- > 0) await ask('tools/call', call) }))
    return (preciseCpuOf([child.pid]) - before) / calls * 1000
  }
  return { time, child }
}

const others = watchOthers()
const cases = await Promise.all([
  ['server of 2026-07-28, its own era', true, 'modern.mjs'], ['server of 2026-07-28, legacy client', false, 'modern.mjs'],
  ['legacy server, its own era', false, 'legacy-server.mjs'], ['legacy server, client of 2026-07-28', true, 'legacy-server.mjs'],
].map(async ([name, ...what]) => ({ name, times: [], ...await open(...what) })))
for (let round = 0; round < rounds; round++) for (const one of cases) one.times.push(await one.time())
console.log(table(['CPU of a small call', 'µs'], cases.map(({ name, times }) => [name, median(times.slice(1)).toFixed(0)])))
console.log(`others took ${Math.round(100 * others())} % of the machine`)
for (const { child } of cases) await end(child)
rmSync(folder, { recursive: true, force: true })
