// Real servers of npm behind one endpoint: what each lists and answers is, byte for byte, what it does alone.
// node test/conformance/merged.mjs FOLDER    installs them there, unless they are
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const [given = ''] = process.argv.slice(2)
if (given === '') throw new Error('in which folder?')
const folder = resolve(given, 'servers')
const [data, home] = [join(folder, 'data'), join(folder, 'home')]
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const listMs = 10_000

/** Names that begin no request to the network; keys that no service knows. */
const key = '0000000000000000000000000000000000000000'
const scope = '@modelcontextprotocol/server-'
const servers = [
  { name: 'everything', of: `${scope}everything@2026.8.31`, args: ['stdio'] },
  { name: 'files', of: `${scope}filesystem@2026.8.31`, args: [data] },
  { name: 'memory', of: `${scope}memory@2026.8.31`, env: { MEMORY_FILE_PATH: join(home, 'memory.jsonl') } },
  { name: 'thinking', of: `${scope}sequential-thinking@2026.8.31` },
  { name: 'react', of: `${scope}basic-react@2.0.3`, args: ['--stdio'] },
  { name: 'segments', of: `${scope}customer-segmentation@2.0.3`, args: ['--stdio'] },
  { name: 'music', of: `${scope}sheet-music@2.0.3`, args: ['--stdio'] },
  { name: 'monitor', of: `${scope}system-monitor@2.0.3`, args: ['--stdio'] },
  { name: 'wiki', of: `${scope}wiki-explorer@2.0.3`, args: ['--stdio'] },
  { name: 'github', of: `${scope}github@2025.4.8` },
  { name: 'gitlab', of: `${scope}gitlab@2025.4.25`, env: { GITLAB_PERSONAL_ACCESS_TOKEN: key } },
  { name: 'context7', of: '@upstash/context7-mcp@4.1.1' },
  { name: 'tavily', of: 'tavily-mcp@0.2.22', env: { TAVILY_API_KEY: key } },
  { name: 'firecrawl', of: 'firecrawl-mcp@3.22.2', env: { FIRECRAWL_API_KEY: key } },
  { name: 'figma', of: 'figma-developer-mcp@0.13.2', args: ['--stdio'], env: { FIGMA_API_KEY: key } },
  { name: 'hostinger', of: 'hostinger-api-mcp@1.63.2', env: { APITOKEN: key } },
  { name: 'notion', of: '@notionhq/notion-mcp-server@2.5.2', env: { NOTION_TOKEN: key } },
  { name: 'git', of: '@cyanheads/git-mcp-server@2.15.3', env: { MCP_TRANSPORT_TYPE: 'stdio' } },
  { name: 'browserstack', of: '@browserstack/mcp-server@1.4.2', env: { BROWSERSTACK_USERNAME: key, BROWSERSTACK_ACCESS_KEY: key } },
  { name: 'circleci', of: '@circleci/mcp-server-circleci@0.20.0', env: { CIRCLECI_TOKEN: key } },
  { name: 'playwright', of: '@playwright/mcp@0.0.83' },
  { name: 'nx', of: 'nx-mcp@0.25.0', args: [data] },
  { name: 'postman', of: '@postman/postman-mcp-server@2.13.0', env: { POSTMAN_API_KEY: key } },
  { name: 'commander', of: '@wonderwhy-er/desktop-commander@0.2.52' },
]

/** Calls that need neither network nor key; of other tools only what they say of missing arguments is compared. */
const calls = {
  everything: [['echo', { message: 'héllo 🎉 <&> \u2028' }], ['get-sum', { a: 0.1, b: 2e21 }], ['get-tiny-image', {}], ['get-structured-content', { location: 'Chicago' }]],
  files: [['list_allowed_directories', {}], ['read_text_file', { path: join(data, 'a.txt') }], ['read_text_file', { path: '/etc/passwd' }], ['list_directory', { path: data }]],
  memory: [['read_graph', {}], ['search_nodes', { query: 'x' }]],
  thinking: [['sequentialthinking', { thought: 't', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }]],
}

const packageOf = of => of.slice(0, of.lastIndexOf('@'))
for (const one of [data, home]) mkdirSync(one, { recursive: true })
writeFileSync(join(data, 'a.txt'), 'a\r\nbé\n')
if (!servers.every(({ of }) => existsSync(join(folder, 'node_modules', packageOf(of))))) {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const command = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', ...servers.map(({ of }) => of)]
  try {
    execFileSync('npm', command, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  } catch {
    console.log('the servers cannot be had: nothing was compared')
    process.exit(0)
  }
}

const commandOf = ({ of, args = [] }) => {
  const place = join(folder, 'node_modules', packageOf(of))
  const { bin } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))
  return [process.execPath, join(place, typeof bin === 'string' ? bin : Object.values(bin)[0]), ...args]
}

const started = []
process.on('exit', () => started.forEach(({ pid }) => {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch { /* It has ended. */ }
}))

/** A client over stdio that keeps the lines of responses. */
const connect = async ([command, ...args], env = {}) => {
  const child = spawn(command, args, {
    cwd: home, stdio: ['pipe', 'pipe', 'ignore'], detached: true,
    env: { PATH: process.env.PATH, HOME: home, ...env },
  })
  started.push(child)
  child.stdin.on('error', () => undefined)
  const waiting = new Map()
  createInterface({ input: child.stdout }).on('line', line => {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      return
    }
    if (message.method !== undefined && message.id !== undefined) send({ id: message.id, result: { roots: [] } })
    if (message.method === undefined) waiting.get(message.id)?.(line)
  })
  const send = message => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  /** @returns the line of the response; undefined when none comes */
  const ask = (id, method, params, ms = 30_000) => new Promise(done => {
    const timer = setTimeout(done, ms)
    waiting.set(id, line => {
      clearTimeout(timer)
      done(line)
    })
    send({ id, method, ...(params && { params }) })
  })
  const begun = await ask(1, 'initialize', {
    protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo: { name: 'check', version: '1' },
  }, 60_000)
  send({ method: 'notifications/initialized' })
  return { isUp: begun !== undefined, ask, end: () => child.kill('SIGKILL') }
}

/** Number of calls of one server's tools that complain of missing arguments. */
const maxComplaints = 10

/** What one server lists, and its answers by request. */
const alone = async (server, from) => {
  const { isUp, ask, end } = await connect(commandOf(server), server.env)
  const answers = new Map()
  const listed = isUp ? await ask(2, 'tools/list') : undefined
  const tools = JSON.parse(listed ?? '{}').result?.tools ?? []
  const asked = [
    ...(calls[server.name] ?? []),
    ...tools.filter(({ inputSchema: { required = [] } }) => required.length > 0).slice(0, maxComplaints).map(({ name }) => [name, {}]),
  ]
  for (const [index, [name, args]] of asked.entries()) {
    const id = from + index
    answers.set(id, { name, args, line: await ask(id, 'tools/call', { name, arguments: args }) })
  }
  end()
  return { server, tools, answers }
}

const had = []
for (const [index, server] of servers.entries()) {
  const from = 1000 * (index + 1)
  // What differs between two runs alone cannot be compared.
  const [one, other] = await Promise.all([alone(server, from), alone(server, from)])
  if (one.tools.length === 0) {
    console.log(`${server.name}: does not list alone`)
    continue
  }
  for (const [id, { line }] of one.answers) if (line === undefined || other.answers.get(id)?.line !== line) one.answers.delete(id)
  had.push(one)
}

const file = join(folder, 'customs.json')
writeFileSync(file, JSON.stringify({
  policy: 'observe', audit: { file: 'none' }, limits: { listMs, tools: 5000 },
  servers: {
    ...Object.fromEntries(had.map(({ server }) => [server.name, { command: commandOf(server), env: server.env ?? {}, cwd: home }])),
    never: { command: [process.execPath, '-e', 'setInterval(() => undefined, 1000)'] },
  },
}))
const merged = await connect([process.execPath, cli, 'wrap', '--config', file, '--merge', '--trust'], {})
if (!merged.isUp) throw new Error('the merged endpoint does not begin')
const begun = performance.now()
const readList = async id => JSON.parse(await merged.ask(id, 'tools/list') ?? '{}').result ?? {}
let list = await readList(2)
const firstMs = performance.now() - begun
const missingIn = ({ _meta }) => (_meta?.['mcp-customs/missing'] ?? []).map(({ server }) => server)
for (let tries = 3; tries < 30 && missingIn(list).join() !== 'never'; tries += 1) {
  await new Promise(done => setTimeout(done, 2000))
  list = await readList(tries)
}
let [compared, faults] = [0, 0]
const fault = text => {
  faults += 1
  console.log(text)
}
if (firstMs > listMs + 1000) fault(`the first list took ${firstMs.toFixed(0)} ms, of ${listMs}`)
if (missingIn(list).join() !== 'never') fault(`missing: ${missingIn(list).join()}`)
const text = new Set((list.tools ?? []).map(tool => JSON.stringify(tool)))
for (const { server, tools, answers } of had) {
  const shown = name => `${server.name}__${name}`
  for (const tool of tools) {
    const name = (list.tools ?? []).find(one => one.name === shown(tool.name))?.name
    // Longer names are cut.
    if (shown(tool.name).length > 64) continue
    if (name === undefined || !text.has(JSON.stringify({ ...tool, name }))) fault(`${shown(tool.name)} is listed otherwise`)
  }
  for (const [id, { name, args, line }] of answers) {
    if (shown(name).length > 64) continue
    compared += 1
    const answer = await merged.ask(id, 'tools/call', { name: shown(name), arguments: args })
    if (answer !== line) fault(`${shown(name)}\n  alone:  ${line.slice(0, 300)}\n  merged: ${String(answer).slice(0, 300)}`)
  }
}
console.log(`${had.length} servers, ${list.tools?.length ?? 0} tools, ${compared} calls compared, ${faults} differ; ` +
  `the first list came after ${firstMs.toFixed(0)} ms, with one server that never answers (listMs: ${listMs})`)
process.exit(faults > 0 ? 1 : 0)
