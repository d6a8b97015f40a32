import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { auditOf, cli, scratch } from './bridge.js'
import { plainly } from './harness.js'

const scripted = fileURLToPath(new URL('../../test/fixtures/lying/scripted-server.mjs', import.meta.url))
const initialized = '{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
const good = '{"content":[{"type":"text","text":"{\\"n\\":1}"}],"structuredContent":{"n":1}}'
const output = (dialect: string) => `{"$schema":"${dialect}","type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`
const draft07 = 'http://json-schema.org/draft-07/schema#'

interface Case {
  readonly title: string
  /** The result of `tools/list`, and of the call of its tool. */
  readonly list: string
  readonly answer: string
  /** What a client that fails without us gets. */
  readonly gets: object
  readonly rule: string
}

const tool = (schemas: string) => `{"tools":[{"name":"count",${schemas}}]}`
const typed = '"inputSchema":{"type":"object"}'

const cases: readonly Case[] = [
  { title: 'a schema without a type', list: tool('"inputSchema":{"properties":{"a":true}}'), answer: '{"content":[]}', gets: { content: [] }, rule: 'tool/input-type' },
  { title: 'a cursor that is null', list: tool(typed).replace(/}$/, ',"nextCursor":null}'), answer: '{"content":[]}', gets: { content: [] }, rule: 'list/shape' },
  { title: 'required that is null', list: tool('"inputSchema":{"type":"object","required":null}'), answer: '{"content":[]}', gets: { content: [] }, rule: 'list/shape' },
  { title: 'a dialect that the client does not know', list: tool(`${typed},"outputSchema":${output(draft07)}`), answer: good, gets: { structuredContent: { n: 1 } }, rule: 'tool/dialect' },
  {
    title: 'a promise that only the text keeps', list: tool(`${typed},"outputSchema":${output('https://json-schema.org/draft/2020-12/schema')}`),
    answer: good.replace(/,"structuredContent".*/, '}'), gets: { structuredContent: { n: 1 } }, rule: 'result/missing',
  },
  {
    title: 'an error that hides behind its data', list: tool(`${typed},"outputSchema":${output('https://json-schema.org/draft/2020-12/schema')}`),
    answer: '{"content":[{"type":"text","text":"no such thing"}],"isError":true,"structuredContent":{"n":"x"}}', gets: { isError: true, content: [{ type: 'text', text: 'no such thing' }], structuredContent: undefined }, rule: 'result/error-structured',
  },
]

/** A command that speaks to the server, through the relay or not. */
const commandOf = (t: Test, { list, answer }: Case, options: readonly string[] | undefined): readonly string[] => {
  const directory = scratch(t)
  const say = (result: string) => [`{"jsonrpc":"2.0","id":$ID,"result":${result}}`]
  const script = join(directory, 'script.json')
  writeFileSync(script, JSON.stringify({
    received: join(directory, 'received'),
    reactions: [
      { when: '"initialize"', say: [initialized] }, { when: '"tools/list"', say: say(list) }, { when: '"tools/call"', say: say(answer) },
      { when: '"server/discover"', say: ['{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no such method"}}'] },
    ],
  }))
  const server = [process.execPath, scripted, script]
  return options === undefined ? server : [process.execPath, cli, 'wrap', ...options, '--', ...server]
}

/** Of the first generation; its validator knows 2020-12, and no other dialect. */
const legacy = async (t: Test, words: readonly string[]): Promise<object> => {
  const client = new Client({ name: 'strict', version: '1' }, { jsonSchemaValidator: new AjvJsonSchemaValidator(new Ajv2020({ strict: false })) })
  const [command, args] = plainly(words)
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore', env: { PATH: process.env['PATH'] ?? '' } }))
  t.teardown(() => client.close())
  await client.listTools()
  return client.callTool({ name: 'count' })
}

const modern = async (t: Test, words: readonly string[]): Promise<object> => {
  const client = new ModernClient({ name: 'strict', version: '1' })
  const [command, args] = plainly(words)
  await client.connect(new ModernTransport({ command, args, stderr: 'ignore', env: { PATH: process.env['PATH'] ?? '' } }))
  t.teardown(() => client.close())
  await client.listTools()
  return client.callTool({ name: 'count' })
}

for (const each of cases) {
  t.test(`${each.title}: a strict client fails, and works where it is mended`, async t => {
    await t.rejects(legacy(t, commandOf(t, each, undefined)), 'without us')
    const audit = join(scratch(t), 'audit.ndjson')
    t.match(await legacy(t, commandOf(t, each, ['--policy', 'compat', '--trust', '--audit', audit])), each.gets)
    const findings = auditOf(audit).flatMap(record => record.findings) as readonly { readonly rule: string; readonly mended?: string }[]
    t.ok(findings.some(({ rule, mended }) => rule === each.rule && mended !== undefined), 'it is on record what was changed')
    t.match(await modern(t, commandOf(t, each, ['--policy', 'compat', '--trust', '--audit', 'none'])), each.gets, 'the newest client gets the same')
  })
}
