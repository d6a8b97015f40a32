import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio'
import { Client as EarlyClient } from 'mcp-client-beta'
import { StdioClientTransport as EarlyTransport } from 'mcp-client-beta/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { auditOf, cli, scratch } from './bridge.js'

// Each waits for processes most of the time.
t.jobs = 3

const scripted = fileURLToPath(new URL('../../test/fixtures/lying/scripted-server.mjs', import.meta.url))
const initialized =
  '{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
const good = '{"content":[{"type":"text","text":"{\\"n\\":1}"}],"structuredContent":{"n":1}}'
const output = (dialect: string) =>
  `{"$schema":"${dialect}","type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`
const draft07 = 'http://json-schema.org/draft-07/schema#'
const newest = 'https://json-schema.org/draft/2020-12/schema'

interface Case {
  readonly title: string
  /** The result of `tools/list`, and of the call of its tool. */
  readonly list: string
  readonly answer: string
  /** Who fails without us. */
  readonly refused: readonly Name[]
  /** What each gets with us. */
  readonly gets: {
    readonly content: readonly object[]; readonly structuredContent?: object; readonly isError?: true
  }
  readonly rule: string
}

const names = [
  'SDK 1.x', 'SDK 1.x with a validator for 2020-12', 'SDK 2.0 before its release', 'SDK 2.x',
] as const

type Name = (typeof names)[number]

const [first, strict, early] = names

const tool = (schemas: string) => `{"tools":[{"name":"count",${schemas}}]}`
const typed = '"inputSchema":{"type":"object"}'
const nothing = '{"content":[]}'
const text = (text: string) => ({ type: 'text', text })
const counted = { content: [text('{"n":1}')], structuredContent: { n: 1 } }

const cases: readonly Case[] = [
  {
    title: 'a schema without a type', list: tool('"inputSchema":{"properties":{"a":true}}'), answer: nothing,
    refused: names, gets: { content: [] }, rule: 'tool/input-type',
  },
  {
    title: 'a cursor that is null', list: tool(typed).replace(/}$/, ',"nextCursor":null}'), answer: nothing,
    refused: names, gets: { content: [] }, rule: 'list/shape',
  },
  {
    title: 'required that is null', list: tool('"inputSchema":{"type":"object","required":null}'),
    answer: nothing, refused: names, gets: { content: [] }, rule: 'list/shape',
  },
  {
    title: 'a schema in draft-07', list: tool(`${typed},"outputSchema":${output(draft07)}`), answer: good,
    refused: [strict, early], gets: counted, rule: 'tool/dialect',
  },
  {
    title: 'a schema in draft-04',
    list: tool(
      `${typed},"outputSchema":${output('http://json-schema.org/draft-04/schema#').replace('"number"', '"number","minimum":0,"exclusiveMinimum":true')}`,
    ),
    answer: good, refused: names, gets: counted, rule: 'tool/dialect',
  },
  {
    title: 'a promise that only the text keeps', list: tool(`${typed},"outputSchema":${output(newest)}`),
    answer: good.replace(/,"structuredContent".*/, '}'),
    refused: names, gets: counted, rule: 'result/missing',
  },
  {
    title: 'an error that hides behind its data', list: tool(`${typed},"outputSchema":${output(newest)}`),
    answer: '{"content":[{"type":"text","text":"no such thing"}],"isError":true,"structuredContent":{"n":"x"}}',
    refused: [first, strict], gets: { content: [text('no such thing')], isError: true },
    rule: 'result/error-structured',
  },
]

/** A command that speaks to the server, through the relay or not. */
const commandOf = (
  t: Test, { list, answer }: Pick<Case, 'list' | 'answer'>, options: readonly string[] | undefined,
): readonly string[] => {
  const directory = scratch(t)
  const say = (result: string) => [`{"jsonrpc":"2.0","id":$ID,"result":${result}}`]
  const script = join(directory, 'script.json')
  writeFileSync(script, JSON.stringify({
    received: join(directory, 'received'),
    reactions: [
      { when: '"initialize"', say: [initialized] }, { when: '"tools/list"', say: say(list) },
      { when: '"tools/call"', say: say(answer) },
      {
        when: '"server/discover"',
        say: ['{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no such method"}}'],
      },
    ],
  }))
  const server = [process.execPath, scripted, script]
  return options === undefined ? server : [process.execPath, cli, 'wrap', ...options, '--', ...server]
}

/** What a client may be asked, and the transport that it comes with. */
interface Session {
  readonly connect: () => Promise<void>
  readonly listTools: () => Promise<unknown>
  readonly callTool: (call: { name: string }) => Promise<object>
  readonly close: () => Promise<void>
}

type Open =
  (server: { command: string; args: string[]; stderr: 'ignore'; env: Record<string, string> }) => Session

const sessionOf = <Transport>(
  client: { connect: (transport: Transport) => Promise<void> } & Omit<Session, 'connect'>,
  transport: Transport,
): Session => ({
  connect: () => client.connect(transport), listTools: () => client.listTools(),
  callTool: call => client.callTool(call), close: () => client.close(),
})

const self = { name: 'strict', version: '1' }

/** The second and the third know 2020-12 and no other dialect. */
const clients: readonly (readonly [Name, Open])[] = [
  [names[0], server => sessionOf(new Client(self), new StdioClientTransport(server))],
  [names[1], server =>
    sessionOf(
      new Client(self, { jsonSchemaValidator: new AjvJsonSchemaValidator(new Ajv2020({ strict: false })) }),
      new StdioClientTransport(server),
    )],
  [names[2], server => sessionOf(new EarlyClient(self), new EarlyTransport(server))],
  [names[3], server => sessionOf(new ModernClient(self), new ModernTransport(server))],
]

/** What the model gets, where nothing before it fails. */
const asked = async (t: Test, open: Open, words: readonly string[]): Promise<object> => {
  const [command = '', ...args] = words
  const session = open({ command, args, stderr: 'ignore', env: { PATH: process.env['PATH'] ?? '' } })
  t.teardown(() => session.close())
  await session.connect()
  await session.listTools()
  return session.callTool({ name: 'count' })
}

for (const { list, answer, gets, rule, title, refused } of cases) {
  t.test(`${title}: strict clients fail, and all work where it is mended`, async t => {
    const results: object[] = []
    for (const [name, open] of clients) {
      const plain = asked(t, open, commandOf(t, { list, answer }, undefined))
      if (refused.includes(name)) await t.rejects(plain, `${name} refuses it`)
      else t.match(await plain, { content: gets.content }, `${name} takes it as it comes`)
      const audit = join(scratch(t), 'audit.ndjson')
      results.push(await asked(
        t, open, commandOf(t, { list, answer }, ['--policy', 'compat', '--trust', '--audit', audit]),
      ))
      const findings = auditOf(audit)
        .flatMap(record => record.findings) as readonly { readonly rule: string; readonly mended?: string }[]
      t.ok(
        findings.some(one => one.rule === rule && one.mended !== undefined),
        'it is on record what was changed',
      )
    }
    t.strictSame(results, clients.map(() => gets), 'every model gets the same')
  })
}
