import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { discover, type Discovered } from '#relay/auth/client/discovery.js'
import { register } from '#relay/auth/client/registration.js'
import { IssuerClient } from '#relay/auth/client/requests.js'
import { guardedFetch } from '#relay/transport/upstream/document.js'
import { listen } from '#test/kit/http.js'

/** A server whose documents the test decides. `HERE` in a document stands for its origin. */
const site = async (t: Test, documents: Record<string, object | number | string>) => {
  const asked: string[] = []
  const origin = await listen(t, createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const found = documents[path] ?? 404
    if (typeof found === 'string') return void response.writeHead(307, { location: found }).end()
    if (typeof found === 'number') return void response.writeHead(found).end()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(found).replaceAll('HERE', origin))
  }))
  return { origin, asked, url: new URL('/mcp', origin) }
}

const fetch = guardedFetch({ mayBePrivate: true })
const [prm, oauth, openid] = [
  '/.well-known/oauth-protected-resource', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration',
]
const resource = { resource: 'HERE/mcp', authorization_servers: ['HERE/as'] }
const issuer = { issuer: 'HERE/as', authorization_endpoint: 'HERE/as/authorize', token_endpoint: 'HERE/as/token' }

void t.test('metadata is looked for in the order of the specification', async t => {
  const order = [`${prm}/mcp`, prm, `${oauth}/as`, `${openid}/as`, `/as${openid}`]
  const last = await site(t, { [prm]: { ...resource, resource: 'HERE/' }, [`/as${openid}`]: issuer })
  const found = await discover(last.url, {}, fetch)
  t.equal(found?.server.token_endpoint, `${last.origin}/as/token`)
  t.equal(found?.resource, `${last.origin}/`, 'the resource as its metadata writes it')
  t.same(last.asked, order)
  const named = await site(t, { '/named': resource, [`${oauth}/as`]: issuer })
  await discover(named.url, { resourceMetadata: `${named.origin}/named` }, fetch)
  t.same(named.asked, ['/named', `${oauth}/as`])
  const tenant = await site(t, { '/named': { ...resource, resource: 'HERE/' }, [`${oauth}/as`]: issuer })
  await t.rejects(discover(tenant.url, { resourceMetadata: `${tenant.origin}/named` }, fetch), /another resource/)
  const old = await site(t, { [oauth]: { ...issuer, issuer: 'HERE' } })
  t.equal((await discover(old.url, {}, fetch))?.server.issuer, old.origin, 'the server is its own issuer (2025-03-26)')
  t.equal(await discover((await site(t, {})).url, {}, fetch), undefined)
})

const contradictions = [
  ['a resource at another origin', { [`${prm}/mcp`]: { ...resource, resource: 'https://other.example/mcp' } }, /another resource/],
  ['another path', { [`${prm}/mcp`]: { ...resource, resource: 'HERE/mc' } }, /another resource/],
  ['the path of a tenant that leads to ours', { [`${prm}/mcp`]: { ...resource, resource: 'HERE/' } }, /another resource/],
  ['a path below ours', { [`${prm}/mcp`]: { ...resource, resource: 'HERE/mcp/x' } }, /another resource/],
  ['another query', { [`${prm}/mcp`]: { ...resource, resource: 'HERE/mcp?tenant=x' } }, /another resource/],
  ['another path at the root', { [prm]: { ...resource, resource: 'HERE/other' } }, /another resource/],
  ['no resource', { [`${prm}/mcp`]: { authorization_servers: ['HERE/as'] } }, /another resource/],
  ['no issuers', { [`${prm}/mcp`]: { resource: 'HERE/mcp' } }, /names no issuer/],
  ['another issuer', { [`${prm}/mcp`]: resource, [`${oauth}/as`]: { ...issuer, issuer: 'HERE/as/' } }, /another issuer/],
  ['no metadata of the issuer', { [`${prm}/mcp`]: resource }, /no metadata/],
  ['http to another host', { [`${prm}/mcp`]: { ...resource, authorization_servers: ['http://login.example'] } }, /must be https/],
  ['another scheme', { [`${prm}/mcp`]: { ...resource, authorization_servers: ['file:///etc'] } }, /./],
  ['a redirect to another origin', { [`${prm}/mcp`]: resource, [`${oauth}/as`]: 'https://other.example/' }, /may not be followed/],
  ['redirects without end', { [`${prm}/mcp`]: resource, [`${oauth}/as`]: `${oauth}/as` }, /without end/],
] as const

void t.test('metadata that contradicts itself, or leads elsewhere, ends the login', async t => {
  for (const [name, documents, expected] of contradictions) {
    const { url } = await site(t, documents)
    await t.rejects(discover(url, {}, fetch), expected, name)
  }
  const { url } = await site(t, { [`${prm}/mcp`]: resource, [`${oauth}/as`]: issuer })
  await t.rejects(discover(url, { issuer: 'https://mine.example' }, fetch), /other issuers than/)
})

void t.test('private addresses are reached only where the operator\'s own URL is private', async t => {
  const { origin, url, asked } = await site(t, { [`${prm}/mcp`]: resource, [`${oauth}/as`]: issuer })
  const outside = guardedFetch({ mayBePrivate: false })
  const hosts = ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254', '[fd00::1]', '[::ffff:10.0.0.1]']
  for (const host of hosts) {
    for (const scheme of ['http', 'https']) {
      const target = `${scheme}://${host}:${new URL(origin).port}/`
      await t.rejects(outside(target, { method: 'GET', headers: {} }), target)
    }
  }
  await t.rejects(discover(new URL('https://server.example/mcp'), { resourceMetadata: `${origin}${prm}/mcp` }, outside))
  t.same(asked, [])
  t.ok(await discover(url, {}, fetch))
})

const withIssuer = async (t: Test, more: object) => {
  const { url } = await site(t, { [`${prm}/mcp`]: resource, [`${oauth}/as`]: { ...issuer, ...more } })
  return await discover(url, {}, fetch) as Discovered
}

void t.test('an issuer that does not say that it supports PKCE with S256 is refused', async t => {
  for (const methods of [undefined, [], ['plain']]) {
    const { server } = await withIssuer(t, { code_challenge_methods_supported: methods })
    const client = new IssuerClient({ server, client: { issuer: server.issuer, id: 'x' }, fetch })
    await t.rejects(client.begin({ redirectUri: 'http://127.0.0.1:1/callback', resource: 'x', scopes: [] }), /PKCE/)
  }
})

void t.test('a browser is sent no further than this process reaches', async t => {
  const { server } = await withIssuer(t, { code_challenge_methods_supported: ['S256'] })
  const outside = guardedFetch({ mayBePrivate: false })
  const client = new IssuerClient({ server, client: { issuer: server.issuer, id: 'x' }, fetch: outside })
  await t.rejects(client.begin({ redirectUri: 'http://127.0.0.1:1/callback', resource: 'x', scopes: [] }), /private address/)
})

void t.test('an issuer that registers no clients is told of in one line that says what to do', async t => {
  const { server } = await withIssuer(t, {})
  await t.rejects(register(server, { redirectUri: 'http://127.0.0.1:1/callback' }, fetch), /servers\.NAME\.auth\.clientId/)
})
