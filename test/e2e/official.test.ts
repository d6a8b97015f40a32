import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import t, { type Test } from 'tap'
import { auditOf, cli, scratch } from './bridge.js'

const { resolve } = createRequire(import.meta.url)

// To wait for a server's end takes longer than all the rest.
t.jobs = 3

const server = (name: string) => resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)

/** The official SDK's client, in front of a command. */
const connect = async (
  t: Test, words: readonly string[], env: Record<string, string> = {},
): Promise<Client> => {
  const client = new Client(
    { name: 'official', version: '1.0.0' }, { capabilities: { roots: {}, sampling: {}, elicitation: {} } },
  )
  const [command = '', ...args] = words
  await client.connect(new StdioClientTransport({
    command, args, stderr: 'ignore', env: { PATH: process.env['PATH'] ?? '', ...env },
  }))
  t.teardown(() => client.close())
  return client
}

interface Step {
  readonly name: string
  readonly run: (client: Client) => Promise<unknown>
}

const step = (name: string, run: (client: Client) => Promise<unknown>): Step => ({ name, run })

const call = (name: string, given: Record<string, unknown> = {}) =>
  step(`${name} of ${Object.keys(given).join(', ')}`, client => client.callTool({ name, arguments: given }))

const everything: readonly Step[] = [
  call('echo', { message: 'héllo 🎉 <&> \u2028' }),
  call('get-sum', { a: 0.1, b: 2e21 }),
  call('get-sum', { a: 'one' }),
  call('get-structured-content', { location: 'New York' }),
  call('get-annotated-message', { messageType: 'error', includeImage: true }),
  call('get-tiny-image'),
  call('get-resource-links', { count: 3 }),
  step('listPrompts', client => client.listPrompts()),
  step('getPrompt', client => client.getPrompt({ name: 'args-prompt', arguments: { city: 'Paris' } })),
  step('listResources', client => client.listResources()),
  step('listResourceTemplates', client => client.listResourceTemplates()),
  step('complete', client => client.complete({
    ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'E' },
  })),
  step('ping', client => client.ping()),
  step('an unknown prompt', client => client.getPrompt({ name: 'nobody' })),
  step('instructions', async client => client.getInstructions()),
]

const filesystem = (directory: string): readonly Step[] => [
  call('write_file', { path: join(directory, 'a.txt'), content: 'a\r\nb\u00e9\n' }),
  call('read_text_file', { path: join(directory, 'a.txt') }),
  call('read_media_file', { path: join(directory, 'pixel.png') }),
  call('list_directory', { path: directory }),
  call('directory_tree', { path: directory }),
  call('search_files', { path: directory, pattern: '*.txt' }),
  call('read_text_file', { path: '/etc/passwd' }),
  call('list_allowed_directories'),
]

const memory: readonly Step[] = [
  call('create_entities', { entities: [
    { name: 'A', entityType: 'thing', observations: ['new'] },
    { name: 'B', entityType: 'thing', observations: [] },
  ] }),
  call('create_relations', { relations: [{ from: 'A', to: 'B', relationType: 'knows' }] }),
  call('add_observations', { observations: [{ entityName: 'A', contents: ['older'] }] }),
  call('read_graph'),
  call('search_nodes', { query: 'older' }),
  call('delete_entities', { entityNames: ['B'] }),
  call('open_nodes', { names: ['A', 'B'] }),
]

const outcomeOf = async (client: Client, { run }: Step): Promise<unknown> => {
  try {
    return (await run(client)) ?? null
  } catch (error) {
    return { failed: String(error) }
  }
}

interface Subject {
  readonly name: string
  /** A fresh command and the steps for it: servers remember. */
  readonly prepare: (t: Test) => {
    command: readonly string[]; env?: Record<string, string>; steps: readonly Step[]
  }
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const subjects: readonly Subject[] = [
  {
    name: 'everything',
    prepare: () => ({ command: [process.execPath, server('everything'), 'stdio'], steps: everything }),
  },
  {
    name: 'filesystem',
    prepare: t => {
      const directory = scratch(t)
      writeFileSync(join(directory, 'pixel.png'), png)
      return { command: [process.execPath, server('filesystem'), directory], steps: filesystem(directory) }
    },
  },
  {
    name: 'memory',
    prepare: t => ({
      command: [process.execPath, server('memory')],
      env: { MEMORY_FILE_PATH: join(scratch(t), 'memory.jsonl') }, steps: memory,
    }),
  },
]

/** Directories differ from run to run, and nothing else. */
const comparable = (value: unknown, directory: string | undefined): unknown =>
  JSON.parse(directory === undefined ? JSON.stringify(value) : JSON.stringify(value).replaceAll(
    directory, '/data',
  ))

for (const { name, prepare } of subjects) {
  t.test(`the official ${name} server gives the same answers through the relay, and keeps its annotations when the operator trusts it`, async t => {
    const [direct, relayed, trusted] = [prepare(t), prepare(t), prepare(t)]
    const audit = join(scratch(t), 'audit.ndjson')
    const wrap = [process.execPath, cli, 'wrap', '--audit', audit]
    const before = await connect(t, direct.command, direct.env)
    const after = await connect(t, [...wrap, '--', ...relayed.command], relayed.env)

    const list = await before.listTools()
    const listed = list.tools
    t.ok(listed.some(tool => tool.annotations !== undefined), 'the server has annotations')
    const bare =
      listed.map(tool => Object.fromEntries(Object.entries(tool).filter(([key]) => key !== 'annotations')))
    t.strictSame((await after.listTools()).tools, bare, 'the tools are the same, but for their annotations')
    const keeping = await connect(
      t, [process.execPath, cli, 'wrap', '--trust', '--audit', 'none', '--', ...trusted.command], trusted.env,
    )
    t.strictSame(await keeping.listTools(), list, 'trusted, they are the same')

    const paths = [direct.command[2], relayed.command[2]].map(path =>
      (name === 'filesystem' ? path : undefined))
    for (const [index, each] of direct.steps.entries()) {
      const same = relayed.steps[index]
      if (same === undefined) throw new Error('the steps are the same')
      t.strictSame(
        comparable(await outcomeOf(after, same), paths[1]),
        comparable(await outcomeOf(before, each), paths[0]), each.name,
      )
    }
    await after.close()
    t.strictSame(
      auditOf(audit).filter(record => record.event === 'tools/call' && record.verdict === 'block'), [],
      'no call was blocked',
    )
  })
}
