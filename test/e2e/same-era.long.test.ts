import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { installed } from '../installed.js'
import { cli, scratch } from './bridge.js'
import { overHttp } from './era-peers.js'
import { call, fixture, initialize, open, send } from './gateways.js'
import { start } from './harness.js'
import { serve } from './http-bridges.js'

// Real servers say the same, and are asked the same, with translation as without.

const { resolve } = createRequire(import.meta.url)
const official = (name: string, ...args: readonly string[]) =>
  [process.execPath, resolve(`@modelcontextprotocol/server-${name}/dist/index.js`), ...args]
const eras = (name: string, ...args: readonly string[]) =>
  [process.execPath, fileURLToPath(new URL(`../../test/fixtures/eras/${name}`, import.meta.url)), ...args]
const fastmcp = installed('fastmcp@4.20.16')

const asked = (id: number, method: string) => JSON.stringify({ jsonrpc: '2.0', id, method, params: {} })
const asks = [
  asked(1, 'tools/list'), asked(2, 'prompts/list'), asked(3, 'resources/list'), asked(4, 'ping'), asked(5, 'no/such'),
  call(6, 'echo', { message: 'hi', text: 'hi' }), call(7, 'list_allowed_directories'), call(8, 'read_graph'),
]

/** The relay's own requests have ids of their own. */
const unnamed = (line: string) => line.replace(/"id":\d{4,}/, '"id":"of the relay"')

/** @returns what the client gets, and what the server gets */
const piped = async (t: Test, server: readonly string[], translate: string) => {
  const seen = join(scratch(t), 'seen')
  const options = ['--translate', translate, '--policy', 'observe', '--trust', '--audit', 'none']
  const relay =
    start(t, process.execPath, [cli, 'wrap', ...options, '--', process.execPath, fixture('tee.mjs'), seen, ...server])
  const answers: string[] = []
  for (const [id, line] of [initialize, ...asks].entries()) {
    relay.send(line)
    answers.push(await relay.responseTo(String(id)))
    if (id === 0) relay.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  }
  relay.closeInput()
  await relay.exit
  return { answers, requests: readFileSync(seen, 'utf8').split('\n').map(unnamed) }
}

const servers: Readonly<Record<string, readonly string[]>> = {
  everything: official('everything'), memory: official('memory'), filesystem: official('filesystem', process.cwd()),
  'SDK 1': eras('legacy-server.mjs'), ...(fastmcp && { fastmcp: eras('fastmcp.mjs', fastmcp) }),
}

for (const [name, server] of Object.entries(servers)) {
  void t.test(`${name}: all bytes are the same over stdio`, async t => {
    const off = await piped(t, server, 'off')
    t.strictSame(await piped(t, server, 'auto'), off)
    t.strictSame(await piped(t, server, 'both'), off)
  })
}

/** Stands before a server, and keeps what it is asked, but for what differs from session to session. */
const recorder = async (t: Test, server: string): Promise<{ url: string; requests: string[] }> => {
  const requests: string[] = []
  const front = createServer((asking, answering) => {
    const { method = '', headers } = asking
    const onward = request(server, { method, headers }, reply => {
      answering.writeHead(reply.statusCode ?? 0, reply.headers)
      reply.pipe(answering)
    })
    const session = typeof headers['mcp-session-id']
    const own = { host: '', via: '', 'x-forwarded-host': '', 'content-length': '', 'mcp-session-id': session }
    let text = `${method} ${JSON.stringify({ ...headers, ...own })} `
    asking.on('data', (chunk: Buffer) => void (text += chunk.toString()))
    asking.on('end', () => requests.push(text))
    asking.pipe(onward)
    answering.on('close', () => onward.destroy())
    onward.on('error', () => answering.destroy())
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  t.teardown(() => front.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`, requests }
}

const prefix = 'io.modelcontextprotocol/'
const modern = (id: number, method: string, params: object = {}) => JSON.stringify({
  jsonrpc: '2.0', id, method, params: { ...params, _meta: {
    [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientCapabilities`]: {},
    [`${prefix}clientInfo`]: { name: 'c', version: '1' },
  } },
})
const echo = { name: 'echo', arguments: { text: 'hi' } }
const modernAsks = [
  modern(1, 'server/discover'), modern(2, 'tools/list'), modern(3, 'tools/call', echo), modern(4, 'no/such'),
]

/** What clients of both eras get over HTTP, and what the server gets. @param isBoth it speaks both eras */
const posted = async (t: Test, server: string, isBoth: boolean, translate: string) => {
  const { url: target, requests } = await recorder(t, server)
  const options = ['--translate', translate, '--policy', 'observe', '--trust', '--audit', 'none']
  const { url } = await serve(t, [...options, target])
  const answers: unknown[] = []
  const begun = isBoth ? {} : await open(`${url}/mcp`)
  if (isBoth) answers.push(await send(`${url}/mcp`, {}, initialize))
  // A server may name its events as it likes.
  for (const body of asks) answers.push((await send(`${url}/mcp`, begun, body)).text.replace(/^id: .*$/gm, 'id:'))
  for (const body of isBoth ? modernAsks : []) {
    const { method, params: { name } } = JSON.parse(body) as { method: string; params: { name?: string } }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name && { 'mcp-name': name }) }
    answers.push(await send(`${url}/mcp`, headers, body))
  }
  return { answers, requests: requests.map(unnamed).sort() }
}

for (const [name, server, env, isBoth] of [
  ['SDK 1', eras('legacy-server.mjs', '--http'), {}, false],
  ...(fastmcp ? [['fastmcp', eras('fastmcp.mjs', fastmcp, '--http'), {}, false] as const] : []),
  ['SDK 2 with both eras', eras('modern.mjs'), { LEGACY: 'stateless' }, true],
] as const) {
  void t.test(`${name}: all bytes are the same over HTTP`, async t => {
    const url = await overHttp(t, server, env)
    const off = await posted(t, url, isBoth, 'off')
    t.strictSame(await posted(t, url, isBoth, 'auto'), off)
  })
}
