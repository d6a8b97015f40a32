import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { postTo } from '#test/kit/http.js'
import { called } from '../../relay/audit/entries.js'
import { open } from '../../relay/audit/logs.js'
import { start } from '../../e2e/harness.js'
import { cli, run } from '../inspect/start.js'

/** The next of the messages that a page is told which holds this. */
const message = async (
  t: Test, url: string, wanted: RegExp, act: () => void = () => undefined,
): Promise<string> => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const response = await fetch(url.replace('/?', '/events?'), { signal: stop.signal })
  t.equal(response.status, 200)
  let text = ''
  act()
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString()
    if (wanted.test(text)) break
  }
  return text
}

t.test('ui serves the page at the printed URL, shows records live, and ends on a signal', async t => {
  const state = t.testdir()
  const ui = start(t, process.execPath, [cli, 'ui'], { XDG_STATE_HOME: state })
  const [, url = ''] = / on (\S+)$/.exec(await ui.next()) ?? []
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}$/)
  const page = await fetch(url)
  t.match(await page.text(), /connect-src 'self'/)
  t.equal((await fetch(url.replace(/token=.*/, 'token=no'))).status, 401)
  mkdirSync(join(state, 'mcp-customs'))
  const audit = await open(join(state, 'mcp-customs', 'a.ndjson'))
  t.match(
    await message(t, url, /get_weather/, () => audit.write(called)),
    /"held":\{"rows":\[\{"server":"weather","subject":"get_weather","verdict":"block"/,
  )
  audit.close()
  process.kill(ui.pid, 'SIGTERM')
  t.match(await ui.exit, { code: 0 })
})

t.test('while it reads, ui says how far it is, and sends no total of a part', async t => {
  const folder = t.testdir()
  const line = `${JSON.stringify({
    time: new Date().toISOString(), event: 'tools/call', from: 'client', server: 'weather', session: 's-1',
    tool: 'get_weather', verdict: 'pass', findings: [], reason: 'x'.repeat(1000),
  })}\n`
  writeFileSync(join(folder, 'a.ndjson'), line.repeat(20_000))
  writeFileSync(join(folder, 'b.ndjson'), line.repeat(10_000))
  const ui = start(t, process.execPath, [cli, 'ui', folder])
  const [, url = ''] = / on (\S+)$/.exec(await ui.next()) ?? []
  const sent = await message(t, url, /"head"[^\n]*\n/)
  const messages = [...sent.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as object)
  for (const parts of messages.slice(0, -1)) {
    t.match(parts, { reading: { done: Number, total: Number, places: [folder] } })
    t.strictSame(Object.keys(parts), ['reading'])
  }
  t.match(messages.at(-1), { reading: null, head: { records: 30_000 } })
})

t.test('a missing folder and an invalid window or port are errors', async t => {
  const cases = [[['/nowhere'], /\/nowhere: is not there/], [
    ['--window', '5'], /--window "5": must be a time/,
  ], [['--window', '1s'], /a minute or more/], [['--port', 'x'], /--port "x"/]] as const
  for (const [words, stderr] of cases) {
    t.match(await run(t, ['ui', ...words]), { code: 2, stdout: '', stderr })
  }
})

t.test('serve shows its decisions on the admin listener\'s page, without secrets', async t => {
  const lying = new URL('../../../docker/demo/lying-server.mjs', import.meta.url).pathname
  const relay = start(t, process.execPath, [
    cli, 'serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--audit', 'none', '--log-level',
    'silent', '--server', 'weather', '--', process.execPath, lying,
  ])
  const line = (wanted: RegExp) => new Promise<string>(resolve => {
    const look = () => {
      const [, found] = wanted.exec(relay.stderr()) ?? []
      if (found !== undefined) resolve(found)
    }
    relay.child.stderr?.on('data', look)
    look()
  })
  const url = await line(/listening on (\S+)\n/)
  const page = await line(/page on (\S+)\n/)
  t.equal((await fetch(page.replace(/\?.*/, ''))).status, 401)
  t.equal((await fetch(page.replace(/\/\?.*/, '/healthz'))).status, 200)
  t.match(await (await fetch(page)).text(), /<title>mcp-customs<\/title>/)
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const call = (name: string) => () => void postTo(`${url}/mcp`, JSON.stringify({
    jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { city: 'Atlantis' }, _meta: meta },
  }), {
    'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name,
  }).then(response => response.text())
  t.match(
    await message(t, page, /"subject":"get_weather"/, call('get_weather')),
    /result\/schema at \/result\/structuredContent\/temperature/,
  )
  const told = await message(t, page, /"subject":"\[redacted\]"/, call('sk-ant-REDACTED'))
  t.notMatch(told, 'sk-ant-REDACTED')
  process.kill(relay.pid, 'SIGTERM')
  t.match(await relay.exit, { code: 0 })
})
