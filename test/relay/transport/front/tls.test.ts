import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { connect } from 'node:tls'
import t from 'tap'
import { owning } from '#relay/transport/frames.js'
import { echo, frameOf, initialize, limits, post, start, textOf } from './harness.js'

const pem = (name: string) => readFileSync(new URL(`../../../../test/fixtures/tls/${name}.pem`, import.meta.url))

for (const scheme of ['http', 'https']) {
  t.test(`long frames whose memory is freed arrive whole at many clients (${scheme})`, async t => {
    const answer = (key: string) => `{"jsonrpc":"2.0","id":${key},"result":{"content":["${key.repeat(500_000)}"]}}`
    const { port } = await start(t, {
      act: (event, { transport }) => {
        if (event.type !== 'frame' || event.frame.message.kind !== 'request') return
        transport.send(event.exchange, owning(frameOf(answer(event.frame.message.key))))
      },
      ...(scheme === 'https' && { tls: { cert: pem('cert'), key: pem('key') } }),
    })
    const ask = (id: number) => new Promise<string>((resolve, reject) => {
      const asked = (scheme === 'https' ? request : plainRequest)({
        host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: post, rejectUnauthorized: false,
      }, response => void textOf(response).then(resolve, reject))
      asked.on('error', reject)
      asked.end(initialize(id))
    })
    for (let round = 0; round < 3; round++) {
      const texts = await Promise.all(Array.from({ length: 10 }, (_, id) => ask(id)))
      t.ok(texts.every((text, id) => text === answer(String(id))))
    }
  })
}

t.test('new authorities of client certificates apply at once, also to open connections', async t => {
  const own = { cert: pem('cert'), key: pem('key') }
  const { port, front } = await start(t, { act: echo, tls: own })
  const asks = (client: object) => new Promise<number | undefined>((resolve, reject) => {
    const asked = request({
      host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: post, rejectUnauthorized: false,
      agent: false, ...client,
    }, response => {
      response.resume()
      resolve(response.statusCode)
    })
    asked.on('error', reject)
    asked.end(initialize())
  })
  t.equal(await asks({}), 200)
  const open = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(open, 'secureConnect')
  open.on('error', () => undefined)
  const cut = new Promise(resolve => open.resume().on('close', resolve))
  front.reload({ limits, tls: { ...own, ca: own.cert } })
  await cut
  await t.rejects(asks({}))
  t.equal(await asks(own), 200)
  front.reload({ limits, tls: own })
  t.equal(await asks({}), 200)
})
