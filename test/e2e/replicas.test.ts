import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { auditOf } from './bridge.js'
import { engine, startEngine, startEverything, startReplicas } from './replicas.js'

// The official server updates resources every five seconds.
t.setTimeout(240_000)

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

t.test('replicas without a state serve a session that another one began, as far as it can be judged', async t => {
  const everything = await startEverything(t)
  const { replicas: [first, second] } = await startReplicas(t, 2, { servers: { everything: { url: everything } } })
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
