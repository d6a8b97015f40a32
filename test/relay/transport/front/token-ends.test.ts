import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Authority, Claims, Unverified } from '#relay/transport/front/authority.js'
import { ManualTimers } from '../timers.js'
import { ask, begin, dial, echo, initialize, limits, post, Reader, start } from './harness.js'

const resource = { audience: 'https://relay.example', issuer: 'https://issuer', scopes: [] }
const claims: Claims =
  { subject: { issuer: 'https://issuer', subject: 'alice', scopes: [] }, audience: ['https://relay.example'] }
const checkMs = 5000

/** What the authority says of the token, at once or later. */
type Say = () => Claims | Promise<Claims | Unverified>
const authorityThat = (check: Say): Authority => ({ resourceAt: () => resource, check })

/** A client with an open stream of a GET, and an open call. */
const opened = async (t: Test, authority: Authority | undefined, token = 't') => {
  const timers = new ManualTimers()
  const { port, front, session } = await start(t, {
    authority, timers, keepAliveMs: 90_000, ownAuthorization: true, tokens: [{ token: 'static' }],
    act: (event, one) => {
      const isCall = event.type === 'frame' && event.frame.message.kind === 'request' && event.frame.message.method === 'tools/call'
      if (!isCall) echo(event, one)
    },
  })
  const headers = { ...post, authorization: `Bearer ${token}` }
  const { headers: { 'mcp-session-id': id } } = await ask(port, { headers, body: initialize() })
  const own = { ...headers, 'mcp-session-id': String(id) }
  const stream = new Reader(await begin(port, { method: 'GET', headers: own }))
  const call = ask(port, { headers: own, body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}' })
    .then(() => 'answered', () => 'cut off')
  const one = await session(0)
  await one.until('frame')
  await one.until('frame')
  const bothEnd = async () => {
    await stream.rest()
    return call
  }
  return { timers, front, stream, bothEnd }
}

t.test('a stream and a call end when their token does, whatever ends it', async t => {
  const ends: readonly (readonly [name: string, say: Say])[] = [
    ['it is not valid any more', () => Promise.resolve('invalid')],
    ['it is for others now', () => ({ ...claims, audience: ['https://other.example'] })],
  ]
  for (const [name, ended] of ends) {
    let say: Say = () => claims
    const { timers, stream, bothEnd } = await opened(t, authorityThat(() => say()))
    timers.fire(checkMs)
    await turn()
    t.equal(stream.ended, false, `${name}: not yet`)
    say = ended
    timers.fire(checkMs)
    t.equal(await bothEnd(), 'cut off', name)
    t.equal(timers.count(checkMs), 0, 'nothing is checked once no response is open')
  }
})

t.test('a reload ends what it no longer admits', async t => {
  const accepts = authorityThat(() => claims)
  const reloads = [
    ['its static token is gone', accepts, 'static', { tokens: [{ token: 'other' }] }],
    ['its issuer is another one', accepts, 't', { authority: authorityThat(() => Promise.resolve('invalid')) }],
    ['another issuer cannot be asked', accepts, 't', { authority: authorityThat(() => Promise.resolve('unavailable')) }],
    ['no issuer is trusted', accepts, 't', { tokens: [{ token: 'static' }] }],
  ] as const
  for (const [name, authority, token, settings] of reloads) {
    const { front, bothEnd } = await opened(t, authority, token)
    front.reload({ limits, ownAuthorization: true, ...settings })
    t.equal(await bothEnd(), 'cut off', name)
  }
  const { front, stream, bothEnd } = await opened(t, accepts)
  front.reload({ limits, ownAuthorization: true, authority: authorityThat(() => Promise.resolve(claims)) })
  await turn()
  t.equal(stream.ended, false, 'another issuer that accepts the token')
  front.reload({ limits, ownAuthorization: true, tokens: [{ token: 'static' }] })
  t.equal(await bothEnd(), 'cut off')
})

t.test('an issuer that is away for a while ends nothing, but not for ever', async t => {
  let say: Say = () => claims
  const { timers, stream, bothEnd } = await opened(t, authorityThat(() => say()))
  const checks = async (times: number) => {
    for (let time = 0; time < times; time++) {
      timers.fire(checkMs)
      await turn()
    }
  }
  say = () => Promise.resolve('unavailable')
  await checks(59)
  say = () => claims
  await checks(1)
  say = () => Promise.resolve('unavailable')
  await checks(60)
  t.equal(stream.ended, false)
  await checks(1)
  t.equal(await bothEnd(), 'cut off')
})

t.test('a target that is no path ends nothing but its own request', async t => {
  const authority = authorityThat(() => claims)
  const { port } = await start(t, { authority: { ...authority, resourceAt: () => ({ ...resource, audience: 'http://127.0.0.1:7411' }) } })
  for (const target of ['*', 'ftp://x', 'x', '?']) {
    const { socket, reader } = await dial(t, port)
    socket.end(`OPTIONS ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)
    t.match(await reader.rest(), /^HTTP\/1\.1 4\d\d /, target)
  }
  t.equal((await ask(port, { headers: { ...post, authorization: 'Bearer t' }, body: initialize() })).status, 401, 'it is there')
})
