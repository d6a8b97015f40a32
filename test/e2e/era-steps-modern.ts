import { type CallToolResult, Client, type Transport } from '@modelcontextprotocol/client'
import { EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Test } from 'tap'
import { codeOf, Heard, oneRoot, sampled, textOf } from './era-peers.js'
import { sharedSteps } from './era-steps.js'
import { until } from './gateways.js'

const prefix = 'io.modelcontextprotocol/'

interface Peer {
  readonly t: Test
  readonly client: Client
  readonly transport: Transport
  readonly isHttp: boolean
  /** The params of questions and notifications, by method. */
  readonly heard: (name: string) => readonly Record<string, unknown>[]
  readonly call: (name: string, given?: object, options?: object, meta?: object) => Promise<CallToolResult>
}

/** What a client of 2026-07-28 does with a legacy server, in order. */
export const modernSteps: Readonly<Record<string, (peer: Peer) => Promise<void>>> = {
  'the client connects': async ({ t, client, transport }) => {
    await client.connect(transport)
    t.equal(client.getServerVersion()?.name, 'legacy')
    t.equal(client.getInstructions(), 'Ask me.')
    t.ok(client.getServerCapabilities()?.tools)
  },
  ...sharedSteps,
  'tools/list': async ({ t, client }) => {
    const { tools } = await client.listTools()
    t.notOk(tools.some(tool => 'execution' in tool))
    t.notOk(tools.some(({ name }) => name === 'task'), 'a tool that only runs as a task')
    t.ok(tools.some(({ name }) => name === 'echo'))
  },
  'a call': async ({ t, call }) => void t.equal(textOf(await call('echo', { message: 'hi' })), 'echo hi'),
  'an error of a tool': async ({ t, call }) => void t.equal((await call('fails')).isError, true),
  'prompts/get': async ({ t, client }) => {
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ann' } })
    t.match(messages, [{ content: { text: 'Hello Ann' } }])
  },
  'completion/complete': async ({ t, client }) => {
    const ref = { type: 'ref/prompt', name: 'greet' } as const
    t.same((await client.complete({ ref, argument: { name: 'name', value: 'x' } })).completion.values, ['xa', 'xb'])
  },
  'a prompt that asks the user': async ({ t, client }) => {
    t.match(await client.getPrompt({ name: 'asks' }), { messages: [{ content: { text: 'Hello Ann' } }] })
  },
  'cancellation reaches the tool': async ({ t, call }) => {
    const controller = new AbortController()
    const slow = codeOf(call('slow', {}, { signal: controller.signal }))
    await call('echo', { message: 'meanwhile' })
    controller.abort()
    t.not(await slow, 'no error')
    await until(async () => textOf(await call('cancelled')) === '1')
  },
  'twenty calls at once': async ({ t, call }) => {
    const words = Array.from({ length: 20 }, (_, index) => `call ${index}`)
    const answers = await Promise.all(words.map(message => call('echo', { message })))
    t.same(answers.map(textOf), words.map(word => `echo ${word}`))
  },
  'log messages': async ({ t, call, heard }) => {
    await call('log')
    t.equal(heard('log').length, 0, 'none where the request asks for none')
    await call('log', {}, {}, { [`${prefix}logLevel`]: 'warning' })
    await until(() => heard('log').length > 0)
    t.match(heard('log'), [{ level: 'warning' }])
  },
  'elicitation by a form': async ({ t, call, heard }) => {
    t.equal(textOf(await call('elicit')), 'accept Ann')
    t.equal(heard('elicitation').at(-1)?.['mode'], 'form')
  },
  'three questions at once': async ({ t, call }) => void t.equal(textOf(await call('three')), 'Ann,sampled,1'),
  'five rounds': async ({ t, call }) => void t.equal(textOf(await call('five')), 'Ann,Ann,Ann,Ann,Ann'),
  'elicitation by a URL': async ({ t, call, heard }) => {
    t.equal(textOf(await call('url')), 'accept')
    t.notOk('elicitationId' in (heard('elicitation').at(-1) ?? {}))
  },
  'a URL that is asked for by an error': async ({ t, call }) => void t.equal(textOf(await call('required')), 'visited'),
  list_changed: async ({ t, client, call, heard }) => {
    const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
    const stream = await client.listen(all)
    t.same(stream.honoredFilter, all)
    await call('changes')
    await until(() => ['tools', 'prompts', 'resources'].every(name => heard(name).length > 0))
    await stream.close()
  },
  'resources/subscribe, an update, and the end': async ({ t, client, call, heard }) => {
    const stream = await client.listen({ resourceSubscriptions: ['note://one'] })
    t.same(stream.honoredFilter, { resourceSubscriptions: ['note://one'] })
    t.equal(textOf(await call('update', { uri: 'note://one' })), 'updated')
    await until(() => heard('updated').length > 0)
    t.match(heard('updated'), [{ uri: 'note://one' }])
    await stream.close()
    await until(async () => textOf(await call('update', { uri: 'note://one' })) === 'nobody')
  },
  'an unknown method': async ({ t, client, isHttp }) => {
    const code = await codeOf(client.request({ method: 'no/such', params: {} } as never, EmptyResultSchema as never))
    // Over HTTP the client hides the code: the status is 404.
    if (isHttp) t.not(code, 'no error')
    else t.equal(code, -32601)
  },
}

interface Who {
  readonly name?: string
  readonly capabilities?: object
}

const everything = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } }

export const modernPeer = (
  t: Test, transport: Transport, isHttp: boolean, { name: own = 'Ann', capabilities = everything }: Who = {},
): Peer => {
  const { hear, heard } = new Heard()
  const client = new Client({ name: 'modern', version: '1' }, {
    capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } },
  })
  if (capabilities === everything) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      hear('elicitation', params)
      return { action: 'accept', ...(params.mode !== 'url' && { content: { name: own } }) }
    })
    client.setRequestHandler('sampling/createMessage', () => sampled)
    client.setRequestHandler('roots/list', () => oneRoot)
  }
  client.setNotificationHandler('notifications/message', ({ params }) => hear('log', params))
  client.setNotificationHandler('notifications/tools/list_changed', ({ params }) => hear('tools', params))
  client.setNotificationHandler('notifications/prompts/list_changed', ({ params }) => hear('prompts', params))
  client.setNotificationHandler('notifications/resources/list_changed', ({ params }) => hear('resources', params))
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => hear('updated', params))
  return {
    t, client, transport, isHttp, heard,
    call: async (name, given = {}, options = {}, meta) =>
      client.callTool({ name, arguments: { ...given }, ...(meta && { _meta: { ...meta } }) }, options),
  }
}
