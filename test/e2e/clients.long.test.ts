import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createMCPClient } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as AiTransport } from '@ai-sdk/mcp/mcp-stdio'
import * as v2 from '@modelcontextprotocol/client'
import * as v2stdio from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as beta from 'mcp-client-beta'
import * as betaStdio from 'mcp-client-beta/stdio'
import { Client as Client120 } from 'sdk120/client/index.js'
import { StdioClientTransport as Transport120 } from 'sdk120/client/stdio.js'
import t from 'tap'
import { auditOf, cli, scratch } from './bridge.js'

interface Tool {
  readonly name: string
  readonly inputSchema: object
  readonly outputSchema?: object
}

/** A tool, with arguments that its server declares, and arguments that the declared schema refuses. */
interface Declared {
  readonly tool: Tool
  readonly fits: object
  readonly misses: object
}

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const text = { type: 'string' }
const draft7 = 'http://json-schema.org/draft-07/schema#'
const arrived = object({ name: text, arguments: { type: 'object' } }, { required: ['name', 'arguments'] })

/** Servers whose tools clients refuse. */
const servers = new Map<string, readonly Declared[]>([
  ['an old dialect', [{
    tool: {
      name: 'between', inputSchema: object({
        points: { type: 'array', items: [{ type: 'integer' }, { type: 'integer' }], additionalItems: false },
      }, { $schema: draft7, required: ['points'] }), outputSchema: { $schema: draft7, ...arrived },
    },
    fits: { points: [1, 2] }, misses: { points: [1, 'two'] },
  }]],
  ['alternatives at the root', [{
    tool: {
      name: 'find', inputSchema: object(
        { id: { type: 'integer' }, title: text }, { oneOf: [{ required: ['id'] }, { required: ['title'] }] },
      ),
    },
    fits: { id: 7 }, misses: { id: 7, title: 'both' },
  }, {
    tool: { name: 'pick', inputSchema: { type: 'object', anyOf: [object({ a: text }, { required: ['a'] })] } },
    fits: { a: 'x' }, misses: { a: 1 },
  }]],
  ['references', [{
    tool: {
      name: 'tree', inputSchema: object({ root: { $ref: '#/$defs/node' } }, {
        required: ['root'],
        $defs: { node: object(
          { label: text, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
          { required: ['label', 'children'] },
        ) },
      }),
    },
    fits: { root: { label: 'a', children: [{ label: 'b', children: [] }] } },
    misses: { root: { label: 'a', children: [{ label: 'b', children: [{ label: 3, children: [] }] }] } },
  }]],
  ['boolean schemas', [{
    tool: {
      name: 'put', inputSchema: object(
        { key: text, value: true, never: false }, { required: ['key', 'value'], additionalProperties: false },
      ),
    },
    fits: { key: 'k', value: 'v' }, misses: { key: 1, value: 'v' },
  }]],
  ['names', ['files.read/all', 'files_read/all', `long-${'x'.repeat(90)}`, 'sp ace', 'größe'].map(name => ({
    tool: { name, inputSchema: object({ path: text }, { required: ['path'] }) },
    fits: { path: '/a' }, misses: { path: ['/a'] },
  }))],
  ['many tools', Array.from({ length: 140 }, (_, index) => ({
    tool: { name: `tool_${index}`, inputSchema: object({ at: { type: 'integer' } }, { required: ['at'] }) },
    fits: { at: index }, misses: { at: `${index}` },
  }))],
  ['odd values', [{
    tool: {
      name: 'set', inputSchema: object({
        unit: { const: 'metric' }, level: { type: ['integer', 'string'] }, icon: { ...text, format: 'json' },
        mode: { enum: [1, 'two', null] }, note: { ...text, default: '' },
      }, { required: ['unit', 'level', 'icon', 'mode'] }),
    },
    fits: { unit: 'metric', level: 3, icon: '{}', mode: 'two' },
    misses: { unit: 'imperial', level: 3, icon: '{}', mode: 'two' },
  }]],
])

/** One client that is connected. */
interface Connected {
  list(): Promise<readonly Tool[]>
  call(name: string, given: object): Promise<unknown>
  close(): Promise<unknown>
}

type Connect = (command: string, args: string[]) => Promise<Connected>

interface SdkClient {
  connect(transport: never): Promise<void>
  listTools(): Promise<{ readonly tools: readonly unknown[] }>
  callTool(call: object): Promise<unknown>
  close(): Promise<void>
}

const about = { name: 'test', version: '1' }

const sdk = (client: SdkClient, transportOf: (command: string, args: string[]) => unknown): Connect =>
  async (command, args) => {
    await client.connect(transportOf(command, args) as never)
    return {
      list: async () => (await client.listTools()).tools as readonly Tool[],
      call: (name, given) => client.callTool({ name, arguments: given }),
      close: () => client.close(),
    }
  }

const aiSdk: Connect = async (command, args) => {
  const client = await createMCPClient({ transport: new AiTransport({ command, args }) })
  const tools = await client.tools()
  return {
    list: () => Promise.resolve(Object.entries(tools).map(([name, { inputSchema }]) => ({
      name, inputSchema: (inputSchema as { jsonSchema: object }).jsonSchema,
    }))),
    call: (name, given) => Promise.resolve(
      tools[name]?.execute(given as never, { toolCallId: '1', messages: [] }),
    ),
    close: () => client.close(),
  }
}

/** `isWider`: the profile shows some of the schemas wider than they are declared. */
const clients: readonly (readonly [
  name: string, profile: string, isWider: boolean, client: () => Connect,
])[] = [
  ['SDK 1.20', 'sdk-1', false, () =>
    sdk(new Client120(about), (command, args) => new Transport120({ command, args }))],
  ['SDK 1', 'gemini', true, () =>
    sdk(new Client(about), (command, args) => new StdioClientTransport({ command, args }))],
  ['SDK 2 beta', 'sdk-2-beta', false, () => sdk(
    new beta.Client(about), (command, args) => new betaStdio.StdioClientTransport({ command, args }),
  )],
  ['SDK 2', 'bedrock', true, () => sdk(
    new v2.Client(about), (command, args) => new v2stdio.StdioClientTransport({ command, args }),
  )],
  ['@ai-sdk/mcp', 'openai-strict', true, () => aiSdk],
]

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, ObjectSchema>>
  readonly required?: readonly string[]
}

/** Arguments as a strict model gives them: each property that the schema requires is there, or null. */
const asAsked = ({ properties = {}, required = [] }: ObjectSchema, given: object): object => ({
  ...Object.fromEntries(required.filter(name => name in properties).map(name => [name, null])), ...given,
})

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, addUsedSchema: false })
const server = fileURLToPath(new URL('../../test/fixtures/lying/listed-server.mjs', import.meta.url))

t.jobs = 3

for (const [name, profile, isWider, client] of clients) {
  void t.test(`${name} with the profile ${profile} calls every tool of seven bad servers`, async t => {
    let mended = 0
    for (const [kind, declared] of servers) {
      const folder = scratch(t)
      const [file, audit] = [join(folder, 'tools.json'), join(folder, 'audit.ndjson')]
      writeFileSync(file, JSON.stringify(declared.map(({ tool }) => tool)))
      const connected = await client()(process.execPath, [
        cli, 'wrap', '--profile', profile, '--audit', audit, '--log-level', 'silent', '--',
        process.execPath, server, file,
      ])
      const shown = await connected.list()
      t.ok(shown.length > 0, `${kind}: listed`)
      for (const [index, { name: called, inputSchema }] of shown.entries()) {
        const { tool, fits, misses } = declared[index] ?? {}
        if (tool === undefined || fits === undefined || misses === undefined) throw new Error('no such tool')
        const given = asAsked(inputSchema, fits)
        const accepts = ajv.compile(inputSchema)
        t.ok(accepts(given), `${kind}: ${called} takes ${JSON.stringify(given)}`)
        const got = await connected.call(called, given) as { content: readonly { text: string }[] }
        t.strictSame(JSON.parse(got.content[0]?.text ?? '{}'), { name: tool.name, arguments: fits }, called)
        const wrong = asAsked(inputSchema, misses)
        const answer = await connected.call(called, wrong)
        // A model that kept to the schema that it was shown is told what to change.
        if (accepts(wrong)) t.match(answer, { isError: true, content: [{ text: /argument/ }] }, called)
        mended += accepts(wrong) ? 1 : 0
      }
      await connected.close()
      const refused = auditOf(audit).filter(({ findings }) =>
        findings.some(({ rule }) => rule === 'call/arguments'))
      t.equal(refused.length, shown.length, `${kind}: each call with wrong arguments is a finding`)
    }
    t.equal(mended > 0, isWider, 'arguments that only the shown schema accepts were found')
  })
}
