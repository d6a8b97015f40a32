import t from 'tap'
import { discover } from '#relay/auth/client/discovery.js'
import { givenClient, register } from '#relay/auth/client/registration.js'
import { IssuerClient } from '#relay/auth/client/requests.js'
import { guardedFetch } from '#relay/transport/upstream/document.js'
import { browse, openProtected } from '../protected.js'

const fetch = guardedFetch({ mayBePrivate: true })
const redirectUri = 'http://127.0.0.1:9/callback'
const isCallback = (url: URL): boolean => url.port === '9'

const found = async (one: { url: string }) => {
  const discovered = await discover(new URL(one.url), {}, fetch)
  if (discovered === undefined) throw new Error('nothing was found')
  return discovered
}

void t.test('a user logs in at a real issuer, and the tokens are refreshed and revoked', async t => {
  const one = await openProtected(t)
  const { server, resource, scopes } = await found(one)
  t.equal(server.issuer, one.issuer)
  t.equal(resource, one.url)
  t.same(scopes, ['mcp'])
  const client = await register(server, { redirectUri }, fetch)
  const issuer = new IssuerClient({ server, client, fetch })
  const begun = await issuer.begin({ redirectUri, resource, scopes: ['mcp', 'offline_access'] })
  const asked = new URL(begun.url).searchParams
  t.equal(asked.get('resource'), one.url)
  t.equal(asked.get('code_challenge_method'), 'S256')
  const callback = await browse(begun.url, isCallback)
  t.equal(callback.searchParams.get('iss'), one.issuer)
  const tokens = await issuer.exchange(callback.searchParams, begun, resource)
  t.match(tokens, { type: 'bearer', scopes: ['mcp'] })
  const first = await one.provider.AccessToken.find(tokens.access)
  t.equal(first?.aud, one.url, 'the token is for the server')
  const again = await issuer.refresh(tokens.refresh ?? '', resource)
  t.not(again.access, tokens.access)
  t.not(again.refresh, tokens.refresh, 'the issuer rotates refresh tokens')
  t.equal((await one.provider.AccessToken.find(again.access))?.aud, one.url)
  t.equal(await issuer.revoke(again.refresh ?? ''), true)
  await t.rejects(issuer.refresh(again.refresh ?? '', resource), /invalid_grant/)
})

void t.test('an answer to another flow, of another issuer, or played again gives no tokens', async t => {
  const one = await openProtected(t)
  const { server, resource } = await found(one)
  const client = givenClient({ issuer: server.issuer, id: 'desktop', isDocument: false }, server)
  if (client === undefined) throw new Error('there is a client')
  const issuer = new IssuerClient({ server, client, fetch })
  const begin = () => issuer.begin({ redirectUri, resource, scopes: ['mcp'] })
  const begun = await begin()
  const answer = (await browse(begun.url, isCallback)).searchParams
  const changed = (name: string, value: string | undefined): URLSearchParams => {
    const copy = new URLSearchParams(answer)
    if (value === undefined) copy.delete(name)
    else copy.set(name, value)
    return copy
  }
  const before = one.asked.length
  await t.rejects(issuer.exchange(changed('iss', 'https://evil.example'), begun, resource), /"iss"/)
  await t.rejects(issuer.exchange(changed('iss', `${one.issuer}/`), begun, resource), /"iss"/)
  await t.rejects(issuer.exchange(changed('iss', undefined), begun, resource), /"iss"/)
  await t.rejects(issuer.exchange(changed('state', 'other'), begun, resource), /"state"/)
  await t.rejects(issuer.exchange(changed('state', undefined), begun, resource), /"state"/)
  t.equal(one.asked.length, before, 'nothing was sent to the issuer')
  const other = await begin()
  await t.rejects(issuer.exchange(answer, { ...begun, verifier: other.verifier }, resource), /invalid_grant/, 'another verifier')
  await issuer.exchange(answer, begun, resource)
  await t.rejects(issuer.exchange(answer, begun, resource), /invalid_grant/, 'a code is used once')
  const denied = new URLSearchParams({ error: 'access_denied', state: begun.state, iss: one.issuer })
  await t.rejects(issuer.exchange(denied, begun, resource), /access_denied/)
})

void t.test('a client gets a token of its own, with a secret or with a key', async t => {
  const { privateKey, publicKey } = await (await import('jose')).generateKeyPair('ES256', { extractable: true })
  const { exportJWK, exportPKCS8 } = await import('jose')
  const one = await openProtected(t, { configuration: { clients: [{
    client_id: 'robot', client_secret: 'robot-secret', grant_types: ['client_credentials'], redirect_uris: [],
    response_types: [],
  }, {
    client_id: 'signer', token_endpoint_auth_method: 'private_key_jwt', grant_types: ['client_credentials'],
    redirect_uris: [], response_types: [], jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig' }] },
  }] } })
  const { server, resource } = await found(one)
  const clients = [
    { id: 'robot', secret: 'robot-secret' }, { id: 'signer', privateKey: await exportPKCS8(privateKey) },
  ]
  for (const each of clients) {
    const client = { issuer: server.issuer, ...each }
    const { access } = await new IssuerClient({ server, client, fetch }).credentials(resource, ['mcp'])
    t.match(await one.provider.ClientCredentials.find(access), { aud: one.url, scope: 'mcp' }, client.id)
  }
  const wrong = new IssuerClient({ server, client: { issuer: server.issuer, id: 'robot', secret: 'hunter2' }, fetch })
  await t.rejects(wrong.credentials(resource, []), /invalid_client/)
})

void t.test('a secret is sent form-encoded, and what form encoding leaves is left', async t => {
  const [id, secret] = ['ro-bot_1.0', 'a+b/c=: %*']
  const one = await openProtected(t, { configuration: { clients: [{
    client_id: id, client_secret: secret, grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
  }] } })
  const { server, resource } = await found(one)
  const sent: string[] = []
  const noted: typeof fetch = Object.assign(((url, request) => {
    sent.push(new Headers(request.headers).get('authorization') ?? '')
    return fetch(url, request)
  }) as typeof fetch, { faultOf: fetch.faultOf })
  const issuer = new IssuerClient({ server, client: { issuer: server.issuer, id, secret }, fetch: noted })
  t.match(await issuer.credentials(resource, ['mcp']), { type: 'bearer' }, 'a real issuer knows it')
  const pair = Buffer.from(sent.join().replace('Basic ', ''), 'base64').toString()
  t.equal(pair, 'ro-bot_1.0:a%2Bb%2Fc%3D%3A+%25*', 'issuers that do not decode know the usual ids')
})

void t.test('a client, with or without a secret, is sent to no other issuer than its own', async t => {
  const { server } = await found(await openProtected(t))
  for (const issuer of ['https://company.example', `${server.issuer}/`]) {
    const client = { issuer, id: 'robot', secret: 'robot-secret', isDocument: false }
    t.equal(givenClient(client, server), undefined)
    t.throws(() => new IssuerClient({ server, client, fetch }), /is not sent to/)
  }
  t.end()
})

void t.test('tokens are bound to a key where the issuer supports DPoP', async t => {
  const one = await openProtected(t, { configuration: {
    features: { dPoP: { enabled: true, requireNonce: () => true, nonceSecret: Buffer.alloc(32, 1) } },
  } })
  const { server, resource } = await found(one)
  const dpop = await (await import('oauth4webapi')).generateKeyPair('ES256')
  const issuer = new IssuerClient({ server, client: { issuer: server.issuer, id: 'desktop' }, fetch, dpop })
  const begun = await issuer.begin({ redirectUri, resource, scopes: ['mcp'] })
  const answer = (await browse(begun.url, isCallback)).searchParams
  const tokens = await issuer.exchange(answer, begun, resource)
  t.equal(tokens.type, 'dpop', 'also where the issuer wants a nonce first')
})
