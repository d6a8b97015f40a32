// Kills `serve` at random, its relay processes sometimes before, or stops them, and looks what is left: no process, audit logs that verify, and the
// end of every session in them, but for those of a relay process that was killed.
//
//   node bench/kills.mjs [ROUNDS] [SEED]          (Linux: reads /proc)
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findLogs } from '../dist/relay/audit/read/logs.js'
import { verify } from '../dist/relay/audit/read/verify.js'
import { numbersFrom } from './random.mjs'

const rounds = Number(process.argv[2] ?? 50)
const seed = Number(process.argv[3] ?? Date.now() % 1e6)
const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const server = fileURLToPath(new URL('../test/fixtures/lying/mortal-server.mjs', import.meta.url))
/** The longest that an end may take, in milliseconds: its grace, and twice the time of a server. */
const longest = 15_000

/** The same kills for the same seed, as far as clocks allow. */
const random = numbersFrom(seed)
const upTo = most => Math.floor(random() * (most + 1))
const oneOf = list => list[upTo(list.length - 1)]

/** What servers do about their end. Each notes its process; those that answer do so as the mortal server does. */
const note = 'const { appendFileSync } = await import("node:fs"); appendFileSync(process.env.PIDS, process.pid + "\\n");'
const deaf = 'for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {}); setInterval(() => {}, 1 << 30);'
const late = 'const { exit } = process; process.exit = code => setTimeout(() => exit(code), 800);'
const parent = `const { spawn } = await import("node:child_process"); spawn(process.execPath, ["-e", ${JSON.stringify(`(async () => { ${note} ${deaf} })()`)}], { stdio: "inherit" });`
const stubborn = `${deaf} process.exit = () => {};`
const kinds = { polite: '', late, stubborn, parent, 'stubborn parent': parent + stubborn }

const post = (url, message, session) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...(session && { 'mcp-session-id': session }) },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })

/** A client: its handshake, and sometimes a call that nobody waits for. */
const client = async url => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'kills', version: '1' } }
  const response = await post(url, { id: 1, method: 'initialize', params })
  await response.text()
  if (random() < 0.5) post(url, { id: 2, method: 'tools/call', params: { name: 'echo', arguments: { word: 'x' } } }, response.headers.get('mcp-session-id')).catch(() => {})
}

const lives = pid => {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const relaysOf = pid => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number).filter(lives)

const linesOf = file => readFileSync(file, 'utf8').split('\n').filter(Boolean)

const round = async folder => {
  const [config, audit, pids] = ['customs.json', 'logs/audit.ndjson', 'pids'].map(name => join(folder, name))
  writeFileSync(pids, '')
  const names = Object.keys(kinds).filter(() => random() < 0.6)
  const chosen = names.length > 0 ? names : ['stubborn']
  const servers = chosen.map((name, index) => {
    const command = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(note + kinds[name])}`, server, '0']
    return [`s${index}`, { command, env: { PIDS: pids } }]
  })
  const write = () => writeFileSync(config, JSON.stringify({ version: 1, sessions: { graceMs: oneOf([0, 500]) }, servers: Object.fromEntries(servers) }))
  write()
  const relay = spawn(process.execPath, [cli, 'serve', '--listen', '127.0.0.1:0', '--audit', audit, '--log-level', 'silent', '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = new Promise(resolve => relay.on('exit', (code, signal) => resolve({ code, signal })))
  const url = await new Promise(resolve => createInterface({ input: relay.stderr }).on('line', line => /listening on (\S+)/.test(line) && resolve(line.split(' ').at(-1))))
  const connect = () => Promise.all(servers.map(([name]) => client(`${url}/${name}/mcp`)))
  const did = []
  await connect()
  for (let reloads = upTo(2); reloads > 0; reloads -= 1) {
    did.push('reload')
    if (random() < 0.5) write()
    else relay.kill('SIGHUP')
    await pause(upTo(300))
    if (random() < 0.5) await connect()
  }
  const hurt = random() < 0.5 ? oneOf(relaysOf(relay.pid)) : undefined
  if (hurt !== undefined) {
    const signal = oneOf(['SIGKILL', 'SIGABRT', 'SIGSTOP'])
    did.push(`relay process: ${signal}`)
    process.kill(hurt, signal)
    if (random() < 0.5) await connect().catch(() => {})
  }
  const pending = random() < 0.3 ? connect().catch(() => {}) : undefined
  for (let signals = 1 + upTo(3); signals > 0; signals -= 1) {
    const signal = oneOf(['SIGTERM', 'SIGINT', 'SIGTERM', 'SIGHUP'])
    did.push(signal)
    relay.kill(signal)
    await pause(oneOf([0, 5, 50, 700]))
  }
  did.push('SIGTERM')
  relay.kill('SIGTERM')
  const begun = performance.now()
  const late = setTimeout(() => relay.kill('SIGKILL'), longest)
  const { code, signal } = await exit
  clearTimeout(late)
  await pending
  const started = linesOf(pids).map(Number)
  const left = started.filter(lives)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  const logs = await findLogs([join(folder, 'logs')])
  const read = await Promise.all(logs.map(files => verify(files)))
  const [ok, records, open] = [read.every(one => one.ok), read.reduce((all, one) => all + one.records, 0), read.reduce((all, one) => all + one.open.sessions, 0)]
  const sessions = logs.flat().flatMap(linesOf).filter(line => line.includes('"event":"session/start"')).length
  const isGood = code === 0 && left.length === 0 && ok && (open === 0 || hurt !== undefined)
  return { isGood, servers: chosen, did, ms: Math.round(performance.now() - begun), code, signal, processes: started.length, left: left.length, sessions, records, open, ok }
}

console.log(`seed ${seed}`)
const all = []
for (let count = 0; count < rounds; count += 1) {
  const folder = mkdtempSync(join(tmpdir(), 'kills-'))
  const outcome = await round(folder)
  all.push(outcome)
  if (!outcome.isGood) console.log(`round ${count}`, JSON.stringify(outcome))
  rmSync(folder, { recursive: true, force: true })
}
const sum = key => all.reduce((total, each) => total + each[key], 0)
console.log(
  `${rounds} kills: ${sum('processes')} processes, ${sum('left')} left; ${sum('sessions')} sessions, ${sum('open')} without an end; ` +
    `${all.filter(({ ok }) => !ok).length} logs that do not verify; the slowest end took ${Math.max(...all.map(({ ms }) => ms))} ms`,
)
process.exit(all.every(({ isGood }) => isGood) ? 0 : 1)
