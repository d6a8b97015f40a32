// Clients that mean no good, in front of each bridge, and what becomes of another one: the time of its calls beside that when it is alone, and
// the relay's memory. The same attacks on a bare Node server come first; each line ends with its figures.
//
//   node bench/abuse.mjs [SECONDS] [IN FLIGHT] [WORDS]   (Linux: reads /proc; a minute of each when it is left out, and a flood of 8 at a time; WORDS choose phases)
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { start } from './start.mjs'

const seconds = Number(process.argv[2] ?? 60)
const inFlight = Number(process.argv[3] ?? 8)
const chosen = process.argv[4] ?? ''
const here = path => fileURLToPath(new URL(path, import.meta.url))

/** Resident memory, in MB. */
const memoryOf = pid => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024

const common = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const eras = {
  legacy: {
    headers: () => ({ 'mcp-protocol-version': '2025-11-25' }),
    params: params => params,
  },
  modern: {
    headers: (method, { name }) => ({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name && { 'mcp-name': name }) }),
    params: params => ({
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': { name: 'abuse', version: '1' },
      },
    }),
  },
}

class Client {
  id = 0
  constructor(url, era) {
    this.pool = new Pool(url.origin)
    this.era = eras[era]
    this.isLegacy = era === 'legacy'
  }

  request(method, params, id = ++this.id) {
    const headers = { ...common, ...this.era.headers(method, params), ...(this.session && { 'mcp-session-id': this.session }) }
    return { headers, body: JSON.stringify({ jsonrpc: '2.0', ...(id && { id }), method, params: this.era.params(params) }) }
  }

  async ask(method, params, id) {
    const reply = await this.pool.request({ path: '/mcp', method: 'POST', ...this.request(method, params, id) })
    await reply.body.dump({ limit: Infinity })
    if (reply.statusCode >= 300) throw new Error(`HTTP ${reply.statusCode}`)
    return reply.headers['mcp-session-id']
  }

  call(name) {
    return this.ask('tools/call', { name, arguments: {} })
  }

  async open() {
    if (this.isLegacy) {
      this.session = await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'abuse', version: '1' } })
      await this.ask('notifications/initialized', {}, 0)
    }
    await this.ask('tools/list', {})
    return this
  }

  /** The bytes of an HTTP request. */
  raw(name, more) {
    const { headers, body } = this.request('tools/call', { name, arguments: {} })
    const lines = Object.entries({ host: 'localhost', ...headers, ...more, 'content-length': body.length }).map(([key, value]) => `${key}: ${value}\r\n`)
    return `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`
  }
}

/** Sockets that are opened again when they are cut; `act` begins with each. */
const sockets = ({ port }, count, act, options = {}) => {
  const open = new Set()
  let isOver = false
  const begin = () => {
    if (isOver) return
    const socket = connect({ port, host: '127.0.0.1', ...options })
    open.add(socket)
    socket.on('error', () => {})
    socket.on('connect', () => act(socket))
    socket.on('close', () => {
      open.delete(socket)
      setTimeout(begin, 100)
    })
  }
  for (let index = 0; index < count; index++) begin()
  return () => {
    isOver = true
    for (const socket of open) socket.destroy()
  }
}

const abuses = {
  'alone': () => () => {},
  'who never reads': async (url, era) => {
    const client = await new Client(url, era).open()
    return sockets(url, 10, socket => {
      socket.pause()
      for (let index = 0; index < 10; index++) socket.write(client.raw('blob'))
    })
  },
  'who sends a byte a minute': async (url, era) => {
    const client = await new Client(url, era).open()
    return sockets(url, 200, socket => {
      const bytes = client.raw('small')
      let sent = bytes.indexOf('\r\n\r\n') + 4
      socket.resume().write(bytes.slice(0, sent))
      const timer = setInterval(() => socket.write(bytes[sent++] ?? ' '), 60_000)
      socket.on('close', () => clearInterval(timer))
    })
  },
  'who sends requests behind an open answer': async (url, era) => {
    const client = await new Client(url, era).open()
    const head = Object.entries({ host: 'localhost', accept: 'text/event-stream', ...(client.session && { 'mcp-session-id': client.session }) })
    const open = `GET /mcp HTTP/1.1\r\n${head.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n`
    const bytes = Buffer.from(open + client.raw('small').repeat(4000))
    return sockets(url, 10, socket => socket.resume().write(bytes))
  },
  'who is refused and stays': url =>
    sockets(url, 300, socket => socket.resume().write('no HTTP\r\n\r\n'), { allowHalfOpen: true }),
  'who says nothing': url => sockets(url, 300, socket => socket.resume()),
  'whose sessions have names of 15 KB': async (url, era) => {
    const client = await new Client(url, era).open()
    delete client.session
    return sockets(url, 2, socket => {
      const bytes = client.raw('small', { 'x-bench-name': '15000' })
      socket.on('data', () => socket.write(bytes)).write(bytes)
    })
  },
  'who sends bodies that lack a byte': async (url, era) => {
    const client = await new Client(url, era).open()
    const head = client.raw('small').replace(/content-length: \d+/, 'content-length: 4000000').split('\r\n\r\n')[0]
    const bytes = Buffer.from(`${head}\r\n\r\n${' '.repeat(3_999_999)}`)
    return sockets(url, 60, socket => socket.resume().write(bytes))
  },
  'who floods': async (url, era) => {
    const client = await new Client(url, era).open()
    let isOver = false
    for (let index = 0; index < inFlight; index++) void (async () => { while (!isOver) await client.call('small').catch(() => pause(10)) })()
    return () => { isOver = true }
  },
}

const bareNode = 'bare Node'
const bridges = {
  [bareNode]: async () => ({ era: 'legacy', relay: await start([here('bare-http.mjs')]) }),
  'serve COMMAND, a process for each': async () => ({ era: 'legacy', relay: await relayTo(['--', process.execPath, here('server.mjs')]) }),
  'serve COMMAND, one process for all': async () => ({ era: 'modern', relay: await relayTo(['--', process.execPath, here('server.mjs')]) }),
  'serve URL, JSON': async () => beforeHttp('json'),
  'serve URL, streams': async () => beforeHttp('sse'),
}
const relayTo = target => start([here('../dist/cli.js'), 'serve', '--audit', 'none', '--log-level', 'silent', '--listen', '127.0.0.1:0', ...target], 'stderr')
const beforeHttp = async kind => {
  const server = await start([here('http-server.mjs'), kind])
  return { era: 'legacy', relay: await relayTo([server.url.href]), server }
}

/** The figures of the bare server, by attack. */
const bareFigures = new Map()

console.log('a small call of another client: median and the slowest in a hundred, in milliseconds; the most memory of the relay, in MB')
for (const [bridge, open] of Object.entries(bridges)) {
  const { era, relay, server } = await open()
  const client = await new Client(relay.url, era).open()
  let alone
  for (const [abuse, begin] of Object.entries(abuses).filter(([name]) => name === 'alone' || name.includes(chosen))) {
    const end = await begin(relay.url, era)
    const times = []
    let memory = 0
    for (const over = performance.now() + seconds * 1000; performance.now() < over;) {
      const began = performance.now()
      await client.call('small')
      times.push(performance.now() - began)
      memory = Math.max(memory, memoryOf(relay.child.pid))
      await pause(20)
    }
    end()
    times.sort((a, b) => a - b)
    const [median, slow] = [0.5, 0.99].map(part => times[Math.floor(times.length * part)])
    alone ??= median
    const figures = `${(median / alone).toFixed(1)} times, ${memory.toFixed(0)} MB`
    if (bridge === bareNode) bareFigures.set(abuse, figures)
    console.log(`${bridge}; ${abuse}: ${median.toFixed(2)} ms, ${slow.toFixed(2)} ms; ${figures} (${bareNode}: ${bareFigures.get(abuse)})`)
    await pause(1000)
  }
  relay.child.kill()
  server?.child.kill()
}
process.exit()
