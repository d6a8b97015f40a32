// Makes a day of traffic: real servers behind `wrap` and `serve`, and clients that ask them for this and that, in a minute that the
// relays' clocks take for a day. What is asked, and when, is the same on every run. Their logs, to look at with `audit show`,
// `audit report` and `ui`, are in FOLDER. After `npm run build`: node bench/day.mjs FOLDER [SECONDS (60)]
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { numbersFrom } from './random.mjs'

const [given, seconds = '60'] = process.argv.slice(2)
if (given === undefined) throw new Error('usage: day.mjs FOLDER [SECONDS]')
const folder = resolve(given)
const data = join(folder, 'data')
mkdirSync(data, { recursive: true })
for (const name of ['notes.txt', 'todo.txt', 'plan.md']) writeFileSync(join(data, name), `${name}\n`.repeat(name.length * 40))

const official = name => createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)
const here = path => fileURLToPath(new URL(path, import.meta.url))

/** Hours pass quickly in the relays: a module that every process of theirs loads first. */
const began = Date.now()
const clock = `
  const Real = Date, speed = ${86_400 / Number(seconds)}, day = ${Date.UTC(2026, 10, 21)}
  const now = () => Math.min(day + (Real.now() - ${began}) * speed, day + 86_399_999)
  globalThis.Date = class Date extends Real {
    constructor(...given) { given.length === 0 ? super(now()) : super(...given) }
    static now() { return now() }
  }`
const env = { ...process.env, XDG_STATE_HOME: folder, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}` }

const random = numbersFrom(21)
const oneOf = list => list[Math.floor(random() * list.length)]

const cli = here('../dist/cli.js')
const commands = {
  files: ['--trust', '--', process.execPath, official('filesystem'), data],
  memory: ['--', process.execPath, official('memory')],
  everything: ['--', process.execPath, official('everything')],
  weather: ['--', process.execPath, here('../docker/demo/lying-server.mjs')],
}

const call = (name, given = {}) => client => client.callTool({ name, arguments: given })
const asked = {
  files: [
    ...['notes.txt', 'todo.txt', 'plan.md', 'nowhere.txt'].map(name => call('read_text_file', { path: join(data, name) })),
    call('list_directory', { path: data }), call('search_files', { path: data, pattern: '**/*.txt' }), call('get_file_info', { path: join(data, 'plan.md') }),
    call('write_file', { path: join(data, 'plan.md'), content: 'A plan.\n' }), call('read_text_file', { path: '/etc/passwd' }), call('directory_tree', { path: data }),
  ],
  memory: [
    call('create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['wrote a program'] }] }),
    call('read_graph'), call('search_nodes', { query: 'Ada' }), call('open_nodes', { names: ['Ada'] }), call('create_entities', { entities: 'Ada' }),
  ],
  everything: [
    call('echo', { message: 'hello' }), call('get-sum', { a: 1, b: 2 }), call('get-sum', { a: 'one' }), call('get-structured-content', { location: 'New York' }),
    call('get-tiny-image'), call('get-annotated-message', { messageType: 'error', includeImage: true }), call('trigger-long-running-operation', { duration: 0.3, steps: 2 }),
    client => client.listPrompts(), client => client.listResources(),
  ],
  weather: [
    ...['Paris', 'Paris', 'Paris', 'Paris', 'Atlantis', 'Oslo'].map(city => call('get_weather', { city })),
    call('echo', { text: 'hello' }), call('echo', { text: 'hello' }), call('get_forecast', { city: 'Paris' }), call('get_balance', { account: '1' }),
    call('draw', { what: 'a house' }), call('find_page', { about: 'cats' }), call('add_numbers', { a: '1', b: '2' }), call('get_nothing'),
  ],
}

/** An hour of the day, in milliseconds of ours. */
const hour = (Number(seconds) * 1000) / 24
const until = async time => pause(Math.max(0, began + time * hour - Date.now()))

/** A client that connects at an hour, asks now and then, and goes away at another. @param often calls an hour, at noon */
const session = async (server, from, to, often, open) => {
  await until(from)
  const client = new Client({ name: oneOf(['desktop', 'editor', 'agent']), version: '1.4.2' }, { capabilities: {} })
  const end = await open(client)
  await client.listTools()
  for (let time = from; time < to; ) {
    const busy = Math.exp(-(((time - 13) / 5) ** 2))
    time += (0.3 + random()) / (often * busy + 0.3)
    await until(Math.min(time, to))
    await oneOf(asked[server])(client).catch(() => undefined)
    if (random() < 0.02) await client.listTools()
  }
  await client.close()
  await end?.()
}

const wrap = server => client => client.connect(new StdioClientTransport({ command: process.execPath, args: [cli, 'wrap', '--log-level', 'silent', '--server', server, ...commands[server]], env, stderr: 'inherit' }))

const serve = async server => {
  const relay = spawn(process.execPath, [cli, 'serve', '--log-level', 'silent', '--listen', '127.0.0.1:0', '--server', server, ...commands[server]], { env, stdio: ['ignore', 'inherit', 'pipe'] })
  for await (const line of createInterface({ input: relay.stderr })) {
    const [, url] = /listening on (\S+)/.exec(line) ?? []
    if (url !== undefined) return { stop: () => relay.kill(), open: client => client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`))) }
  }
  throw new Error(`serve ended before it listened`)
}

const everything = await serve('everything')
const weather = await serve('weather')
await Promise.all([
  session('files', 7.2, 12.1, 40, wrap('files')),
  session('files', 12.9, 18.4, 50, wrap('files')),
  session('files', 20.5, 22, 60, wrap('files')),
  session('memory', 8.1, 17.6, 25, wrap('memory')),
  session('memory', 19, 21.2, 40, wrap('memory')),
  session('weather', 9.3, 11.5, 20, wrap('weather')),
  ...[[1, 4], [6.5, 15], [9, 18], [10, 13.5], [14, 23]].map(([from, to]) => session('everything', from, to, 18, everything.open)),
  ...[[0.2, 23.5], [8, 16], [13, 19]].map(([from, to]) => session('weather', from, to, 12, weather.open)),
])
everything.stop()
weather.stop()
