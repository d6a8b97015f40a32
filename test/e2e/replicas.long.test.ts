import { createRequire } from 'node:module'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { auditOf } from './bridge.js'
import { engine, freePort, hasNginx, startEngine, startEverything, startNginx, startReplicas } from './replicas.js'

const key = 'known-to-all-replicas'
const skip = engine === undefined && 'neither valkey-server nor redis-server is installed'

const connect = async (t: Test, url: string, headers: Record<string, string> = {}) => {
  const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } }
  const client = new Client({ name: 'any', version: '1' }, { capabilities })
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' },
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///here', name: 'here' }] }))
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
  await client.connect(transport)
  t.teardown(() => client.close())
  return { client, transport }
}

const textOf = (result: unknown): string => JSON.stringify(result)

const findingsIn = (audits: readonly string[]) =>
  audits.flatMap(auditOf).flatMap(({ event, findings }) => findings.map(({ rule }) => `${event} ${rule}`))
    .filter(each => !/tool\/(?:annotations|dialect)|wire\/http/.test(each))

t.test('replicas without a state serve a session that another began, as far as it can be judged', async t => {
  const everything = await startEverything(t)
  const servers = { everything: { url: everything } }
  const { replicas: [first, second] } = await startReplicas(t, 2, { servers })
  const post = (url = '', body: object, session?: string) => fetch(`${url}/mcp`, {
    method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' }),
    },
  })
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
  t.same(findingsIn(audits), [], 'nothing was found')
})

t.test('where the load balancer does not route, the client is told and the operator too', async t => {
  const servers = { everything: { command: [process.execPath, everythingScript, 'stdio'] } }
  const { balancer, replicas } = await startReplicas(t, 2, { servers })
  await t.rejects(connect(t, balancer.url), /no such session here.*the load balancer does not route its id/)
  const stray = /refused 127\.0\.0\.1: HTTP 404: .* to which the load balancer does not route its id/
  t.equal(replicas.filter(({ relay }) => stray.test(relay.stderr())).length, 1)
})

t.test('without the state sessions cannot begin, others go on, and all works again', { skip }, async t => {
  const store = await startEngine(t)
  const everything = await startEverything(t)
  const admin = await freePort()
  const { balancer } = await startReplicas(t, 1, {
    servers: { everything: { url: everything } }, state: { url: store.url, key }, admin: `127.0.0.1:${admin}`,
  })
  const readyz = async () => {
    const response = await fetch(`http://127.0.0.1:${admin}/readyz`)
    return { status: response.status, ...(await response.json() as object) }
  }
  const { client } = await connect(t, balancer.url)
  const echo = () => client.callTool({ name: 'echo', arguments: { message: 'x' } })
  const sample = () => client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x' } })
  t.match(textOf(await sample()), 'sampled')
  t.match(await readyz(), { status: 200, ready: true })
  for (const [stop, start] of [
    [() => store.stop(), () => store.start()],
    [() => Promise.resolve(store.pause(true)), () => Promise.resolve(store.pause(false))],
  ] as const) {
    await stop()
    t.match(textOf(await echo()), 'Echo: x', 'a call')
    t.match(textOf(await sample().catch(String)), /state that the replicas share/, 'the server asks')
    await t.rejects(connect(t, balancer.url), /state that the replicas share/, 'a new session')
    t.match(await readyz(), {
      status: 200, degraded: true, problems: { everything: { reason: /the shared state at 127.0.0.1:\d+/ } },
    })
    await start()
    let text = ''
    while (!text.includes('sampled')) text = textOf(await sample().catch(String))
    t.match(await readyz(), { status: 200, ready: true, degraded: undefined })
    await t.resolves(connect(t, balancer.url))
  }
  const metrics = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
  t.match(metrics, /mcp_customs_state_operations_total\{operation="keep",outcome="failed"\} [1-9]/)
})
