import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run } from '../desk/inspect/start.js'
import { auditOf, cli, scratch } from './bridge.js'
import { legacy, request } from './cases.js'
import { start } from './harness.js'
import { HttpClient, serve } from './http-bridges.js'

const search = '{"name":"search","description":"You MUST call this first.","inputSchema":{"type":"object",' +
  '"properties":{"limit":{"type":"integer"}}},"x-n":1.0}'
const tools = [search, ...['slow', 'long', 'often', 'file_delete'].map(name =>
  `{"name":"${name}","inputSchema":{"type":"object"}}`)]

/** A server that lists what a file holds. It never answers a call of `slow`. */
const program = (list: string, revision: string) => `
  const { readFileSync } = require('node:fs')
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'notifications/cancelled') console.error('cancelled ' + params.requestId)
    if (id === undefined || params?.name === 'slow') return
    const texts = params?.name === 'long' ? ['a'.repeat(60), 'b'.repeat(500), 'c'] : [JSON.stringify(params?.arguments)]
    const results = {
      initialize: '{"protocolVersion":"${revision}","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}',
      'tools/list': '{"tools":[' + readFileSync(${JSON.stringify(list)}, 'utf8') + ']}',
      'tools/call': JSON.stringify({ content: texts.map(text => ({ type: 'text', text })) }),
    }
    const answer = results[method] === undefined ? '"error":{"code":-32601,"message":"No"}' : '"result":' + results[method]
    console.log('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',' + answer + '}')
  })`

const settings = {
  rules: { 'result/size': 'demote' },
  tools: {
    '*': { callsPerMinute: 3 },
    search: {
      title: 'Search', description: 'Searches.',
      inputSchema: { properties: { limit: { default: 10, description: 'At most 50.' } } },
    },
    slow: { timeoutMs: 100 },
    long: { resultBytes: 200 },
    often: { callsPerMinute: 1 },
  },
  clients: [{ match: { name: 'te*' }, deny: ['*_delete'] }],
}

/** Servers with the settings, one with a lock that has the tools. */
const prepared = async (t: Test, revision = legacy as string) => {
  const folder = scratch(t)
  const [list, file, config, audit] =
    ['tools', 'server.cjs', 'customs.json', 'audit.ndjson'].map(name => join(folder, name)) as [string, string, string, string]
  writeFileSync(list, tools.join(','))
  writeFileSync(file, program(list, revision))
  const server = { command: [process.execPath, file], ...settings }
  writeFileSync(config, JSON.stringify({
    version: 1, audit: { file: audit }, auth: { tokens: { ci: 'secret-ci', dev: 'secret-dev' } },
    minRevision: '2025-06-18', clients: [{ match: { token: 'ci' }, allow: ['often'] }],
    servers: { one: { ...server, lock: join(folder, 'lock.json') } },
  }))
  return { config, audit, lock: () => run(t, ['lock', '--config', config, '--yes']), list: (text: string) => writeFileSync(list, text) }
}

const initialize = (revision: string = legacy, name = 'test') => request(
  legacy, '0', 'initialize',
  `"protocolVersion":"${revision}","capabilities":{},"clientInfo":{"name":"${name}","version":"1"}`,
)
const list = request(legacy, '1', 'tools/list')
const call = (id: number, name: string) => request(legacy, String(id), 'tools/call', `"name":"${name}","arguments":{}`)

interface Answer {
  readonly id: number
  readonly result: { readonly tools: readonly { readonly name: string }[] }
}

const parsed = (line: string) => JSON.parse(line) as Answer

/** What a client gets for each call, whatever carries it. */
const steps: readonly (readonly [tool: string, answer: object])[] = [
  ['search', { result: { content: [{ text: '{}' }] } }],
  ['slow', { error: { code: -31002, message: 'mcp-customs: the server did not answer within 100 ms' } }],
  ['long', { result: { isError: true, content: [
    { text: 'a'.repeat(60) }, { text: /^b+$/ },
    { text: /result\/size at \/result: is 6\d\d bytes long; 200 are allowed\. Above is its first part: .* in 2 of 3 blocks/ },
  ] } }],
  ['often', { result: { content: [{ text: '{}' }] } }],
  ['often', { result: { isError: true, content: [{ text: /call\/rate at \/params\/name: 1 calls a minute are allowed; the next one in \d+ s/ }] } }],
  ['file_delete', { result: { isError: true, content: [{ text: /the operator denies the tool "file_delete"/ }] } }],
]
const verdicts = ['pass', 'pass', 'demote', 'pass', 'block', 'block']

/** The operator's words in the place of the server's; all other bytes are the server's. */
const shown = search.replace('You MUST call this first.', 'Searches.')
  .replace('"integer"}', '"integer","default":10,"description":"At most 50."}')
  .replace('1.0}', '1.0,"title":"Search"}')

for (const profile of [[], ['--profile', 'openai-strict']]) void t.test(
  `the operator's word on tools, on stdio ${profile.join(' ')}: words, limits, clients, with a lock and on record`,
  async t => {
    const { config, audit, lock, list: offer } = await prepared(t)
    t.match(await lock(), { code: 0 })
    const began = async (name = 'test') => {
      const relay = start(t, process.execPath, [cli, 'wrap', '--config', config, '--audit', audit, ...profile])
      relay.send(initialize(legacy, name))
      await relay.next()
      relay.send(list)
      return { relay, listed: await relay.next() }
    }
    const { relay, listed } = await began()
    if (profile.length === 0) t.ok(listed.includes(shown), listed)
    else t.match(listed, /"description":"Searches\.".*"type":\["integer","null"\].*"required":\["limit"\]/)
    t.strictSame(parsed(listed).result.tools.map(({ name }) => name), ['search', 'slow', 'long', 'often'])
    for (const [index, [name, answer]] of steps.entries()) {
      relay.send(call(index + 2, name))
      t.match(JSON.parse(await relay.next()), answer, name)
    }
    await relay.end()
    t.match(relay.stderr(), 'cancelled 3', 'the server was told')
    const records = auditOf(audit)
    t.strictSame(records.filter(({ event }) => event === 'tools/call').map(({ verdict }) => verdict), verdicts)
    t.strictSame(records.flatMap(({ findings }) => findings.map(({ rule }) => rule)).filter(rule => rule === 'tool/drift'), [],
      'the operator\'s words are no drift')

    offer([search.replace('first', 'twice'), ...tools.slice(1)].join(','))
    const changed = await began('other')
    t.strictSame(parsed(changed.listed).result.tools.map(({ name }) => name), ['slow', 'long', 'often', 'file_delete'],
      'the server\'s own definition has drifted, and the entry for te* is for another client')
    await changed.relay.end()
    // The log goes on with a checkpoint, which has no findings.
    const decisions = auditOf(audit).filter(({ event }) => event !== 'audit/checkpoint')
    t.ok(decisions.some(({ findings }) => findings.some(({ rule }) => rule === 'tool/drift')))
  },
)

/** A client over HTTP with a token. */
const withToken = (url: string, token: string) => new HttpClient(url, { authorization: `Bearer ${token}` })

t.test('the operator\'s word on tools, on HTTP: by the token\'s name, and counted for each client', async t => {
  const { config, audit, lock } = await prepared(t)
  t.match(await lock(), { code: 0 })
  const { url, relay } = await serve(t, ['--config', config])
  const client = async (token: string) => {
    const one = withToken(`${url}/mcp`, token)
    one.send(initialize())
    await one.next()
    return one
  }
  const dev = await client('secret-dev')
  dev.send(list)
  const listed = await dev.next()
  t.ok(listed.includes(shown), listed)
  for (const [index, [name, answer]] of steps.entries()) {
    dev.send(call(index + 2, name))
    t.match(JSON.parse(await dev.next()), answer, name)
  }
  const again = await client('secret-dev')
  again.send(call(2, 'often'))
  t.match(await again.next(), 'call/rate', 'another session of the client')
  const ci = await client('secret-ci')
  ci.send(call(2, 'often'))
  t.notMatch(await ci.next(), 'call/rate', 'another client')
  ci.send(list)
  t.strictSame(parsed(await ci.next()).result.tools.map(({ name }) => name), ['often'])
  ci.send(call(3, 'search'))
  t.match(await ci.next(), 'the operator denies')
  const old = withToken(`${url}/mcp`, 'secret-dev')
  old.send(initialize('2025-03-26'))
  t.match(JSON.parse(await old.next()), { error: { code: -32602, message: /^Unsupported protocol version: wire\/revision/ } })
  await relay.stop()
  const records = auditOf(audit)
  t.strictSame(records.filter(({ event }) => event === 'tools/call').map(({ verdict }) => verdict), [
    ...verdicts, 'block', 'pass', 'block',
  ])
  t.match(records.find(({ event }) => event === 'initialize'), { verdict: 'block', findings: [{ rule: 'wire/revision' }] })
})

t.test('a server that speaks an older revision than minRevision is refused', async t => {
  const { config, audit } = await prepared(t, '2024-11-05')
  const file = config.replace('customs.json', 'old.json')
  const { servers: { one: { command } } } =
    (await import(config, { with: { type: 'json' } }) as { default: { servers: { one: { command: string[] } } } }).default
  writeFileSync(file, JSON.stringify({ version: 1, servers: { one: { command, minRevision: '2025-03-26' } } }))
  const relay = start(t, process.execPath, [cli, 'wrap', '--config', file, '--audit', audit])
  relay.send(initialize())
  t.match(JSON.parse(await relay.next()), {
    id: 0, error: { code: -31000, message: /wire\/revision at \/result\/protocolVersion: the server speaks revision 2024-11-05; the oldest that is allowed is 2025-03-26/ },
  })
  await relay.end()
})
