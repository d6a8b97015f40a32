import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { postTo } from '#test/kit/http.js'
import { scratch } from './bridge.js'
import { serve } from './http-bridges.js'
import { start } from './harness.js'
import { initialize } from './stubborn.js'

t.test('a server of a gateway sees nothing of its neighbours: neither their variables, nor the tokens of clients', async t => {
  const [directory, seen] = [scratch(t), join(scratch(t), 'seen')]
  const file = join(directory, 'curious.mjs')
  writeFileSync(
    file,
    'import { writeFileSync } from "node:fs"; process.stdin.once("data", () => { writeFileSync(process.argv[2] + process.argv[3], JSON.stringify(process.env)); process.exit() })',
  )
  const commandOf = (name: string) => [process.execPath, file, seen, name]
  const config = join(directory, 'customs.json')
  writeFileSync(config, JSON.stringify({
    version: 1,
    auth: { tokens: ['${env:CLIENT_TOKEN}'] },
    servers: {
      tickets: { command: commandOf('tickets'), env: { TOKEN: '${env:TICKETS_TOKEN}' } },
      curious: { command: commandOf('curious'), inheritEnv: ['LANG'] },
    },
  }))
  const secrets = { CLIENT_TOKEN: 'of-the-clients', TICKETS_TOKEN: 'of-tickets', LANG: 'C' }
  const { url } = await serve(t, ['--audit', 'none', '--config', config], [], secrets)
  const environments = await Promise.all(['tickets', 'curious'].map(async name => {
    await postTo(`${url}/${name}/mcp`, initialize, { authorization: 'Bearer of-the-clients' })
      .then(response => response.text())
    return JSON.parse(readFileSync(seen + name, 'utf8')) as Record<string, string>
  }))
  const known = (environment: Record<string, string> | undefined) => Object.entries(environment ?? {})
    .filter(([name]) => ['CLIENT_TOKEN', 'TICKETS_TOKEN', 'TOKEN', 'LANG'].includes(name))
  t.strictSame(environments.map(known), [[['TOKEN', 'of-tickets']], [['LANG', 'C']]])
  t.notMatch(JSON.stringify(environments), /of-the-clients/)
})

t.test('a cookie of one server of a gateway is for no other; that of the only one passes as it is', async t => {
  const script =
    'require("http").createServer((_, response) => response.writeHead(200, { "content-type": "application/json", "set-cookie": "a=1; Path=/" }).end("{}")).listen(0, "127.0.0.1", function () { console.log(this.address().port) })'
  const upstream = `http://127.0.0.1:${await start(t, process.execPath, ['-e', script]).next()}/mcp`
  for (const [names, expected] of [[['one', 'two'], 'a=1; Path=/one/'], [['one'], 'a=1; Path=/']] as const) {
    const config = join(scratch(t), 'customs.json')
    writeFileSync(config, JSON.stringify({
      version: 1, servers: Object.fromEntries(names.map(name => [name, { url: upstream }])),
    }))
    const { url } = await serve(t, ['--audit', 'none', '--config', config])
    t.equal((await postTo(`${url}/one/mcp`, initialize)).headers.get('set-cookie'), expected)
  }
})

t.test('a message that names the requests of two clients reaches both whole, however slowly one of them reads', async t => {
  const file = join(scratch(t), 'server.mjs')
  writeFileSync(file, `
    import { createInterface } from 'node:readline'
    const ids = []
    for await (const line of createInterface({ input: process.stdin })) {
      const { id, method } = JSON.parse(line)
      if (method === 'tools/list') console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [{ name: 'a', inputSchema: { type: 'object' } }] } }))
      if (method !== 'tools/call' || ids.push(id) < 2) continue
      const text = '{"jsonrpc":"2.0","id":' + ids[0] + ',"id":' + ids[1] + ',"result":{"content":["'
      process.stdout.write(Buffer.from(text + '\\xff'.repeat(6_000_000) + '"]}}\\n', 'latin1'))
    }`)
  const { url } = await serve(t, ['--policy', 'observe', '--audit', 'none', '--', process.execPath, file])
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
  }
  const call = () => postTo(
    `${url}/mcp`,
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', _meta } }),
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a' },
  )
  const [slow, fast] = await Promise.all([call(), call()])
  const bodyOf = async (response: Response) => Buffer.from(await response.arrayBuffer()).toString('latin1')
  const text = await bodyOf(fast)
  t.match(text, /^\{"jsonrpc":"2\.0"/)
  t.equal(text.split('\xff').length, 6_000_001)
  t.ok(await bodyOf(slow) === text)
})
