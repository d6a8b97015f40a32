// Takes the steps of docs/eras.md with other relays: `node build/e2e/era-table.js`. Prints a table of the
// steps that fail; they also fail as tests.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as modern from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import t, { type Test } from 'tap'
import { freePort } from '#test/kit/http.js'
import { installed } from '../installed.js'
import { cli } from './bridge.js'
import { overHttp } from './era-peers.js'
import { legacyPeer, legacySteps } from './era-steps-legacy.js'
import { modernPeer, modernSteps } from './era-steps-modern.js'
import { start } from './harness.js'
import { listens } from './replicas.js'

const wanted = ['mcp-remote@0.15.1', 'mcp-proxy@6.7.19']
const folder = installed(...wanted) ?? ''
const fixture = (name: string) => fileURLToPath(new URL(`../../test/fixtures/eras/${name}`, import.meta.url))
const modernServer = [process.execPath, fixture('modern.mjs')]
const legacyServer = [process.execPath, fixture('legacy-server.mjs')]
const program = (...path: readonly string[]) => [process.execPath, join(folder, 'node_modules', ...path)] as const

const stdio = ([command = '', ...args]: readonly string[]) => ({ command, args, stderr: 'ignore' as const })

const proxied = async (t: Test, server: readonly string[]): Promise<URL> => {
  const port = await freePort()
  const [command, ...args] = program('mcp-proxy', 'dist', 'bin', 'mcp-proxy.mjs')
  start(t, command, [...args, '--port', `${port}`, '--host', '127.0.0.1', '--upstreamProtocol', 'auto', '--', ...server])
  await listens(port)
  return new URL(`http://127.0.0.1:${port}/mcp`)
}

type Step = (t: Test) => Promise<void>
type Peer = (t: Test) => Promise<Readonly<Record<string, Step>>>

const stepsOf = <Of extends object>(
  steps: Readonly<Record<string, (peer: Of) => Promise<void>>>, peer: Of,
) =>
  Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, (t: Test) => step({ ...peer, t })]))
const oldClient = (open: (t: Test) => Promise<Transport>): Peer => async t =>
  stepsOf(legacySteps, legacyPeer(t, await open(t)))
const newClient = (isHttp: boolean, open: (t: Test) => Promise<modern.Transport>): Peer => async t =>
  stepsOf(modernSteps, modernPeer(t, await open(t), isHttp))

const wrap = [process.execPath, cli, 'wrap', '--translate', 'both', '--audit', 'none', '--']
const peers: Readonly<Record<string, Peer>> = {
  'A mcp-customs': oldClient(() => Promise.resolve(new StdioClientTransport(stdio([...wrap, ...modernServer])))),
  [`A ${wanted[0]}`]: oldClient(async t => {
    const url = await overHttp(t, modernServer)
    const remote = [...program('mcp-remote', 'dist', 'proxy.js'), url, '--allow-http', '--protocol', 'auto']
    return new StdioClientTransport(stdio(remote))
  }),
  [`A ${wanted[1]}`]: oldClient(async t => new StreamableHTTPClientTransport(await proxied(t, modernServer))),
  'B mcp-customs': newClient(false, () => Promise.resolve(new ModernStdio(stdio([...wrap, ...legacyServer])))),
  [`B ${wanted[1]}`]: newClient(true, async t =>
    new modern.StreamableHTTPClientTransport(await proxied(t, legacyServer))),
}

t.setTimeout(600_000)
const rows: string[] = []
for (const [name, peer] of Object.entries(peers)) {
  await t.test(name, { timeout: 600_000 }, async t => {
    const steps = Object.entries(await peer(t))
    const failed: string[] = []
    for (const [name, step] of steps) {
      const one = t.test(name, { timeout: 10_000 }, async t => {
        await step(t)
      })
      await one
      if (one.subtest?.passing() !== true) failed.push(name)
    }
    rows.push(`| ${name} | ${steps.length - failed.length} of ${steps.length} | ${failed.join(', ')} |`)
  })
}
console.log(['', '| relay | steps | fails |', '| --- | --- | --- |', ...rows].join('\n'))
// What a step still does that was given up ends with this process.
process.exit()
