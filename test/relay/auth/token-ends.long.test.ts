import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { postTo } from '#test/kit/http.js'
import { scratch, scripted } from '../../e2e/bridge.js'
import { answer, initializeOf, legacy, on, request } from '../../e2e/cases.js'
import { serve } from '../../e2e/http-bridges.js'
import { ForgingIssuer } from './issuers.js'

const audience = 'https://gateway.example.com'
const initialize = initializeOf()
const call = request(legacy, '2', 'tools/call', '"name":"x","arguments":{}')
/** The server leaves calls unanswered. */
const reactions = [on('initialize', answer('$ID',
  `{"protocolVersion":"${legacy}","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`))]

const gateway = async (t: Test, auth: object) => {
  const directory = scratch(t)
  const config = join(directory, 'customs.json')
  const { command } = scripted(directory, reactions)
  const write = (auth: object) =>
    writeFileSync(config, JSON.stringify({
      version: 1, auth, servers: { x: { command, inheritEnv: true } }, audit: { file: 'none' },
    }))
  write(auth)
  const { relay, url } = await serve(t, ['--config', config, '--log-level', 'info'], [])
  const post = (token: string, body: string, id?: string) => postTo(
    `${url}/mcp`, body, { authorization: `Bearer ${token}`, ...(id !== undefined && { 'mcp-session-id': id }) },
  )
  return {
    post,
    reload: (auth: object) => {
      write(auth)
      relay.child.kill('SIGHUP')
    },
    /** Opens a stream and a call. @returns whether both have ended without an answer, once they have */
    open: async (token: string) => {
      const id = (await post(token, initialize)).headers.get('mcp-session-id') ?? ''
      const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'mcp-session-id': id }
      const stream = await fetch(`${url}/mcp`, { headers })
      const texts = [stream.text(), post(token, call, id).then(response => response.text())]
      const found = Promise.all(texts.map(text => text.catch(() => '')))
      return { ended: found.then(all => all.every(text => !text.includes('"id":2'))) }
    },
  }
}

const bounds = { timeout: 150_000 }

t.test('streams and calls end when their token does', { ...bounds, jobs: 3 }, t => {
  t.test('it expires', bounds, async t => {
    const issuer = await ForgingIssuer.open(t)
    const relay = await gateway(t, { issuer: issuer.url, audience })
    const token = await issuer.token({ aud: audience, exp: Math.floor(Date.now() / 1000) + 5 })
    t.equal(await (await relay.open(token)).ended, true)
    t.equal((await relay.post(token, initialize)).status, 401)
  })
  t.test('the issuer says that it is not active any more', bounds, async t => {
    const issuer = await ForgingIssuer.open(t)
    issuer.documents.set('/introspect', { active: true, sub: 'carol', aud: audience })
    const introspection = { url: `${issuer.url}/introspect`, clientId: 'relay', clientSecret: 'a' }
    const relay = await gateway(t, { issuer: issuer.url, audience, introspection })
    const opened = relay.open('opaque')
    while (issuer.fetched.length === 0) await new Promise(setImmediate)
    issuer.documents.set('/introspect', { active: false })
    t.equal(await (await opened).ended, true)
  })
  t.test('a reload removes it', bounds, async t => {
    const relay = await gateway(t, { tokens: { a: 'the-first-token-of-this', b: 'the-second-token-of-this' } })
    const first = await relay.open('the-first-token-of-this')
    const second = await relay.open('the-second-token-of-this')
    let isOver = false
    void second.ended.then(() => (isOver = true))
    relay.reload({ tokens: { b: 'the-second-token-of-this' } })
    t.equal(await first.ended, true)
    t.equal(isOver, false, 'the stream of another token goes on')
  })
  t.end()
})
