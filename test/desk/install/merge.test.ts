import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import t from 'tap'
import { isPassing } from '#relay/base/own-command.js'
import { cli, scratch, type Test } from '../../e2e/bridge.js'
import { fixture, until } from '../../e2e/gateways.js'
import { start } from '../../e2e/harness.js'

const skip = isPassing(cli, []) && 'paths of this clone would not be written'
const node = JSON.stringify(process.execPath)
const several = JSON.stringify(fixture('several.mjs'))

const original = `{\r\n  // mine\r\n  "theme": "dark",\r\n  "mcpServers" : {\r\n    "files": { "command": ${node}, "args": [${several}, "files"] },\r\n` +
  `    "my mail": {"env": {"KEY": "s3cret"}, "command": ${node}, "args": [${several}, "mail"], "type": "stdio"},\r\n` +
  '    "old": { "command": "x", "disabled": true, },\r\n  },\r\n}\r\n'

const run = async (t: Test, home: string, ...words: readonly string[]) => {
  const started = start(t, process.execPath, [cli, ...words], { HOME: home, XDG_STATE_HOME: join(home, 'state') })
  const { code } = await started.end()
  return { code, text: started.untaken.join('\n') + started.stderr() }
}

t.test('install --merge writes one entry that serves all; uninstall restores every entry, byte for byte', { skip }, async t => {
  const home = scratch(t)
  const file = join(home, 'client.json')
  writeFileSync(file, original)
  const installed = await run(t, home, 'install', '--merge', '--client', file, '--yes')
  t.equal(installed.code, 0, installed.text)
  const text = readFileSync(file, 'utf8')
  t.match(text, /\/\/ mine\r\n/)
  t.notMatch(text, /s3cret/)
  const { mcpServers } = JSON.parse(text.replace('// mine', '').replace(/,(\s*})/g, '$1')) as
    { mcpServers: Record<string, { command: string; args: string[] }> }
  t.strictSame(Object.keys(mcpServers), ['mcp-customs'])
  const entry = mcpServers['mcp-customs'] ?? { command: '', args: [] }
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StdioClientTransport({
    ...entry, stderr: 'ignore', env: { PATH: process.env['PATH'] ?? '', HOME: home, XDG_STATE_HOME: join(home, 'state') },
  }))
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  await until(async () => (await names()).length === 10)
  t.ok((await names()).includes('my_mail__echo'))
  await client.close()
  const again = await run(t, home, 'install', '--merge', '--client', file, '--yes')
  t.equal(again.code, 2, again.text)
  const uninstalled = await run(t, home, 'uninstall', '--client', file, '--yes')
  t.equal(uninstalled.code, 0, uninstalled.text)
  t.equal(readFileSync(file, 'utf8'), original)
})

t.test('what was added to the file since stays', { skip }, async t => {
  const home = scratch(t)
  const file = join(home, 'client.json')
  writeFileSync(file, original)
  await run(t, home, 'install', '--merge', '--client', file, '--yes')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"mcpServers": {', '"mcpServers": {"new": { "command": "y" }, '))
  const { code, text } = await run(t, home, 'uninstall', '--client', file, '--yes')
  t.equal(code, 0, text)
  const restored = readFileSync(file, 'utf8')
  for (const entry of original.match(/"(?:files|my mail|old)": ?\{.*\}/g) ?? []) t.ok(restored.includes(entry), entry)
  t.match(restored, /"new": \{ "command": "y" \}/)
})
