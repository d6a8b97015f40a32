// Replicas of `serve` behind nginx, their state in Redis or Valkey. Needs nginx and redis-server. nginx sends each request to the
// next replica; with ROUTED=1 to the one that its session id names (docs/scale.md).
//
//   node bench/replicas.mjs rounds [N]            sampling, elicitation, roots, progress, cancellation, subscription, resumption, N times each
//   node bench/replicas.mjs kills [SECONDS] [RATE]  calls at a rate; a replica is killed every 5 s, the engine restarted twice
//   node bench/replicas.mjs cost [CALLS]          a small call with and without a state: CPU of the relay, p50; at most 7 s a turn, twelve turns
//   node bench/replicas.mjs count [SECONDS]       calls a second and keys in the engine, with 1, 2 and 4 replicas
//   node bench/replicas.mjs simulate [N] [SECONDS]  N replicas with one state; each serves by turns with the machine to itself, sessions of all the others
//   node bench/replicas.mjs front PORT URL        nginx and three replicas in front of URL, until it is ended (for the conformance suite)
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { connect, createServer as createSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'replicas-'))
const running = new Set()
const end = code => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  process.exit(code)
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => end(0))

const run = (command, args, env = {}) => {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, XDG_STATE_HOME: folder, ...env } })
  running.add(child)
  child.once('close', () => running.delete(child))
  child.stderr.on('data', text => process.env.VERBOSE && process.stderr.write(text))
  return child
}
const freePort = () => new Promise(resolve => {
  const server = createSocket().listen(0, '127.0.0.1', () => {
    const { port } = server.address()
    server.close(() => resolve(port))
  })
})
const listens = async port => {
  for (;;) {
    if (await new Promise(resolve => connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false)))) return
    await pause(20)
  }
}

const startEngine = async port => {
  const child = run('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'])
  await listens(port)
  return child
}
const startReplica = async ({ at, url, state, port, index, words = [] }) => {
  const file = join(at, `${index}.json`)
  writeFileSync(file, JSON.stringify({
    servers: { guarded: { url } }, ...(isRouted && { sessions: { replica: `relay-${index}` } }), ...(state && { state }),
  }))
  const child = run(process.execPath, [
    cli, 'serve', '--config', file, '--listen', `127.0.0.1:${port}`, '--audit', join(at, `${index}.ndjson`), ...words,
  ])
  await listens(port)
  return child
}
const isRouted = process.env.ROUTED === '1'
const startNginx = async (folder, port, replicas) => {
  const file = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder}/${name};`).join(' ')
  writeFileSync(file, `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
events { worker_connections 4096; }
http { access_log off; ${temporary}
  map $http_mcp_session_id $replicas { default any; ${isRouted ? replicas.map((_, index) => `~^relay-${index}: only-${index};`).join(' ') : ''} }
  upstream any { ${replicas.map(one => `server 127.0.0.1:${one} max_fails=1 fail_timeout=1s;`).join(' ')} keepalive 64; }
  ${replicas.map((own, index) => `upstream only-${index} { server 127.0.0.1:${own} max_fails=1 fail_timeout=1s; ${
    replicas.filter(one => one !== own).map(one => `server 127.0.0.1:${one} backup;`).join(' ')} keepalive 64; }`).join(' ')}
  server { listen 127.0.0.1:${port}; client_max_body_size 32m;
    location / { proxy_pass http://$replicas; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 1h; proxy_send_timeout 1h; } } }
`)
  run('nginx', ['-c', file, '-p', folder])
  await listens(port)
}
const startServer = async (...words) => {
  const port = await freePort()
  run(process.execPath, words, { PORT: String(port) })
  await listens(port)
  return `http://127.0.0.1:${port}/mcp`
}
const startEverything = () =>
  startServer(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js'), 'streamableHttp')
const startResumable = () => startServer(fileURLToPath(new URL('resumable-server.mjs', import.meta.url)))
const key = 'known-to-every-replica'

const setUp = async ({ url, count = 3, words = [], withState = true, front }) => {
  const at = mkdtempSync(join(folder, 'set-'))
  const enginePort = await freePort()
  let engine = withState && await startEngine(enginePort)
  const state = withState ? { url: `redis://127.0.0.1:${enginePort}`, key } : undefined
  const ports = await Promise.all(Array.from({ length: count }, freePort))
  const start = index => startReplica({ at, url, state, port: ports[index], index, words })
  const children = await Promise.all(ports.map((_, index) => start(index)))
  const port = front ?? await freePort()
  await startNginx(at, port, ports)
  return {
    url: `http://127.0.0.1:${port}/mcp`, ports, children, enginePort, findings: () => findingsIn(at, count),
    kill: async index => {
      children[index].kill('SIGKILL')
      await pause(300)
      children[index] = await start(index)
    },
    restartEngine: async () => {
      engine.kill('SIGKILL')
      await pause(1000)
      engine = await startEngine(enginePort)
    },
  }
}

/** A client without an SDK: each call is a POST, and a stream that is cut is resumed. */
class Client {
  #url
  #session
  #id = 0
  cuts = 0
  constructor(url) { this.#url = url }
  moveTo(url) { this.#url = url }

  #headers(more = {}) {
    return {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      ...(this.#session && { 'mcp-session-id': this.#session, 'mcp-protocol-version': '2025-06-18' }), ...more,
    }
  }

  async begin(capabilities = {}) {
    const params = { protocolVersion: '2025-06-18', capabilities, clientInfo: { name: 'bench', version: '1' } }
    for (;;) {
      const response = await fetch(this.#url, {
        method: 'POST', headers: this.#headers(), body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
      }).catch(() => undefined)
      const text = await response?.text().catch(() => '')
      if (response?.ok && text.includes('"protocolVersion"')) {
        this.#session = response.headers.get('mcp-session-id')
        break
      }
      await pause(100)
    }
    await this.tell({ method: 'notifications/initialized' })
    return this
  }

  async tell(message) {
    for (let tries = 0; tries < 20; tries++) {
      const response = await fetch(this.#url, { method: 'POST', headers: this.#headers(), body: JSON.stringify({ jsonrpc: '2.0', ...message }) }).catch(() => undefined)
      await response?.text().catch(() => '')
      if (response?.ok) return
      await pause(50)
    }
  }

  /** @returns the answer, `refused` where HTTP gave none, `lost` where the stream cannot be resumed any more */
  async call(name, args, withProgress = false) {
    const id = ++this.#id
    const params = { name, arguments: args, ...(withProgress && { _meta: { progressToken: id } }) }
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
    let last
    for (let tries = 0; tries < 30; tries++) {
      try {
        const response = last === undefined
          ? await fetch(this.#url, { method: 'POST', headers: this.#headers(), body })
          : await fetch(this.#url, { headers: this.#headers({ 'last-event-id': last, accept: 'text/event-stream' }) })
        if (!response.ok && last === undefined) return { refused: response.status, text: await response.text() }
        let rest = ''
        for await (const part of response.body) {
          rest += Buffer.from(part).toString()
          const events = rest.split('\n\n')
          rest = events.pop()
          for (const event of events) {
            last = /^id: ?(.*)$/m.exec(event)?.[1] ?? last
            const data = /^data: ?(.*)$/m.exec(event)?.[1]
            const message = data ? JSON.parse(data) : {}
            if (message.id === id && !message.method) return { answer: message, resumed: tries > 0 }
          }
        }
        const whole = /^\s*\{/.test(rest) ? JSON.parse(rest) : undefined
        if (whole?.id === id) return { answer: whole }
      } catch {
        // The connection was cut.
      }
      this.cuts++
      if (last === undefined) return { cut: true }
      await pause(100)
    }
    return { lost: true }
  }
}

const findingsIn = (at, count) => Array.from({ length: count }, (_, index) => readFileSync(join(at, `${index}.ndjson`), 'utf8').split('\n').filter(Boolean))
  .flat().map(line => JSON.parse(line)).flatMap(({ event, findings: found = [] }) => found.map(({ rule }) => `${event} ${rule}`))
  .filter(one => !/tool\/(annotations|dialect)/.test(one))
const tally = list => Object.fromEntries([...new Set(list)].map(one => [one, list.filter(other => other === one).length]))
const say = value => console.log(JSON.stringify(value))

const rounds = async n => {
  const { Client: Official } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport: Http } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const types = await import('@modelcontextprotocol/sdk/types.js')
  const { url, findings } = await setUp({ url: await startEverything() })
  const missed = []
  const done = { sampling: 0, elicitation: 0, roots: 0, progress: 0, cancellation: 0, subscription: 0, resumption: 0 }
  const open = async () => {
    const client = new Official({ name: 'bench', version: '1' }, { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } })
    client.setRequestHandler(types.CreateMessageRequestSchema, () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }))
    client.setRequestHandler(types.ElicitRequestSchema, () => ({ action: 'decline' }))
    client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///here' }] }))
    await client.connect(new Http(new URL(url)))
    return client
  }
  /** Adds after the answer has come: `done.x += await …` would read the sum before. */
  const count = async (what, answer, isRight) => {
    const got = await answer.catch(error => ({ error: error.message }))
    if (isRight(got)) done[what]++
    else missed.push(`${what}: ${JSON.stringify(got)?.slice(0, 200)}`)
  }
  const has = text => got => JSON.stringify(got).includes(text)
  const one = async () => {
    const client = await open()
    const call = (name, given = {}, options = {}) => client.callTool({ name, arguments: given }, undefined, { timeout: 20_000, ...options })
    await count('sampling', call('trigger-sampling-request', { prompt: 'x' }), has('sampled'))
    await count('elicitation', call('trigger-elicitation-request'), has('declined'))
    await count('roots', call('get-roots-list'), has('file:///here'))
    let steps = 0
    await count('progress', call('trigger-long-running-operation', { duration: 0.2, steps: 4 }, { onprogress: () => steps++ }), () => steps === 4)
    const stop = new AbortController()
    const cut = call('trigger-long-running-operation', { duration: 30, steps: 300 }, { signal: stop.signal, onprogress: () => stop.abort('enough') })
    await count('cancellation', cut, has('enough'))
    const updated = new Promise(resolve => {
      client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, resolve)
      setTimeout(() => resolve(undefined), 20_000)
    })
    await client.subscribeResource({ uri: 'demo://resource/dynamic/text/1' })
    await call('toggle-subscriber-updates')
    await count('subscription', updated, got => got !== undefined)
    await client.close()
    await count('resumption', resumes(url), got => got === 1)
  }
  for (let left = n; left > 0; left -= 4) await Promise.all(Array.from({ length: Math.min(4, left) }, one))
  say({ rounds: n, done, missed: tally(missed), findings: tally(findings()) })
}

/** Cuts a call behind its first event, and resumes it. */
const resumes = async url => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const post = (message, session, signal) => fetch(url, {
    method: 'POST', signal, body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    headers: { ...headers, ...(session && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }) },
  })
  const begun = await post({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'b', version: '1' } } })
  await begun.text()
  const session = begun.headers.get('mcp-session-id')
  await (await post({ method: 'notifications/initialized' }, session)).text()
  const cut = new AbortController()
  const params = { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 }, _meta: { progressToken: 1 } }
  const response = await post({ id: 5, method: 'tools/call', params }, session, cut.signal)
  let text = ''
  for await (const part of response.body) {
    text += Buffer.from(part).toString()
    if (/^id: ?\S+/m.test(text) && text.includes('\n\n')) break
  }
  cut.abort()
  const last = [...text.matchAll(/^id: ?(\S+)/gm)].at(-1)?.[1]
  for (let tries = 0; tries < 20; tries++) {
    await pause(200)
    const rest = await fetch(url, { headers: { accept: 'text/event-stream', 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25', 'last-event-id': last }, signal: AbortSignal.timeout(3000) })
    let replayed = ''
    try {
      for await (const part of rest.body) {
        replayed += Buffer.from(part).toString()
        if (replayed.includes('operation completed')) return 1
      }
    } catch {
      // No more came.
    }
  }
  return 0
}

const kills = async (seconds, rate) => {
  const replicas = await setUp({ url: await startResumable() })
  const clients = await Promise.all(Array.from({ length: 10 }, () => new Client(replicas.url).begin()))
  const outcomes = []
  const wrong = []
  const until = Date.now() + seconds * 1000
  const open = new Set()
  const call = async (client, number) => {
    const message = `call ${number}`
    const isSlow = number % 10 === 0
    const outcome = isSlow
      // Its progress gives the stream event ids, from which it can be resumed.
      ? await client.call('trigger-long-running-operation', { duration: 1, steps: 5 }, true)
      : await client.call('echo', { message })
    const { answer } = outcome
    const text = answer?.result?.content?.[0]?.text
    if (answer?.result && !answer.result.isError && text !== (isSlow ? 'Long running operation completed. Duration: 1 seconds, Steps: 5.' : `Echo: ${message}`)) wrong.push(outcome)
    outcomes.push(answer?.result ? (answer.result.isError ? 'tool error' : outcome.resumed ? 'resumed' : 'answered')
      : answer?.error ? `error ${answer.error.code}` : outcome.refused ? `HTTP ${outcome.refused}` : outcome.cut ? 'cut before an event id' : 'lost')
  }
  const mishaps = (async () => {
    for (let turn = 1; Date.now() < until - 3000; turn++) {
      await pause(5000)
      await replicas.kill(Math.floor(Math.random() * 3))
      if (turn === Math.ceil(seconds / 15) || turn === Math.ceil(seconds / 7.5)) await replicas.restartEngine()
    }
  })()
  for (let number = 0; Date.now() < until; number++) {
    const doing = call(clients[number % clients.length], number).catch(error => outcomes.push(`failed ${error.message}`)).finally(() => open.delete(doing))
    open.add(doing)
    await pause(Math.max(0, until - seconds * 1000 + (number + 1) * 1000 / rate - Date.now()))
  }
  await mishaps
  await Promise.race([Promise.all(open), pause(30_000)])
  say({ seconds, rate, outcomes: tally(outcomes), unanswered: open.size, wrong: wrong.length, findings: tally(replicas.findings()) })
}

/** A server that answers at once with JSON, and has a session. */
const startSmall = async () => {
  const tool = { name: 'small', inputSchema: { type: 'object' } }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const { id, method, params } = JSON.parse(text || '{}')
    if (id === undefined) return response.writeHead(202).end()
    const result = method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
      : method === 'tools/list' ? { tools: [tool] } : { content: [{ type: 'text', text: 'x' }] }
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': request.headers['mcp-session-id'] ?? crypto.randomUUID() })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}/mcp`
}
/** CPU seconds of a process and its children. */
const cpuOf = pid => {
  const stat = file => readFileSync(file, 'utf8').replace(/^.*\) /, '').split(' ')
  const own = path => { const [, , , , , , , , , , , user, system] = stat(path); return (Number(user) + Number(system)) / 100 }
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return own(`/proc/${pid}/stat`) + children.reduce((sum, child) => sum + own(`/proc/${child}/stat`), 0)
}
const load = async (url, { calls = Infinity, ms = Infinity, lanes = 8 }) => {
  const times = []
  const clients = await Promise.all(Array.from({ length: lanes }, () => new Client(url).begin()))
  const until = performance.now() + ms
  await Promise.all(clients.map(async client => {
    while (times.length < calls && performance.now() < until) {
      const began = performance.now()
      await client.call('small', {})
      times.push(performance.now() - began)
    }
  }))
  return times.sort((a, b) => a - b)
}
const cost = async calls => {
  const url = await startSmall()
  const sides = []
  for (const withState of [false, true]) sides.push({ withState, ...await setUp({ url, count: 1, withState }) })
  const totals = new Map(sides.map(({ withState }) => [withState, { cpu: 0, times: [] }]))
  for (let turn = 0; turn < 6; turn++) {
    for (const { withState, ports, children } of sides) {
      const before = cpuOf(children[0].pid)
      const times = await load(`http://127.0.0.1:${ports[0]}/mcp`, { calls, ms: 7000 })
      const total = totals.get(withState)
      if (turn === 0) continue
      total.cpu += cpuOf(children[0].pid) - before
      total.times.push(...times)
    }
  }
  for (const [withState, { cpu, times }] of totals) {
    times.sort((a, b) => a - b)
    say({ withState, calls: times.length, cpuMsACall: Number((1000 * cpu / times.length).toFixed(3)), p50: Number(times[Math.floor(times.length / 2)].toFixed(2)) })
  }
}
const keysIn = port => new Promise(resolve => {
  const socket = connect(port, '127.0.0.1', () => socket.write('DBSIZE\r\n'))
  socket.once('data', data => { resolve(Number(data.toString().slice(1))); socket.destroy() })
})
const count = async seconds => {
  const url = await startSmall()
  for (const replicas of [1, 2, 4]) {
    const { url: front, enginePort, children } = await setUp({ url, count: replicas })
    const before = children.map(({ pid }) => cpuOf(pid))
    const times = await load(front, { ms: seconds * 1000, lanes: 16 })
    const cpu = children.reduce((sum, { pid }, index) => sum + cpuOf(pid) - before[index], 0)
    say({ replicas, callsASecond: Math.round(times.length / seconds), relayCpuMsACall: Number((1000 * cpu / times.length).toFixed(3)), calls: times.length, keys: await keysIn(enginePort) })
    for (const child of running) child.kill('SIGKILL')
    await pause(500)
  }
}

/** Memory in bytes, keys, and commands so far of the engine. */
const engineOf = port => new Promise(resolve => {
  const socket = connect(port, '127.0.0.1', () => socket.write('INFO\r\nQUIT\r\n'))
  let text = ''
  socket.on('data', data => (text += data)).once('close', () => {
    const [, memory, commands] = /used_memory:(\d+)[^]*total_commands_processed:(\d+)/.exec(text)
    resolve({ keys: Number(/keys=(\d+)/.exec(text)?.[1] ?? 0), memory: Number(memory), commands: Number(commands), cpu: Number(/used_cpu_user:([\d.]+)/.exec(text)[1]) + Number(/used_cpu_sys:([\d.]+)/.exec(text)[1]) })
  })
})
/**
 * Machines of their own are simulated by turns: a replica serves while the others only keep their connections. Calls are of sessions that
 * began at other replicas, so each replica reads the state. All replicas together do the sum, if nothing that they share is full: the engine's part is measured.
 */
const simulate = async (count, seconds) => {
  const url = await startSmall()
  const { ports, children, enginePort } = await setUp({ url, count })
  const at = index => `http://127.0.0.1:${ports[index % count]}/mcp`
  const alone = []
  let calls = 0
  const warm = async () => { for (let index = 0; index < count; index++) await load(at(index), { ms: 500, lanes: 4 }) }
  await warm()
  const clients = await Promise.all(Array.from({ length: count * 4 }, (_, index) => new Client(at(index)).begin()))
  const before = await engineOf(enginePort)
  for (let index = 0; index < count; index++) {
    const used = cpuOf(children[index].pid)
    let done = 0
    const until = performance.now() + seconds * 1000
    // Each client goes on at this replica with the session that another one has opened.
    await Promise.all(clients.filter((_, one) => one % count !== index).slice(0, 16).map(async client => {
      client.moveTo(at(index))
      while (performance.now() < until) { await client.call('small', {}); done += 1 }
    }))
    alone.push({ callsASecond: done / seconds, cpu: 1000 * (cpuOf(children[index].pid) - used) / done })
    calls += done
  }
  const after = await engineOf(enginePort)
  const sum = list => list.reduce((total, one) => total + one, 0)
  const rates = alone.map(one => one.callsASecond).sort((a, b) => a - b)
  const engineCpu = (after.cpu - before.cpu) / calls
  say({
    replicas: count, calls, callsASecondTogether: Math.round(sum(rates)), slowest: Math.round(rates[0]), fastest: Math.round(rates.at(-1)),
    cpuMsACall: Number((sum(alone.map(one => one.cpu)) / count).toFixed(3)), commandsACall: Number(((after.commands - before.commands) / calls).toFixed(4)),
    engineCpuMsACall: Number((1000 * engineCpu).toFixed(5)), shareOfOneEngineCore: Number((sum(rates) * engineCpu).toFixed(3)), keysBefore: before.keys, keysAfter: after.keys,
    sessions: clients.length, bytesOfEngineMore: after.memory - before.memory,
  })
}

const [mode, ...given] = process.argv.slice(2)
const modes = {
  rounds: () => rounds(Number(given[0] ?? 100)),
  kills: () => kills(Number(given[0] ?? 600), Number(given[1] ?? 200)),
  cost: () => cost(Number(given[0] ?? 2000)),
  count: () => count(Number(given[0] ?? 10)),
  simulate: () => simulate(Number(given[0] ?? 16), Number(given[1] ?? 6)),
  front: async () => {
    await setUp({ url: given[1], front: Number(given[0]), words: ['--policy', 'observe', '--trust'] })
    await new Promise(() => {})
  },
}
if (modes[mode] === undefined) throw new Error('rounds, kills, cost, count, simulate or front')
await modes[mode]()
end(0)
