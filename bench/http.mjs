// The relay between HTTP and HTTP beside the least that can stand there (node:http and undici), in one run: `npm run bench`.
// Per small call: CPU of the process in between, and what it adds to the time of a call, with 1 and with 32 in flight.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { start } from './start.mjs'

const here = path => fileURLToPath(new URL(path, import.meta.url))
const calls = Number(process.argv[2] ?? 3000)

/** User and system time of a process, in milliseconds; Linux only. */
const cpuOf = ({ child: { pid } }) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const post = async (pool, path, message, session) => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25', ...(session && { 'mcp-session-id': session }) }
  const reply = await pool.request({ path, method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) })
  await reply.body.text()
  if (reply.statusCode >= 300) throw new Error(`HTTP ${reply.statusCode}`)
  return reply.headers['mcp-session-id']
}

const measure = async (middle, sessions, inFlight) => {
  const pool = new Pool(middle.url.origin)
  let id = 0
  const ask = (method, params, session) => post(pool, '/mcp', { id: ++id, method, params }, session)
  const open = async () => {
    const session = await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } })
    await post(pool, '/mcp', { method: 'notifications/initialized' }, session)
    await ask('tools/list', {}, session)
    return session
  }
  const opened = []
  for (let index = 0; index < sessions; index++) opened.push(await open())
  const run = async count => {
    let left = count
    const times = []
    const worker = async () => {
      while (left-- > 0) {
        const began = performance.now()
        await ask('tools/call', { name: 'small', arguments: {} }, opened[left % opened.length])
        times.push(performance.now() - began)
      }
    }
    await Promise.all(Array.from({ length: inFlight }, worker))
    return times.sort((a, b) => a - b)[times.length >> 1]
  }
  await run(calls / 3)
  const before = cpuOf(middle)
  const ms = await run(calls)
  const cpu = (cpuOf(middle) - before) / calls
  await pool.close()
  return { ms, cpu }
}

console.log('per small call: CPU of what stands in between, and what it adds to a call (median), in milliseconds')
for (const kind of ['json', 'sse']) {
  const server = await start([here('http-server.mjs'), kind])
  const bare = await start([here('http-pass.mjs'), server.url.href])
  const relay = await start([here('../dist/cli.js'), 'serve', '--audit', 'none', '--listen', '127.0.0.1:0', server.url.href], 'stderr')
  for (const [sessions, inFlight] of [[1, 1], [1, 32], [100, 32]]) {
    const direct = await measure(server, sessions, inFlight)
    const [one, other] = [await measure(bare, sessions, inFlight), await measure(relay, sessions, inFlight)]
    const added = ({ ms }) => (ms - direct.ms).toFixed(3)
    console.log(
      `${kind}, ${sessions} sessions, ${inFlight} in flight: bare ${one.cpu.toFixed(3)} CPU +${added(one)}, ` +
        `relay ${other.cpu.toFixed(3)} CPU +${added(other)}: ${(other.cpu / one.cpu).toFixed(2)} times the CPU`,
    )
  }
  for (const one of [relay, bare, server]) one.child.kill('SIGKILL')
}
process.exit()
