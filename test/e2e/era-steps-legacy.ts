import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  type CallToolResult, CreateMessageRequestSchema, ElicitRequestSchema, EmptyResultSchema,
  ListRootsRequestSchema, LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Test } from 'tap'
import { codeOf, Heard, oneRoot, sampled, textOf } from './era-peers.js'
import { sharedSteps } from './era-steps.js'
import { until } from './gateways.js'

interface Peer {
  readonly t: Test
  readonly client: Client
  readonly transport: Transport
  /** The params of questions and notifications, by method. */
  readonly heard: (name: string) => readonly Record<string, unknown>[]
  readonly call: (name: string, given?: object, options?: object) => Promise<CallToolResult>
}

/** What a legacy client does with a server of 2026-07-28, in order. */
export const legacySteps: Readonly<Record<string, (peer: Peer) => Promise<void>>> = {
  'the client connects': async ({ t, client, transport }) => {
    await client.connect(transport)
    t.equal(client.getServerVersion()?.name, 'modern-only')
    t.equal(client.getInstructions(), 'Ask for anything.')
    t.notOk(client.getServerCapabilities()?.experimental)
  },
  ...sharedSteps,
  'tools/list': async ({ t, client }) => {
    const { tools } = await client.listTools()
    t.equal(tools.length, 17)
    t.match(tools.find(({ name }) => name === 'array'), { outputSchema: { type: 'object' } })
  },
  'a call': async ({ t, call }) => void t.equal(textOf(await call('echo', { text: 'hi' })), 'hi'),
  'a call with arguments that nobody declared': async ({ t, call }) => {
    t.equal(textOf(await call('echo', { text: 'hi', more: { n: [1.5, null] } })), 'hi')
  },
  'an error of a tool': async ({ t, call }) => void t.equal((await call('fail')).isError, true),
  'a structured result that is an array': async ({ t, call }) => {
    t.same((await call('array')).structuredContent, { result: [{ n: 1 }] })
  },
  'an argument that is also a header': async ({ t, call }) => {
    t.equal(textOf(await call('header', { region: 'eu ü' })), 'Region: eu ü')
  },
  'prompts/get': async ({ t, client }) => {
    t.match(await client.getPrompt({ name: 'plain' }), { messages: [{ content: { text: 'plain' } }] })
  },
  'completion/complete': async ({ t, client }) => {
    const ref = { type: 'ref/resource', uri: 'note://any/{name}' } as const
    const { completion } = await client.complete({ ref, argument: { name: 'name', value: '' } })
    t.same(completion.values, ['alpha', 'beta'])
  },
  'a prompt that asks the user': async ({ t, client }) => {
    t.match(await client.getPrompt({ name: 'asking' }), { messages: [{ content: { text: 'Hello Ann' } }] })
  },
  ping: async ({ t, client }) => void t.same(await client.ping(), {}),
  'roots/list_changed': ({ client }) => client.sendRootsListChanged(),
  'cancellation reaches the tool': async ({ t, call }) => {
    const controller = new AbortController()
    const onprogress = () => controller.abort()
    const slow = codeOf(call('slow', {}, { signal: controller.signal, onprogress }))
    t.not(await slow, 'no error')
    await until(async () => textOf(await call('cancelled')) === '1')
  },
  'twenty calls at once': async ({ t, call }) => {
    const words = Array.from({ length: 20 }, (_, index) => `call ${index}`)
    t.same((await Promise.all(words.map(text => call('echo', { text })))).map(textOf), words)
  },
  'log messages': async ({ t, client, call, heard }) => {
    await call('log')
    t.equal(heard('log').length, 0, 'none before the client has set a level')
    await client.setLoggingLevel('debug')
    await call('log')
    await until(() => heard('log').length > 0)
  },
  'elicitation by a form': async ({ t, call, heard }) => {
    t.equal(textOf(await call('form')), 'Hello Ann')
    t.equal(heard('elicitation').at(-1)?.['mode'], 'form')
  },
  'three questions at once': async ({ t, call }) => void t.equal(textOf(await call('three')), 'Ann sampled 1'),
  'five rounds': async ({ t, call }) => void t.equal(textOf(await call('rounds', { count: 5 })), 'after 5'),
  'elicitation by a URL': async ({ t, call, heard }) => {
    t.equal(textOf(await call('url')), 'accept')
    t.type(heard('elicitation').at(-1)?.['elicitationId'], 'string')
  },
  'more rounds than eight': async ({ t, call }) => void t.equal((await call('rounds', { count: 20 })).isError, true),
  list_changed: async ({ call, heard }) => {
    await call('change-tools')
    await until(() => heard('tools').length > 0)
  },
  'resources/subscribe': async ({ t, client }) => void t.same(await client.subscribeResource({ uri: 'note://one' }), {}),
  'an update': async ({ t, call, heard }) => {
    await call('update')
    await until(() => heard('updated').length > 0)
    t.match(heard('updated')[0], { uri: 'note://one' })
  },
  'resources/unsubscribe': async ({ t, client, call, heard }) => {
    t.same(await client.unsubscribeResource({ uri: 'note://one' }), {})
    const before = heard('tools').length
    await call('update')
    await call('change-tools')
    await until(() => heard('tools').length > before)
    t.equal(heard('updated').length, 1)
  },
  'an unknown method': async ({ t, client }) => {
    t.equal(await codeOf(client.request({ method: 'no/such' }, EmptyResultSchema)), -32601)
  },
}

export const legacyPeer = (t: Test, transport: Transport): Peer => {
  const { hear, heard } = new Heard()
  const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } }
  const client = new Client({ name: 'legacy', version: '1' }, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    hear('elicitation', params)
    return { action: 'accept', ...(params.mode !== 'url' && { content: { name: 'Ann' } }) }
  })
  client.setRequestHandler(CreateMessageRequestSchema, () => sampled)
  client.setRequestHandler(ListRootsRequestSchema, () => oneRoot)
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => hear('log', params))
  client.setNotificationHandler(ToolListChangedNotificationSchema, ({ params }) => hear('tools', params))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => hear('updated', params))
  return {
    t, client, transport, heard,
    call: async (name, given = {}, options = {}) =>
      (await client.callTool({ name, arguments: { ...given } }, undefined, options)) as CallToolResult,
  }
}
