import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { HttpClient, serve } from '../../e2e/http-bridges.js'
import { demo, run } from '../inspect/start.js'

t.test('a server that is not the accepted one is refused, and the others of its gateway go on', async t => {
  const folder = t.testdir()
  const file = join(folder, 'customs.json')
  const command = demo.slice(-2)
  const write = (changed: readonly string[]) => writeFileSync(file, JSON.stringify({
    version: 1, admin: '127.0.0.1:0', audit: { file: join(folder, 'audit.ndjson') },
    lock: join(folder, 'customs.lock.json'), servers: { kept: { command }, changed: { command: changed } },
  }))
  write(command)
  t.match(await run(t, ['lock', '--config', file, '--yes']), { code: 0 })
  write([...command, '--other'])
  const { relay, url } = await serve(t, ['--config', file])
  const refused = await fetch(`${url}/changed/mcp`, { method: 'POST', body: '{}' })
  t.equal(refused.status, 503)
  const told = /mcp-customs did not start the server: .* is not the server that was accepted .*; to see it and accept it, run: .*lock --config \S+customs\.json --server changed/
  t.match(await refused.text(), told)
  t.match(relay.stderr(), told, 'the operator is told as well')
  const client = new HttpClient(`${url}/kept/mcp`)
  client.send(JSON.stringify({
    jsonrpc: '2.0', id: 1, method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  }))
  t.match(JSON.parse(await client.next()), { id: 1, result: { serverInfo: {} } })
  const [, admin = ''] = /page on (\S+)\/\?/.exec(relay.stderr()) ?? []
  t.match(await (await fetch(`${admin}/readyz`)).json(), {
    ready: true, degraded: true, problems: { changed: { kind: 'refusal', reason: told } },
    servers: { kept: true, changed: false },
  })
  const logs = readdirSync(folder).filter(name => name.endsWith('.ndjson'))
  t.ok(logs.some(name => /"health":"refusal".*"server":"changed"/.test(readFileSync(join(folder, name), 'utf8'))))
})

t.test('a gateway none of whose servers is the accepted one does not start', async t => {
  const folder = t.testdir()
  const file = join(folder, 'customs.json')
  writeFileSync(join(folder, 'customs.lock.json'), '{ "version": 2, "servers": {} }\n')
  writeFileSync(file, JSON.stringify({
    version: 1, lock: join(folder, 'customs.lock.json'), audit: { file: 'none' },
    servers: { one: { command: demo.slice(-2) }, two: { command: demo.slice(-2) } },
  }))
  t.match(await run(t, ['serve', '--config', file]), {
    code: 2, stdout: '', stderr: /nothing was accepted of the server "one"; to see it and accept it, run: /,
  })
})
