#!/usr/bin/env node
// Three faults of servers, as a client sees them with and without mcp-customs: a lie, a careless result, and a description that
// changes after it was accepted. Usage: node docker/demo/demo.mjs, after the build. It writes demo.ndjson and demo.lock.json.
import { spawn, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const server = [process.execPath, fileURLToPath(new URL('lying-server.mjs', import.meta.url))]
for (const file of ['demo.ndjson', 'demo.lock.json']) rmSync(file, { force: true })

const accepted =
  spawnSync(process.execPath, [cli, 'lock', '--yes', '--server', 'demo', '--lock', 'demo.lock.json', '--', ...server], { encoding: 'utf8' })
if (accepted.status !== 0) throw new Error(accepted.stderr)

const relay = (...options) =>
  [process.execPath, cli, 'wrap', '--log-level', 'silent', '--server', 'demo', '--audit', 'demo.ndjson', ...options, '--', ...server]

/** One session of a client: lists the tools, and makes the calls. */
const session = async ([command, ...args], calls, env = {}) => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const send = message => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let last = 0
  const ask = async (method, params) => {
    const id = ++last
    send({ id, method, params })
    for (;;) {
      const { value, done } = await lines.next()
      if (done) throw new Error(`the server has ended before it answered ${method}`)
      const message = JSON.parse(value)
      if (message.id === id) return message.result ?? message.error
    }
  }
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'demo', version: '1.0.0' } })
  send({ method: 'notifications/initialized' })
  const { tools } = await ask('tools/list', {})
  const answers = []
  for (const [name, given] of calls) answers.push(await ask('tools/call', { name, arguments: given }))
  child.stdin.end()
  await new Promise(done => child.on('exit', done))
  return { tools, answers }
}

const told = ({ content, isError, message }) => `${isError ? 'an error that says: ' : ''}${content?.[0]?.text ?? message}`
const descriptionIn = ({ tools }) => tools.find(tool => tool.name === 'echo')?.description
const line = (label, text) => console.log(`   ${label.padEnd(14)} ${text.length > 160 ? `${text.slice(0, 159)}…` : text}`)

const lie = ['get_weather', { city: 'Atlantis' }]
const careless = ['get_forecast', { city: 'Paris' }]
const changed = { LYING_SERVER_CHANGED: '1' }
const bare = await session(server, [lie, careless], changed)
const guarded = await session(relay(), [lie, careless])
const relaxed = await session(relay('--rule', 'result/missing=mend'), [careless])
const locked = await session(relay('--lock', 'demo.lock.json'), [['echo', { text: 'hello' }]], changed)

console.log('\n1. A lie: get_weather declares a number. Of Atlantis it says "hot".')
line('without', told(bare.answers[0]))
line('mcp-customs', told(guarded.answers[0]))
console.log('2. Carelessness: get_forecast declares data, and returns a sentence.')
line('without', `${told(bare.answers[1])} (many clients refuse it)`)
line('mcp-customs', told(guarded.answers[1]))
line('after "relax"', told(relaxed.answers[0]))
console.log('3. An attack: echo was accepted, and describes itself otherwise today.')
line('accepted', descriptionIn(guarded))
line('now', descriptionIn(bare))
line('mcp-customs', `withheld; a call gets: ${told(locked.answers[0])}`)
console.log(`
Try next:
  node dist/cli.js audit show --verdict block --verdict demote demo.ndjson
  node dist/cli.js audit report -o demo.html demo.ndjson    and open demo.html
  node dist/cli.js install                                  for the servers of your clients
`)
