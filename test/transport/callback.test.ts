import { connect } from 'node:net'
import t from 'tap'
import { openCallback } from '#transport/callback.js'

const ask = (port: number, head: string): Promise<string> => new Promise((resolve, reject) => {
  let text = ''
  connect(port, '127.0.0.1').setEncoding('utf8').on('data', (part: string) => (text += part))
    .on('end', () => resolve(text.slice(9, 12))).on('error', reject).end(`${head}\r\n\r\n`)
})

void t.test('the listener of a login answers any request target, and only its own host', async t => {
  const seen: string[] = []
  const callback = await openCallback({ port: 0, start: () => 'https://login.example/', answered: answer => {
    seen.push(answer.toString())
    return answer.get('state') === 'mine' ? Promise.resolve('in') : undefined
  } })
  t.teardown(() => callback.close())
  const port = Number(new URL(callback.startUrl).port)
  const host = `Host: 127.0.0.1:${port}`
  const cases = [
    [`GET // HTTP/1.1\r\n${host}`, '404'], [`GET //\\ HTTP/1.1\r\n${host}`, '404'],
    [`GET http://[ HTTP/1.1\r\n${host}`, '404'], [`OPTIONS * HTTP/1.1\r\n${host}`, '404'],
    ['GET / HTTP/1.1\r\nHost: evil.example', '404'], [`POST /callback?state=mine HTTP/1.1\r\n${host}`, '404'],
    [`GET / HTTP/1.1\r\n${host}`, '302'], [`GET /callback?state=other HTTP/1.1\r\n${host}`, '400'],
    [`GET /callback?state=mine&iss=https://a.example/?b HTTP/1.1\r\n${host}`, '200'],
  ] as const
  for (const [head, status] of cases) t.equal(await ask(port, `${head}\r\nConnection: close`), status, head)
  t.same(seen.length, 2)
})
