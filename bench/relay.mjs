// The whole relay beside a raw pipe (a process that only copies bytes), in one run: `npm run bench`.
// Start-up: from spawning to the answer to initialize. Latency: one call at a time. Throughput: 32 calls in flight.
// "-repeated": the text of the result repeats its structured content, as the specification advises.
// Figures are ratios to the pipe, or what is added to it: absolute times say more of the machine than of the relay.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = path => fileURLToPath(new URL(path, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-bench-'))
const server = [process.execPath, here('server.mjs')]
const targets = {
  direct: server,
  pipe: [process.execPath, here('pipe.mjs'), ...server],
  relay: [process.execPath, here('../dist/cli.js'), 'wrap', '--audit', join(folder, 'audit.ndjson'), '--', ...server],
}
const tools = {
  small: { warm: 500, calls: 2000 }, medium: { warm: 300, calls: 800 }, large: { warm: 10, calls: 60 },
  'small-repeated': { warm: 300, calls: 2000 }, 'medium-repeated': { warm: 100, calls: 600 }, 'large-repeated': { warm: 5, calls: 30 },
}
const rounds = Number(process.argv[2] ?? 3)

const median = values => [...values].sort((a, b) => a - b)[values.length >> 1]

/** A client that counts lines: it reads no answer, so that it costs the same everywhere. */
const connect = async ([command, ...args]) => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = []
  child.stdout.on('data', chunk => {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) waiting.shift()?.()
  })
  let id = 0
  const ask = (method, params) =>
    new Promise(resolve => {
      waiting.push(resolve)
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
    })
  const began = performance.now()
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } })
  const startMs = performance.now() - began
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  await ask('tools/list', {})
  return {
    startMs,
    call: name => ask('tools/call', { name, arguments: {} }),
    end: () => new Promise(resolve => child.once('exit', resolve) && child.stdin.end()),
  }
}

const measure = async command => {
  const figures = { start: [] }
  for (let i = 0; i < 5; i++) {
    const client = await connect(command)
    figures.start.push(client.startMs)
    await client.end()
  }
  const client = await connect(command)
  for (const [name, { warm, calls }] of Object.entries(tools)) {
    for (let i = 0; i < warm; i++) await client.call(name)
    const times = []
    for (let i = 0; i < calls / 2; i++) {
      const began = performance.now()
      await client.call(name)
      times.push(performance.now() - began)
    }
    const began = performance.now()
    let left = calls
    await Promise.all(Array.from({ length: 32 }, async () => { while (left-- > 0) await client.call(name) }))
    figures[name] = { latency: median(times), rate: calls / (performance.now() - began) }
  }
  await client.end()
  return { ...figures, start: median(figures.start) }
}

const all = Object.fromEntries(Object.keys(targets).map(target => [target, []]))
for (let round = 0; round < rounds; round++) for (const [target, command] of Object.entries(targets)) all[target].push(await measure(command))
rmSync(folder, { recursive: true })

const of = (target, read) => median(all[target].map(read))
console.log(`start-up: ${(of('relay', f => f.start) - of('direct', f => f.start)).toFixed(0)} ms added (pipe ${(of('pipe', f => f.start) - of('direct', f => f.start)).toFixed(0)} ms)`)
for (const name of Object.keys(tools)) {
  const added = target => ((of(target, f => f[name].latency) - of('direct', f => f[name].latency)) * 1000).toFixed(0)
  const ratio = of('relay', f => f[name].rate) / of('pipe', f => f[name].rate)
  console.log(`${name}: latency +${added('relay')} us (pipe +${added('pipe')} us), throughput ${ratio.toFixed(2)} of the pipe`)
}
