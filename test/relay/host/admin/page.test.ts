import { get, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { createAdminListener } from '#relay/host/admin/listener.js'
import { pageRoutes, type PageViewer } from '#relay/host/admin/page.js'

const token = 'a-token-that-was-printed'

const start = async (t: Test) => {
  const viewers = new Set<PageViewer>()
  const feed = {
    get viewers() { return viewers.size },
    add: (viewer: PageViewer) => {
      viewers.add(viewer)
      viewer.send('{"hello":1}')
    },
    remove: (viewer: PageViewer) => void viewers.delete(viewer),
    drained: () => undefined,
  }
  const page = pageRoutes({ token, html: () => Promise.resolve('<!doctype html>'), feed })
  const none = { status: 404, type: 'text/plain', body: 'none' }
  const listener = createAdminListener({
    name: 'the page', host: '127.0.0.1', port: 0, allowHosts: () => [],
    answer: (request, response) => page(request, response) ?? Promise.resolve(none),
  })
  const url = await listener.listen()
  t.teardown(() => listener.close())
  return { url, viewers, listener }
}

const ask = (url: string, headers: Record<string, string> = {}) =>
  new Promise<IncomingMessage>((resolve, reject) =>
    get(url, { headers, agent: false }, resolve).on('error', reject))

const cases: readonly (readonly [string, string, Record<string, string>, number])[] = [
  ['its address, as it was printed', `/?token=${token}`, {}, 200],
  ['itself, as a browser asks', `/?token=${token}`, { origin: 'OWN' }, 200],
  ['no token', '/', {}, 401],
  ['an empty one', '/?token=', {}, 401],
  ['another one', `/?token=${token}x`, {}, 401],
  ['what it is told, without the token', '/events', {}, 401],
  ['what it is told, with another', '/events?token=x', {}, 401],
  [
    'the token as a credential', '/events', { authorization: `Bearer ${token}`, cookie: `token=${token}` },
    401,
  ],
  ['another page', `/events?token=${token}`, { origin: 'https://evil.example' }, 403],
  ['a page without an origin', `/?token=${token}`, { origin: 'null' }, 403],
  ['the same host by another port', `/events?token=${token}`, { origin: 'http://127.0.0.1:1' }, 403],
  ['a name that was rebound', `/?token=${token}`, { host: 'evil.example' }, 403],
  [
    'a name that was rebound, of the same origin', `/events?token=${token}`,
    { host: 'evil.example', origin: 'http://evil.example' }, 403,
  ],
  ['what is not there', `/other?token=${token}`, {}, 404],
]

for (const [name, path, headers, status] of cases) {
  t.test(`${name}: ${status}`, async t => {
    const { url, viewers } = await start(t)
    const response =
      await ask(url + path, { ...headers, ...(headers['origin'] === 'OWN' && { origin: url }) })
    t.equal(response.statusCode, status)
    t.equal(viewers.size, 0)
    t.equal(response.headers['set-cookie'], undefined)
    if (status === 200) {
      t.match(response.headers, {
        'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store',
        'content-security-policy': 'frame-ancestors \'none\'',
      })
    }
    response.destroy()
  })
}

t.test('events come as they are sent, and who goes away is let go of', async t => {
  const { url, viewers } = await start(t)
  const response = await ask(`${url}/events?token=${token}`, { origin: url })
  t.match(response.headers, { 'content-type': 'text/event-stream' })
  const first =
    await new Promise<string>(resolve => response.once('data', (chunk: Buffer) => resolve(chunk.toString())))
  t.equal(first, 'data: {"hello":1}\n\n')
  t.equal(viewers.size, 1)
  response.destroy()
  while (viewers.size > 0) await new Promise(resolve => setImmediate(resolve))
})

t.test('there are places for so many, and all are cut off when it closes', async t => {
  const { url, listener } = await start(t)
  const streams = await Promise.all(Array.from({ length: 32 }, () => ask(`${url}/events?token=${token}`)))
  t.equal((await ask(`${url}/events?token=${token}`)).statusCode, 503)
  const ended =
    streams.map(stream => new Promise(resolve => stream.on('error', () => undefined).on('close', resolve)))
  await listener.close()
  await Promise.all(ended)
})
