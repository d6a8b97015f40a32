import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { request } from 'node:https'
import { connect } from 'node:tls'
import t from 'tap'
import { echo, initialize, limits, post, start } from './harness.js'

t.test('new authorities of client certificates apply at once, also to open connections', async t => {
  const pem = (name: string) =>
    readFileSync(new URL(`../../../test/fixtures/tls/${name}.pem`, import.meta.url))
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
