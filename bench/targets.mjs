// What is measured between which ends. A command says where it listens, or is told a port. Peers are measured where they are installed.
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { overHttp, overStdio } from './client.mjs'
import { end } from './processes.mjs'
import { start, startAt } from './start.mjs'

const here = path => fileURLToPath(new URL(path, import.meta.url))
const node = (path, ...args) => [process.execPath, here(path), ...args]
const server = node('server.mjs')
export const ownCli = here('../dist/cli.js')
const ours = (command, ...args) => [process.execPath, ownCli, command, ...args]

/** The program of a package in node_modules, or of that name on the PATH. */
const installed = name => {
  const folder = here(`../node_modules/${name}`)
  if (existsSync(folder)) {
    const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return [process.execPath, join(folder, typeof bin === 'string' ? bin : bin[name])]
  }
  const isProgram = path => { try { accessSync(path, constants.X_OK); return true } catch { return false } }
  const found = [...process.env.PATH.split(delimiter), '/usr/sbin'].map(place => join(place, name)).find(isProgram)
  return found && [found]
}
const peer = (name, args, more = {}) => {
  const program = installed(name)
  return program ? { ...more, command: place => [...program, ...args(place)] } : { missing: true }
}
const sdk = front => ({ says: 'stdout', ...(existsSync(here('../node_modules/@modelcontextprotocol/sdk')) ? { command: place => node('between/sdk.mjs', front, ...place.server) } : { missing: true }) })

const nginx = peer('nginx', ({ folder, port, server: [url] }) => {
  const conf = readFileSync(here('between/nginx.conf'), 'utf8').replaceAll('FOLDER', folder).replace('UPSTREAM', new URL(url).host).replace('PORT', port)
  writeFileSync(join(folder, 'nginx.conf'), conf)
  return ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')]
})
const audited = ({ folder, server }) => ['--audit', join(folder, 'audit.ndjson'), ...(server.length > 1 ? ['--', ...server] : server)]
const wrap = { command: place => ours('wrap', ...audited(place)) }
const serve = { says: 'stderr', command: place => ours('serve', '--listen', '127.0.0.1:0', ...audited(place)) }
const bare = (path, says) => ({ says, command: place => node(path, ...place.server) })
const mcpProxy = peer('mcp-proxy', ({ port, server }) => ['--host', '127.0.0.1', '--port', port, '--', ...server])
const supergateway = peer('supergateway', ({ port, server }) => ['--stdio', server.join(' '), '--outputTransport', 'streamableHttp', '--stateful', '--port', port, '--logLevel', 'none'])

const betweenHttp = { nginx, 'node pass': bare('between/http-pass.mjs', 'stdout'), sdk: sdk('http'), ours: serve }

/** `limit`: what ours is compared with, the first that is there. `bare`: a bare node, for what start-up adds to. */
export const bridges = [
  {
    name: 'stdio-stdio', front: 'stdio', limit: ['raw pipe'], bare: 'raw pipe',
    targets: { 'raw pipe': bare('between/pipe.mjs'), 'parse pipe': bare('between/parse-pipe.mjs'), sdk: sdk('stdio'), ours: wrap },
  },
  { name: 'http-http', front: 'http', upstream: 'json', limit: ['nginx', 'node pass'], bare: 'node pass', targets: betweenHttp },
  // The same, where the server answers by event streams.
  { name: 'http-http-sse', front: 'http', upstream: 'sse', limit: ['nginx', 'node pass'], bare: 'node pass', sizes: ['small', 'rows'], targets: betweenHttp },
  {
    name: 'http-stdio', front: 'http', limit: ['bare bridge'], bare: 'bare bridge',
    targets: { 'bare bridge': bare('between/http-to-stdio.mjs', 'stdout'), 'mcp-proxy': mcpProxy, supergateway, sdk: sdk('http'), ours: serve },
  },
  {
    name: 'stdio-http', front: 'stdio', upstream: 'json', limit: ['bare bridge'], bare: 'bare bridge',
    targets: {
      'bare bridge': bare('between/stdio-to-http.mjs'),
      'mcp-remote': peer('mcp-remote', ({ server: [url] }) => [url, '--allow-http', '--transport', 'http-only'], { env: folder => ({ MCP_REMOTE_CONFIG_DIR: folder }) }),
      supergateway: peer('supergateway', ({ server: [url] }) => ['--streamableHttp', url, '--logLevel', 'none']),
      sdk: sdk('stdio'), ours: wrap,
    },
  },
].map(bridge => ({ ...bridge, targets: { direct: { direct: true }, ...bridge.targets } }))

const freePort = () =>
  new Promise(resolve => {
    const listener = createServer().listen(0, '127.0.0.1', () => {
      const { port } = listener.address()
      listener.close(() => resolve(String(port)))
    })
  })

/** Starts the server that a bridge leads to, where it listens by HTTP. @return undefined where the relay starts it */
export const startUpstream = async ({ upstream }, env = {}) => upstream && start([here('http-server.mjs'), upstream], 'stdout', env)

/**
 * Starts a target and a client of it that has had the answer to its first request.
 * @return the client; `startMs` to there; `child`, the process between (or the server, where there is none); `folder`, where its audit log is
 */
export const open = async (bridge, target, upstream, env = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-bench-'))
  const place = { folder, server: upstream ? [upstream.url.href] : server }
  const own = { ...env, ...target.env?.(folder) }
  let child
  const close = async () => {
    if (child) await end(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const began = performance.now()
    let client
    if (bridge.front === 'stdio') {
      client = overStdio(target.direct ? server : target.command(place), own)
      child = client.child
    } else {
      const started = await listening(bridge, target, place, own)
      child = started.child
      client = overHttp(new URL('/mcp', started.url))
    }
    await client.open()
    return { client, child, folder, startMs: performance.now() - began, close: async () => { await client.close(); await close() } }
  } catch (error) {
    await close()
    throw error
  }
}

const listening = async (bridge, target, place, env) => {
  if (target.direct) return start([here('http-server.mjs'), bridge.upstream ?? 'json'], 'stdout', env)
  if (target.says) return start(target.command(place).slice(1), target.says, env)
  place.port = await freePort()
  return startAt(new URL(`http://127.0.0.1:${place.port}/mcp`), target.command(place), env)
}
