import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import t, { type Test } from 'tap'
import { auditOf, cli, scratch } from './bridge.js'
import { overHttp, waysOf } from './era-peers.js'
import { legacyPeer, legacySteps } from './era-steps-legacy.js'
import { call, initialize as initializeBody, open as openSession, send, until } from './gateways.js'
import { start } from './harness.js'
import { serve } from './http-bridges.js'

const server = fileURLToPath(new URL('../../test/fixtures/eras/modern.mjs', import.meta.url))

const legacy = fileURLToPath(new URL('../../test/fixtures/eras/legacy-server.mjs', import.meta.url))

const program = [process.execPath, server]
const { ways } = waysOf<Transport>(
  { stdio: StdioClientTransport, http: StreamableHTTPClientTransport }, { stdio: program, http: program },
)

for (const [way, open] of Object.entries(ways)) {
  void t.test(`a legacy client and a server of 2026-07-28 only, ${way}`, async t => {
    const audit = join(scratch(t), 'audit.ndjson')
    const peer = legacyPeer(t, await open(t, ['--audit', audit]))
    for (const [name, step] of Object.entries(legacySteps)) await t.test(name, t => step({ ...peer, t }))
    const { tools, ...rest } = await peer.client.listTools()
    t.strictSame([tools.length, rest], [17, {}], 'nothing of the other revision')
    t.strictSame(await peer.call('echo', { text: 'hi' }), { content: [{ type: 'text', text: 'hi' }] })
    t.strictSame(peer.heard('updated'), [{ uri: 'note://one' }])
    await peer.client.close()
    await until(() => readFileSync(audit, 'utf8').includes('session/start'))
    const [start] = auditOf(audit)
    t.match(start, { event: 'session/start', revision: '2026-07-28', clientRevision: '2025-11-25' })
  })
}

void t.test('the session of a legacy client is 404 where it is unknown or ended', async t => {
  const { url } = await serve(t, [await overHttp(t, program)])
  const begun = await openSession(`${url}/mcp`)
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  const answered = await send(`${url}/mcp`, begun, list)
  t.equal(answered.status, 200)
  t.match(answered.text, /"tools":\[/)
  const unknown = await send(`${url}/mcp`, { ...begun, 'mcp-session-id': 'one-of-another-relay' }, list)
  t.equal(unknown.status, 404)
  t.match(unknown.text, /"error"/)
  t.equal((await send(`${url}/mcp`, begun, '', 'DELETE')).status, 200)
  await until(async () => (await send(`${url}/mcp`, begun, list)).status === 404)
})

/** Two calls with one id, at once. @returns what the client and the record say of them */
const repeated = async (t: Test, target: readonly string[]) => {
  const audit = join(scratch(t), 'audit.ndjson')
  const relay = start(t, process.execPath, [cli, 'wrap', '--audit', audit, ...target])
  relay.send(initializeBody)
  await relay.next()
  relay.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  relay.send(`${call(1, 'echo', { text: 'hi', message: 'hi' })}\n${call(1, 'echo', { text: 'no', message: 'no' })}`)
  const answers = [await relay.responseTo('1'), await relay.responseTo('1')].map(line => JSON.parse(line) as object)
  relay.closeInput()
  await relay.exit
  const verdicts = auditOf(audit).filter(({ event }) => event === 'tools/call')
    .map(({ id, verdict, findings }) => [id, verdict === 'block' && findings.map(({ rule }) => rule)])
  return { answers, verdicts: verdicts.sort() }
}

void t.test('of two calls with one id the second is treated as without a translation', async t => {
  const same = await repeated(t, ['--', process.execPath, legacy])
  const target = await overHttp(t, program)
  for (const modern of [['--', ...program], [target]]) {
    const translated = await repeated(t, modern)
    t.strictSame(translated.verdicts, same.verdicts)
    t.strictSame(translated.answers[0], same.answers[0], 'the error comes first')
    t.match(translated.answers[1], { result: { content: [{ text: /hi/ }] } })
  }
  t.match(same.verdicts, [[1, false], [1, ['wire/id']]])
})

void t.test('with translate off, and within one era, the client gets the server\'s own answer', async t => {
  const initialize = await send(await overHttp(t, program), {}, initializeBody)
  t.equal(initialize.status, 400)
  const off = await serve(t, ['--translate', 'off', await overHttp(t, program)])
  t.same(await send(`${off.url}/mcp`, {}, initializeBody), initialize)
  const both = await overHttp(t, program, { LEGACY: 'stateless' })
  const { url } = await serve(t, [both])
  t.same(await send(`${url}/mcp`, {}, initializeBody), await send(both, {}, initializeBody))
})
