import t from 'tap'
import { areNamed, holderOf, isOwnUsers } from '#relay/host/server/login.js'

const own = { listen: { host: '127.0.0.1', port: 7400 }, issuer: undefined, tokens: [], allowHosts: [] }
const token = { token: 'a-token-of-a-client-long-enough', name: undefined }
const issuer = { issuer: 'https://login.example', audience: 'https://mcp.example', scopes: [], jwks: undefined, introspection: undefined }

const cases = [
  ['loopback: other users of the machine, and what a proxy lets in', {}, false],
  ['every address', { listen: { host: '0.0.0.0', port: 7400 } }, false],
  ['loopback behind a proxy, with an issuer', { issuer }, false],
  ['one token', { tokens: [token] }, true],
  ['one token, for every address', { tokens: [token], listen: { host: '0.0.0.0', port: 7400 } }, true],
  ['one token beside an issuer', { tokens: [token], issuer }, false],
  ['tokens of several clients', { tokens: [token, token] }, false],
  ['another host name', { allowHosts: ['mcp.example.com'] }, false],
  ['a socket of this user', { listen: { socket: '/run/s', mode: 0o600 } }, true],
  ['a socket of this user behind a proxy', { listen: { socket: '/run/s', mode: 0o600 }, allowHosts: ['mcp.example.com'] }, false],
  ['a socket of a group', { listen: { socket: '/run/s', mode: 0o660 } }, false],
] as const

void t.test('one login serves all clients only where only this user can connect', t => {
  for (const [name, more, expected] of cases) t.equal(isOwnUsers({ ...own, ...more }), expected, name)
  t.end()
})

void t.test('clients have logins of their own only where each shows a name', t => {
  const named = { ...token, name: 'ci' }
  for (const [name, more, expected] of [
    ['nobody shows anything', {}, false],
    ['an issuer', { issuer }, true],
    ['named tokens', { tokens: [named] }, true],
    ['a token without a name', { tokens: [named, token] }, false],
    ['a token without a name beside an issuer', { issuer, tokens: [token] }, false],
  ] as const) t.equal(areNamed({ ...own, ...more }), expected, name)
  t.end()
})

void t.test('a configured token, a subject of the same name, and a client without a subject are three', t => {
  const [iss, scopes] = ['https://login.example', []]
  t.same(holderOf({ name: 'alice', scopes }), { issuer: '', name: 'alice' })
  t.same(holderOf({ issuer: iss, subject: 'alice', client: 'app', scopes }), { issuer: iss, name: 'alice' })
  t.same(holderOf({ issuer: iss, client: 'alice', scopes }), { issuer: iss, name: '' }, 'no login has this name')
  t.same(holderOf(undefined), { issuer: '', name: '' })
  t.end()
})
