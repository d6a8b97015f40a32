import dns from 'node:dns'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { fetchFor, isAtPrivateAddress } from '#relay/transport/upstream/document.js'
import { portOf } from '#test/kit/http.js'

const pem = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../../../test/fixtures/tls/${name}.pem`, import.meta.url)))

/** Every name has these addresses, as its owner likes. */
const named = (t: { teardown: (end: () => void) => void }, addresses: readonly string[]) => {
  const { lookup } = dns
  const set = (one: unknown): void => {
    Object.assign(dns, { lookup: one })
    syncBuiltinESMExports()
  }
  t.teardown(() => set(lookup))
  set((_: string, options: { all?: boolean }, done: (...found: unknown[]) => void) => (options.all === true
    ? done(null, addresses.map(address => ({ address, family: 4 }))) : done(null, addresses[0], 4)))
}

void t.test('only a server that proves its name at a private address opens private addresses', async t => {
  const seen: string[] = []
  const server = createServer({ cert: pem('cert'), key: pem('key') }, (request, response) => {
    seen.push(request.url ?? '')
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const port = await portOf(t, server)
  named(t, ['127.0.0.1', '203.0.113.5'])
  const tls = { ca: pem('cert') }
  t.equal(await isAtPrivateAddress(new URL(`https://evil.example:${port}/mcp`), tls), false, 'another name')
  t.equal(await isAtPrivateAddress(new URL(`https://localhost.:${port}/mcp`)), false, 'an unknown authority')
  t.equal(await isAtPrivateAddress(new URL(`http://evil.example:${port}/mcp`)), false, 'no TLS')
  t.equal(await isAtPrivateAddress(new URL(`https://localhost.:${port}/mcp`), tls), true)
  t.equal(await isAtPrivateAddress(new URL('http://10.0.0.1/mcp')), true)
  const get = { method: 'GET', headers: {} }
  const inside = `http://127.0.0.1:${port}/`
  await t.rejects(fetchFor(new URL(`https://evil.example:${port}/mcp`), tls)(inside, get), /private address/)
  t.same(seen, [])
  const own = fetchFor(new URL(`https://localhost.:${port}/mcp`), tls)
  t.equal((await own(`https://localhost.:${port}/metadata`, get)).status, 200, 'the CA of the server holds for its origin')
  t.match(await own.faultOf(new URL(inside)), undefined)
})

void t.test('behind a proxy, a name with a private address is refused as well', async t => {
  named(t, ['203.0.113.5', '10.0.0.1'])
  const before = process.env['HTTPS_PROXY']
  process.env['HTTPS_PROXY'] = 'http://127.0.0.1:9'
  t.teardown(() => (before === undefined ? delete process.env['HTTPS_PROXY'] : process.env['HTTPS_PROXY'] = before))
  const outside = fetchFor(new URL('http://server.example/mcp'))
  await t.rejects(outside('https://evil.example/', { method: 'GET', headers: {} }), /private address/)
})
