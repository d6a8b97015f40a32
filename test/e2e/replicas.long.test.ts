import { createRequire } from 'node:module'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { createClient } from '@redis/client'
import t, { type Test } from 'tap'
import { freePort, postTo } from '#test/kit/http.js'
import { auditOf } from './bridge.js'
import {
  engine, hasNginx, startEngine, startEverything, startNginx, startReplicas,
} from './replicas.js'

const key = 'known-to-all-replicas'
const skip = engine === undefined && 'neither valkey-server nor redis-server is installed'

const connect = async (t: Test, url: string, headers: Record<string, string> = {}, path = '/mcp') => {
  const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } }
  const client = new Client({ name: 'any', version: '1' }, { capabilities })
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' },
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///here', name: 'here' }] }))
  const transport = new StreamableHTTPClientTransport(new URL(`${url}${path}`), { requestInit: { headers } })
  await client.connect(transport)
  t.teardown(() => client.close())
  return { client, transport }
}

/** Asks again until it holds. */
const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!await holds()) await new Promise(resolve => setImmediate(resolve))
}

const textOf = (result: unknown): string => JSON.stringify(result)

const findingsIn = (audits: readonly string[]) =>
  audits.flatMap(auditOf).flatMap(({ event, findings }) => findings.map(({ rule }) => `${event} ${rule}`))
    .filter(each => !/tool\/(?:annotations|dialect)|wire\/http/.test(each))

const post = (url = '', body: object, session?: string, headers: Record<string, string> = {}) => postTo(
  `${url}/mcp`, JSON.stringify({ jsonrpc: '2.0', ...body }), {
    ...(session !== undefined && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' }), ...headers,
  },
)

t.test('replicas without a state serve a session that another began, as far as it can be judged', async t => {
  const everything = await startEverything(t)
  const servers = { everything: { url: everything } }
  const { replicas: [first, second] } = await startReplicas(t, 2, { servers })
  const begun = await post(first?.url, {
    id: 0, method: 'initialize', params: {
      protocolVersion: '2025-06-18', capabilities: { sampling: {} }, clientInfo: { name: 'a', version: '1' },
    },
  })
  await begun.text()
  const session = begun.headers.get('mcp-session-id') ?? ''
  await post(second?.url, { method: 'notifications/initialized' }, session)
  const called = await post(second?.url, {
    id: 1, method: 'tools/call', params: { name: 'trigger-sampling-request', arguments: { prompt: 'x' } },
  }, session)
  const reader = called.body?.getReader()
  let text = ''
  const until = async (fits: RegExp) => {
    while (!fits.test(text)) {
      const part = await reader?.read()
      if (part?.value === undefined) return undefined
      text += Buffer.from(part.value as Uint8Array).toString()
    }
    return fits.exec(text)
  }
  const asked = await until(/"method":"sampling\/createMessage".*?"id":(\d+)|"id":(\d+)[^\n]*"sampling\/createMessage"/s)
  const id = Number(asked?.[1] ?? asked?.[2])
  await post(second?.url, {
    id, result: { role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' } },
  }, session)
  t.match((await until(/sampled/))?.[0], 'sampled')
  t.match(findingsIn([second?.audit ?? '']), ['sampling/createMessage server/unchecked'])
})

t.test('any of three replicas serves any request of a session', { skip }, async t => {
  const store = await startEngine(t)
  const everything = await startEverything(t)
  const { balancer, audits } = await startReplicas(t, 3, {
    servers: { everything: { url: everything } }, state: { url: store.url, key },
  })
  const { client } = await connect(t, balancer.url)
  for (let round = 0; round < 4; round++) {
    t.match(
      textOf(await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x' } })), 'sampled',
      'sampling',
    )
    t.match(textOf(await client.callTool({ name: 'trigger-elicitation-request' })), /declined/, 'elicitation')
    t.match(textOf(await client.callTool({ name: 'get-roots-list' })), /file:\/\/\/here/, 'roots')
    await client.sendRootsListChanged()
  }
  const steps: number[] = []
  await client.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } }, undefined,
    { onprogress: ({ progress }) => steps.push(progress) },
  )
  t.same(steps, [1, 2, 3, 4], 'progress')

  const stop = new AbortController()
  const long = client.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 600 } }, undefined,
    { onprogress: () => stop.abort('enough'), signal: stop.signal },
  )
  await t.rejects(long, 'cancellation')

  const updated = new Promise<unknown>(resolve =>
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri)))
  const uri = 'demo://resource/dynamic/text/1'
  await client.subscribeResource({ uri })
  await client.callTool({ name: 'toggle-subscriber-updates' })
  t.equal(await updated, uri, 'subscriptions')
  await client.callTool({ name: 'toggle-subscriber-updates' })

  t.same(findingsIn(audits), [], 'nothing was found')
  t.ok([...balancer.counts.values()].every(count => count > 5), 'every replica was asked')
})

const everythingScript = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')

t.test('behind nginx, a session in front of a process is served where its process runs, and is 404 after that', {
  skip: !hasNginx && 'nginx is not installed',
}, async t => {
  const servers = { everything: { command: [process.execPath, everythingScript, 'stdio'] } }
  const { replicas, audits } = await startReplicas(t, 3, { servers })
  const url = await startNginx(t, replicas)
  const connected = await Promise.all(Array.from({ length: 6 }, () => connect(t, url)))
  for (const { client } of connected) {
    const sampled = await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x' } })
    t.match(textOf(sampled), 'sampled')
  }
  const homes = connected.map(({ transport }) => Number(/^relay-(\d):/.exec(transport.sessionId ?? '')?.[1]))
  t.same(new Set(homes), new Set([1, 2, 3]))
  t.same(audits.map(audit => auditOf(audit).filter(({ event }) => event === 'session/start').length), [2, 2, 2])
  replicas[0]?.relay.child.kill('SIGKILL')
  await replicas[0]?.relay.exit
  for (const [index, { client }] of connected.entries()) {
    const called = client.callTool({ name: 'echo', arguments: { message: 'x' } })
    if (homes[index] !== 1) t.match(textOf(await called), 'Echo: x')
    else await t.rejects(called, { code: 404, message: /There is no such session here: it began at another replica/ })
  }
  t.match(textOf(await (await connect(t, url)).client.callTool({ name: 'echo', arguments: { message: 'x' } })), 'Echo: x')
})

t.test('behind nginx, a session in front of an HTTP server goes on at another replica', {
  skip: skip || (!hasNginx && 'nginx is not installed'),
}, async t => {
  const store = await startEngine(t)
  const everything = await startEverything(t)
  const { replicas, audits } = await startReplicas(t, 3, {
    servers: { everything: { url: everything } }, state: { url: store.url, key },
  })
  const { client, transport } = await connect(t, await startNginx(t, replicas))
  const sample = async () => textOf(
    await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x' } }),
  )
  const home = () => Number(/^relay-(\d):/.exec(transport.sessionId ?? '')?.[1])
  const first = home()
  for (let round = 0; round < 4; round++) t.match(await sample(), 'sampled')
  t.equal(home(), first)
  replicas[first - 1]?.relay.child.kill('SIGKILL')
  await replicas[first - 1]?.relay.exit
  t.match(textOf(await client.callTool({ name: 'echo', arguments: { message: 'x' } })), 'Echo: x')
  t.not(home(), first)
  t.match(await sample(), 'sampled')
  // The server refuses a second stream (409) until it has seen the end of the first.
  t.same(findingsIn(audits).filter(each => !each.startsWith('wire ')), [], 'nothing was found')
})

t.test('where the load balancer does not route, the client is told and the operator too', async t => {
  const servers = { everything: { command: [process.execPath, everythingScript, 'stdio'] } }
  const { balancer, replicas } = await startReplicas(t, 2, { servers })
  await t.rejects(connect(t, balancer.url), /no such session here.*the load balancer does not route its id/)
  const stray = /refused 127\.0\.0\.1: HTTP 404: .* to which the load balancer does not route its id/
  await until(() => Promise.resolve(replicas.some(({ relay }) => stray.test(relay.stderr()))))
})

t.test('a client cannot answer at a replica that the request did not go through while the state is away', {
  skip,
}, async t => {
  const store = await startEngine(t)
  const everything = await startEverything(t)
  const { replicas: [first, second] } = await startReplicas(t, 2, {
    servers: { everything: { url: everything } }, state: { url: store.url, key },
  })
  const session = (await connect(t, first?.url ?? '')).transport.sessionId ?? ''
  const called = await post(second?.url, {
    id: 1, method: 'tools/call', params: { name: 'trigger-sampling-request', arguments: { prompt: 'x' } },
  }, session)
  const reader = called.body?.getReader()
  let text = ''
  while (!/"sampling\/createMessage"/.test(text)) {
    const part = await reader?.read()
    text += Buffer.from(part?.value as Uint8Array).toString()
  }
  const id = Number(/"id":(\d+)/.exec(text)?.[1])
  const result = { role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' } }
  store.pause(true)
  t.equal((await post(first?.url, { id, result }, session)).status, 502)
  t.equal((await post(second?.url, { id, result }, session)).status, 202, 'the replica that asked knows')
  store.pause(false)
})

t.test('a call counts at every replica: before an HTTP server, before a process, and while the state is away', {
  skip,
}, async t => {
  const store = await startEngine(t)
  const everything = await startEverything(t)
  const tools = { echo: { callsPerMinute: 5 } }
  const { replicas, balancer } = await startReplicas(t, 3, {
    servers: {
      http: { url: everything, tools },
      process: { command: [process.execPath, everythingScript, 'stdio'], tools, workers: 2 },
    },
    state: { url: store.url, key },
  })
  const [first, second, third] = replicas.map(({ url }) => url) as [string, string, string]
  const clients = async (path: string, ...urls: readonly string[]) =>
    Promise.all(urls.map(async url => (await connect(t, url, {}, path)).client))
  const passed = async (client: Client, calls: number) => {
    const echo = () => client.callTool({ name: 'echo', arguments: { message: 'x' } })
    const results = await Promise.all(Array.from({ length: calls }, echo))
    return results.filter(result => /Echo: x/.test(textOf(result))).length
  }
  const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0)
  // One session, of whose requests each reaches another replica.
  t.equal(sum(await Promise.all((await clients('/http/mcp', balancer.url)).map(client => passed(client, 20)))), 5)
  const own = await clients('/process/mcp', first, second, third, first, second, third)
  t.equal(sum(await Promise.all(own.map(client => passed(client, 4)))), 5, 'at the same time')
  await store.stop()
  // Each relay process has counted what it let through: it lets a client make the rest.
  const alone = await Promise.all(own.map(client => passed(client, 8)))
  t.ok(alone.every(count => count <= 5), 'none more than the limit')
  t.ok(sum(alone) > 5, 'each counts for itself')
  await store.start()
  const again: Client[] = []
  await until(() => clients('/http/mcp', first, second).then(found => again.push(...found) > 0, () => false))
  t.equal(sum(await Promise.all(again.map(client => passed(client, 6)))), 5, 'together again')
})

t.test('nothing that others write into the engine is believed', { skip }, async t => {
  const store = await startEngine(t)
  const everything = await startEverything(t)
  const admin = await freePort()
  const config = {
    servers: { everything: { url: everything, tools: { echo: { callsPerMinute: 1 } } } },
    auth: { tokens: { alice: 'token-of-alice-1234', bob: 'token-of-bob-123456' } }, state: { url: store.url, key },
  }
  const { balancer, audits } = await startReplicas(t, 2, config)
  const { replicas: [watched] } = await startReplicas(t, 1, { ...config, admin: `127.0.0.1:${admin}` })
  const as = (who: string) => ({ authorization: `Bearer token-of-${who}` })
  const [alice, bob] = await Promise.all([
    connect(t, balancer.url, as('alice-1234')), connect(t, balancer.url, as('bob-123456')),
  ])
  const sample = ({ client }: typeof alice) =>
    client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x' } })
  const echo = async ({ client }: typeof alice) => textOf(await client.callTool({ name: 'echo', arguments: { message: 'x' } }))
  for (const one of [alice, bob]) {
    await one.client.listTools()
    await one.client.listTools()
    t.match(textOf(await sample(one)), 'sampled')
    t.match(await echo(one), 'Echo: x')
    t.match(await echo(one), /call\/rate/)
  }
  const raw = createClient({ url: store.url })
  await raw.connect()
  t.teardown(() => raw.destroy())
  const all = new Map(await Promise.all((await raw.keys('*')).map(async name => [name, await raw.get(name) ?? ''] as const)))
  const kinds = [...new Set([...all.keys()].map(name => name.split(':')[2]))].sort()
  t.match(kinds, ['a', 'c', 'd', 'l', 'r', 's'], 'every kind of value but that of tasks')
  t.notMatch(JSON.stringify([...all]), /token-of|alice|bob|sampled|Echo/, 'no secret, name or result')
  const metric = async () => {
    const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
    return Number(/^mcp_customs_state_forged_total (\d+)/m.exec(text)?.[1] ?? 0)
  }
  const put = (name: string, value: string) => raw.set(name, value, { condition: 'XX', expiration: 'KEEPTTL' })
  const flipped = (value: string, at: number) =>
    value.slice(0, at) + String.fromCharCode(value.charCodeAt(at) ^ 1) + value.slice(at + 1)
  const swapped = (name: string) => [...all].find(([other]) => other !== name && other.endsWith(name.slice(-2)))?.[1] ?? ''
  // Each at a replica that has not seen the session: it has nothing but the engine's word.
  for (const [what, change] of [
    ['a flipped byte of the hash', (value: string) => flipped(value, 3)],
    ['a flipped byte of the value', (value: string) => flipped(value, value.length - 1)],
    ['the value of another key', (_: string, name: string) => swapped(name)],
    ['no hash', (value: string) => value.slice(44)],
    ['nothing', () => ''],
  ] as const) {
    const [{ transport: { sessionId = '' } }, before] =
      await Promise.all([connect(t, balancer.url, as('alice-1234')), metric()])
    for (const name of await raw.keys('*')) {
      const value = await raw.get(name) ?? ''
      all.set(name, value)
      await put(name, change(value, name))
    }
    const strange = async (id: string, who: string) =>
      (await post(watched?.url, { id: 1, method: 'ping' }, id, as(who))).status
    t.equal(await strange(sessionId, 'bob-123456'), 404, `${what}: a session is its owner's`)
    t.equal(await strange(sessionId, 'alice-1234'), 200)
    t.ok(await metric() > before, `${what}: it is counted`)
    for (const [name, value] of all) await put(name, value)
  }
  t.match(watched?.relay.stderr(), /holds a value that was not written with this state\.key/)
  t.match(textOf(await sample(alice)), 'sampled', 'the replicas go on')
  t.same(findingsIn(audits), ['tools/call call/rate', 'tools/call call/rate'])
})

t.test('without the state sessions cannot begin, others go on, and all works again', { skip }, async t => {
  const store = await startEngine(t)
  const everything = await startEverything(t)
  const admin = await freePort()
  const config = {
    servers: { everything: { url: everything }, process: { command: [process.execPath, everythingScript, 'stdio'] } },
    auth: { tokens: ['token-of-alice-1234'] }, state: { url: store.url, key },
  }
  const { replicas: [first] } = await startReplicas(t, 1, { ...config, admin: `127.0.0.1:${admin}` })
  const { replicas: [second] } = await startReplicas(t, 1, config)
  const headers = { authorization: 'Bearer token-of-alice-1234' }
  const begin = (replica = first, path = '/everything/mcp') => connect(t, replica?.url ?? '', headers, path)
  /** Of a session that this replica did not see begin. */
  const statusOf = async (session = '') =>
    (await post(`${first?.url}/everything`, { id: 1, method: 'ping' }, session, headers)).status
  const readyz = async () => {
    const response = await fetch(`http://127.0.0.1:${admin}/readyz`)
    return { status: response.status, ...(await response.json() as object) }
  }
  const { client } = await begin()
  const echo = () => client.callTool({ name: 'echo', arguments: { message: 'x' } })
  const sample = () => client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x' } })
  t.match(textOf(await sample()), 'sampled')
  t.match(await readyz(), { status: 200, ready: true })
  for (const [stop, start] of [
    [() => store.stop(), () => store.start()],
    [() => Promise.resolve(store.pause(true)), () => Promise.resolve(store.pause(false))],
  ] as const) {
    const { transport: { sessionId } } = await begin(second)
    await stop()
    t.match(textOf(await echo()), 'Echo: x', 'a call')
    t.match(textOf(await sample().catch(String)), /state that the replicas share/, 'the server asks')
    await t.rejects(begin(), /state that the replicas share/, 'a new session')
    await t.resolves(begin(first, '/process/mcp'), 'a new session before a process')
    t.equal(await statusOf(sessionId), 200, 'its id says whose it is')
    t.match(await readyz(), {
      status: 200, degraded: true, problems: { everything: { reason: /the shared state at 127.0.0.1:\d+/ } },
    })
    await start()
    let text = ''
    while (!text.includes('sampled')) text = textOf(await sample().catch(String))
    // Each relay process connects for itself.
    await until(async () => !('degraded' in await readyz()))
    t.match(await readyz(), { status: 200, ready: true })
    await t.resolves(begin())
  }
  const metrics = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
  t.match(metrics, /mcp_customs_state_operations_total\{operation="keep",outcome="failed"\} [1-9]/)
})
