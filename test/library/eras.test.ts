import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { guard } from '#library/guard.js'

const server = fileURLToPath(new URL('../../test/fixtures/eras/modern.mjs', import.meta.url))

const connected = async (translate?: 'off'): Promise<Client> => {
  const client = new Client({ name: 'legacy', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ann' } }))
  const transport = new StdioClientTransport({ command: process.execPath, args: [server] })
  await client.connect(guard(transport, translate && { translate }))
  return client
}

t.test('a client with a guard understands a server of 2026-07-28 only, unless it says off', async t => {
  const client = await connected()
  t.match(await client.callTool({ name: 'form', arguments: {} }), { content: [{ text: 'Hello Ann' }] })
  await client.close()
  await t.rejects(connected('off'), { code: -32022 })
})
