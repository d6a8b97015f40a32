import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { auditOf, cli, scratch } from './bridge.js'
import { lineOf, start, type Started } from './harness.js'
import { HttpClient, serve } from './http-bridges.js'
import { initialize } from './stubborn.js'

const healthIn = (audit: string) => auditOf(audit).filter(({ event }) => event === 'server/health')

/** A server that ends while the file `broken` is there, and answers everything else. */
const mortal = (folder: string): { readonly command: readonly string[]; readonly broken: string } => {
  const [file, broken] = [join(folder, 'mortal.mjs'), join(folder, 'broken')]
  writeFileSync(broken, '')
  writeFileSync(file, `
    import { existsSync } from 'node:fs'
    import { createInterface } from 'node:readline'
    if (existsSync(${JSON.stringify(broken)})) {
      console.error('starting')
      console.error('\\u001b[31mError: no database at token=hunter2hunter2\\u001b[0m')
      console.error('    at connect (mortal.mjs:1:1)')
      process.exit(3)
    }
    createInterface({ input: process.stdin }).on('line', line => {
      const { id, method } = JSON.parse(line)
      const result = method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'm', version: '1' } }
        : { tools: [] }
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  `)
  return { command: [process.execPath, file], broken }
}

const crash = {
  server: 'weather', health: 'exit', verdict: 'log', reason: 'the server exited with code 3',
  stderr: ['starting', /^Error: no database at token=(?!hunter2)/],
}

t.test('wrap records that a server crashed, with its last words, and forwards them', async t => {
  const [folder, audit] = [scratch(t), join(scratch(t), 'audit.ndjson')]
  const words = ['wrap', '--audit', audit, '--server', 'weather', '--', ...mortal(folder).command]
  const relay = start(t, process.execPath, [cli, ...words])
  relay.send(initialize)
  t.match(JSON.parse(await relay.next()), { error: { code: -31001 } })
  t.strictSame(await relay.exit, { code: 3, signal: null })
  t.match(healthIn(audit), [crash])
  t.notMatch(JSON.stringify(healthIn(audit)), /at connect/, 'without the frames of the stack')
  t.match(
    relay.stderr(), /starting\n\u001b\[31mError: no database at token=hunter2hunter2\u001b\[0m\n {4}at connect/,
  )
})

const admin = async (relay: Started) => {
  const place = /page on (\S+)\/\?/
  const [, page = ''] = place.exec(relay.stderr()) ?? await lineOf(errorsOf(relay), place)
  return async (path: string) => {
    const response = await fetch(page + path)
    return { status: response.status, text: await response.text() }
  }
}

const errorsOf = ({ child: { stderr } }: Started): NodeJS.ReadableStream => {
  if (stderr === null) throw new Error('no stderr')
  return stderr
}

const asked = async (url: string, line: string): Promise<unknown> => {
  const client = new HttpClient(`${url}/mcp`)
  client.send(line)
  return JSON.parse(await client.next())
}

t.test('a server that crashes at its start is not ready until it answers, and degrades the gateway', async t => {
  const [folder, audit] = [scratch(t), join(scratch(t), 'audit.ndjson')]
  const { command, broken } = mortal(folder)
  const { relay, url } =
    await serve(t, ['--audit', audit, '--server', 'weather', '--admin', '127.0.0.1:0', '--', ...command])
  const at = await admin(relay)
  t.match(await at('/metrics'), { text: /^mcp_customs_server_ready\{server="weather"\} 1$/m })
  t.match(await at('/metrics'), { text: /^mcp_customs_build_info\{version="\d[^"]+"\} 1$/m })
  t.match(await asked(url, initialize), { error: { code: -31001 } })
  t.match(await at('/metrics'), { text: /^mcp_customs_server_ready\{server="weather"\} 0$/m })
  t.match(
    await at('/metrics'), { text: /^mcp_customs_server_health_total\{server="weather",health="exit"\} 1$/m },
  )
  const degraded = await at('/readyz')
  t.equal(degraded.status, 200)
  t.match(JSON.parse(degraded.text), {
    ready: true, degraded: true, servers: { weather: false },
    problems: { weather: { kind: 'exit', reason: 'the server exited with code 3' } },
  })
  t.notMatch(degraded.text, /database/, 'no output of the server, as nobody has to show a token')
  rmSync(broken)
  t.match(await asked(url, initialize), { result: {} })
  t.match(JSON.parse((await at('/readyz')).text), { ready: true, servers: { weather: true } })
  t.match(healthIn(audit), [
    crash, { health: 'restored', reason: 'the server answers again, after: the server exited with code 3' },
  ])
})

t.test('a remote server that refuses every request is recorded once', async t => {
  const audit = join(scratch(t), 'audit.ndjson')
  // Nobody listens on port 1.
  const { url } = await serve(t, ['--audit', audit, '--server', 'remote', 'http://127.0.0.1:1/mcp'])
  for (let time = 0; time < 3; time += 1) t.match(await asked(url, initialize), { error: { code: -31001 } })
  t.match(healthIn(audit), [{ server: 'remote', health: 'refusal', reason: /refused/ }])
  t.equal(healthIn(audit).length, 1)
})

t.test('a server that stops answering is recorded as silent until it answers', async t => {
  const [folder, audit] = [scratch(t), join(scratch(t), 'audit.ndjson')]
  const [file, config] = [join(folder, 'silent.mjs'), join(folder, 'customs.json')]
  writeFileSync(file, `
    import { createInterface } from 'node:readline'
    const tool = { name: 'look', inputSchema: { type: 'object' } }
    let calls = 0
    createInterface({ input: process.stdin }).on('line', line => {
      const { id, method } = JSON.parse(line)
      if (id === undefined || (method === 'tools/call' && (calls += 1) < 3)) return
      const result = method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
        : method === 'tools/list' ? { tools: [tool] } : { content: [] }
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  `)
  writeFileSync(config, JSON.stringify({
    version: 1, limits: { requestMs: 3000 }, audit: { file: audit },
    servers: { weather: { command: [process.execPath, file] } },
  }))
  const relay = start(t, process.execPath, [cli, 'wrap', '--config', config])
  const ask = async (id: number, method: string, params: object = {}): Promise<unknown> => {
    relay.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return JSON.parse(await relay.next())
  }
  relay.send(initialize)
  t.match(JSON.parse(await relay.next()), { result: {} })
  t.match(await ask(1, 'tools/list'), { result: { tools: [{ name: 'look' }] } })
  const silent = [2, 3].map(id => ask(id, 'tools/call', { name: 'look' }))
  for (const answer of await Promise.all(silent)) t.match(answer, { error: { code: -31002 } })
  t.match(await ask(4, 'tools/call', { name: 'look' }), { id: 4, result: { content: [] } })
  t.match(healthIn(audit), [
    { server: 'weather', health: 'silence', verdict: 'log', reason: /did not answer|no answer/ },
    { server: 'weather', health: 'restored', reason: /^the server answers again, after: / },
  ])
  t.equal(healthIn(audit).length, 2, 'silence is told once')
  relay.child.stdin?.end()
  await relay.exit
  t.match(relay.stderr(), /weather: .*(?:did not answer|no answer)/, 'the client has it in its log of the server')
})
