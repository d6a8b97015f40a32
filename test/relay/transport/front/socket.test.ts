import { once } from 'node:events'
import { existsSync, lstatSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { echo, frontWith, initialize, limits, post, start, textOf } from './harness.js'

/** Its path must be short. */
const at = (t: Test) => {
  const directory = mkdtempSync(join(tmpdir(), 'customs-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return join(directory, 's')
}

const ask = (socketPath: string, host = 'localhost') =>
  new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const asked = request({
      socketPath, path: '/mcp', method: 'POST', headers: { ...post, host }, agent: false,
    }, response =>
      void textOf(response).then(body => resolve({ status: response.statusCode, body }), reject))
    asked.on('error', reject)
    asked.end(initialize())
  })

const windows = process.platform === 'win32' && 'no such sockets'

t.test('a Unix socket has the configured permissions, and is removed when the front closes', {
  skip: windows,
}, async t => {
  for (const [mode, umask] of [[0o600, 0], [0o660, 0o077]] as const) {
    const socket = at(t)
    const before = process.umask(umask)
    const { front, url } = await start(t, { act: echo, address: { socket, mode } })
    t.equal(process.umask(before), umask, 'the process makes other files as before')
    t.equal(url, `unix:${socket}`)
    t.equal(lstatSync(socket).mode & 0o777, mode)
    t.match(await ask(socket), { status: 200, body: /"id":1/ })
    t.equal((await ask(socket, 'evil.example')).status, 403)
    await front.close(0)
    t.notOk(existsSync(socket))
  }
})

t.test('a Unix socket without a listener is replaced; one in use, or another file, stays', {
  skip: windows,
}, async t => {
  const socket = at(t)
  const dead = createServer().listen(`${socket}-dead`)
  await once(dead, 'listening')
  // Its listener takes away what it made, by name.
  renameSync(`${socket}-dead`, socket)
  await new Promise(resolve => dead.close(resolve))
  t.ok(existsSync(socket))
  await start(t, { act: echo, address: { socket, mode: 0o600 } })
  t.match(await ask(socket), { status: 200 })
  const second = () => frontWith({ address: { socket, mode: 0o600 }, limits, endpoints: new Map() }).listen()
  await t.rejects(second(), { code: 'CANNOT_START', message: new RegExp(`cannot listen on unix:${socket}: ` +
    'the address is in use: .*EADDRINUSE') })
  t.match(await ask(socket), { status: 200 }, 'the first goes on')
  const file = at(t)
  writeFileSync(file, 'kept')
  await t.rejects(
    frontWith({ address: { socket: file, mode: 0o600 }, limits, endpoints: new Map() }).listen(),
    { code: 'CANNOT_START' },
  )
  t.ok(existsSync(file))
})

t.test('a path that is too long for a Unix socket is refused', { skip: windows }, async t => {
  const most = process.platform === 'darwin' ? 103 : 107
  const listen = (socket: string) =>
    frontWith({ address: { socket, mode: 0o600 }, limits, endpoints: new Map() }).listen()
  const longest = at(t).padEnd(most, 'x')
  await start(t, { act: echo, address: { socket: longest, mode: 0o600 } })
  t.match(await ask(longest), { status: 200 })
  await t.rejects(listen(`${longest}x`), {
    code: 'CANNOT_START',
    message: `cannot listen on unix:${longest}x: the path of a socket has at most ${most} bytes`,
  })
})
