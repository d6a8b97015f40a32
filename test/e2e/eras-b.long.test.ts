import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t from 'tap'
import { auditOf, scratch } from './bridge.js'
import { overHttp, textOf, waysOf } from './era-peers.js'
import { modernPeer, modernSteps } from './era-steps-modern.js'
import { until } from './gateways.js'
import { serve } from './http-bridges.js'

const server = fileURLToPath(new URL('../../test/fixtures/eras/legacy-server.mjs', import.meta.url))
const modern = fileURLToPath(new URL('../../test/fixtures/eras/modern.mjs', import.meta.url))

const program = [process.execPath, server]
const { wrapped, served, command, ways } = waysOf<Transport>(
  { stdio: StdioClientTransport, http: StreamableHTTPClientTransport },
  { stdio: program, http: [...program, '--http'] },
)

for (const [way, open] of Object.entries(ways)) {
  void t.test(`a client of 2026-07-28 and a legacy server, ${way}`, async t => {
    const audit = join(scratch(t), 'audit.ndjson')
    const peer = modernPeer(t, await open(t, ['--translate', 'both', '--audit', audit]), way.startsWith('HTTP'))
    for (const [name, step] of Object.entries(modernSteps)) await t.test(name, async t => {
      await step({ ...peer, t })
    })
    await peer.client.close()
    await until(() => readFileSync(audit, 'utf8').includes('session/start'))
    const [start] = auditOf(audit)
    t.match(start, { event: 'session/start', revision: '2025-11-25', clientRevision: '2026-07-28' })
  })
}

for (const [way, open] of Object.entries(ways)) {
  void t.test(`a client that declares nothing is told what a tool needs, ${way}`, async t => {
    const audit = join(scratch(t), 'audit.ndjson')
    const transport = await open(t, ['--translate', 'both', '--audit', audit])
    const { client, call } = modernPeer(t, transport, way.startsWith('HTTP'), { capabilities: {} })
    await client.connect(transport)
    const error: unknown = await call('elicit').then(() => undefined, (error: unknown) => error)
    t.match(error, { code: -32021, data: { requiredCapabilities: { elicitation: {} } } })
    t.equal(textOf(await call('echo', { message: 'on' })), 'echo on')
    await client.close()
    const records = auditOf(audit).filter(({ event }) => event === 'elicitation/create')
    t.match(records, [{ verdict: 'block', findings: [{ rule: 'server/request' }] }])
  })
}

void t.test('clients of one gateway keep apart', async t => {
  const url = await overHttp(t, [...program, '--http'])
  for (const target of [[url], command]) {
    const { url: at } = await serve(t, ['--translate', 'both', '--audit', 'none', ...target])
    const peers = await Promise.all(['Ann', 'Bob', 'Cleo'].map(async name => {
      const transport = new StreamableHTTPClientTransport(new URL(`${at}/mcp`))
      const peer = modernPeer(t, transport, true, { name })
      await peer.client.connect(transport)
      return { ...peer, name }
    }))
    const calls = peers.flatMap(peer => Array.from({ length: 5 }, () => peer))
    const answers = await Promise.all(calls.map(({ call }) => call('elicit').then(textOf, String)))
    for (const [index, answer] of answers.entries()) {
      // A process cannot say whose call asks: where several are open, nobody is asked.
      const own = `accept ${calls[index]?.name ?? ''}`
      t.ok(answer === own || (target === command && answer.includes('belongs to no call')), answer)
    }
    for (const { client, call, name } of peers) {
      t.equal(textOf(await call('elicit')), `accept ${name}`)
      await client.close()
    }
  }
})

for (const way of ['stdio to HTTP', 'HTTP to HTTP']) {
  void t.test(`a session that the server has lost is begun anew, ${way}`, async t => {
    const transport = await ways[way]?.(t, ['--translate', 'both', '--audit', 'none'])
    if (transport === undefined) return
    const { client, call } = modernPeer(t, transport, way.startsWith('HTTP'))
    await client.connect(transport)
    await call('forget').catch(() => undefined)
    t.equal(textOf(await call('elicit')), 'accept Ann')
    await client.close()
  })
}

for (const via of ['wrap', 'serve']) {
  void t.test(`a client and a server of 2026-07-28 need no translation, ${via}`, async t => {
    const audit = join(scratch(t), 'audit.ndjson')
    const args = ['--translate', 'both', '--audit', audit, '--', process.execPath, modern]
    const transport = via === 'wrap' ? wrapped(args) : await served(t, args)
    const { client, call } = modernPeer(t, transport, via === 'serve')
    await client.connect(transport)
    t.equal(client.getServerVersion()?.name, 'modern-only')
    t.equal(textOf(await call('form')), 'Hello Ann')
    await client.close()
    await until(() => readFileSync(audit, 'utf8').includes('session/start'))
    t.notOk(auditOf(audit).some(record => 'clientRevision' in record))
  })
}
