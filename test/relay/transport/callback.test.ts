import { execFile } from 'node:child_process'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { openCallback } from '#relay/transport/callback.js'

const ask = (port: string, head: string): Promise<string> => new Promise((resolve, reject) => {
  let text = ''
  connect(Number(port), '127.0.0.1').setEncoding('utf8').on('data', (part: string) => (text += part))
    .on('end', () => resolve(text.slice(9, 12))).on('error', reject).end(`${head}\r\n\r\n`)
})

void t.test('the listener of a login answers any request target, and only its own host', async t => {
  const seen: string[] = []
  const callback = await openCallback({ port: 0, start: () => 'https://login.example/', answered: answer => {
    seen.push(answer.toString())
    return answer.get('state') === 'mine' ? Promise.resolve('in') : undefined
  } })
  t.teardown(() => callback.close())
  const { port, pathname } = new URL(callback.startUrl)
  const host = `Host: 127.0.0.1:${port}`
  const cases = [
    [`GET // HTTP/1.1\r\n${host}`, '404'], [`GET //\\ HTTP/1.1\r\n${host}`, '404'],
    [`GET http://[ HTTP/1.1\r\n${host}`, '404'], [`OPTIONS * HTTP/1.1\r\n${host}`, '404'],
    [`GET ${pathname} HTTP/1.1\r\nHost: evil.example`, '404'], [`GET / HTTP/1.1\r\n${host}`, '404'],
    [`POST /callback?state=mine HTTP/1.1\r\n${host}`, '404'],
    [`GET ${pathname} HTTP/1.1\r\n${host}`, '302'], [`GET ${pathname} HTTP/1.1\r\n${host}`, '404'],
    [`GET /callback?state=other HTTP/1.1\r\n${host}`, '400'],
    [`GET /callback?state=mine&iss=https://a.example/?b HTTP/1.1\r\n${host}`, '200'],
  ] as const
  for (const [head, status] of cases) t.equal(await ask(port, `${head}\r\nConnection: close`), status, head)
  t.same(seen.length, 2)
  t.not(new URL(callback.startUrl).pathname, pathname, 'who is told of the page again gets another one')
})

void t.test('another user of the machine neither opens the page of a login nor finishes it', {
  skip: process.platform !== 'linux' || process.getuid?.() !== 0 ? 'only root can start programs of other users' : false,
}, async t => {
  const callback = await openCallback({
    port: 0, start: () => 'https://login.example/', answered: () => Promise.resolve('in'),
  })
  t.teardown(() => callback.close())
  const script = 'fetch(process.argv[1], { redirect: "manual" }).then(({ status }) => console.log(status))'
  for (const url of [callback.startUrl, `${callback.redirectUri}?state=x`]) {
    const as = (uid: number) => promisify(execFile)(process.execPath, ['-e', script, url], { uid, cwd: '/' })
    t.equal((await as(65534)).stdout, '404\n', url)
    t.not((await as(0)).stdout, '404\n', url)
  }
})
