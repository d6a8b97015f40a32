import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { cannotListen, reasonOf } from '#relay/base/errors.js'
import { portOf } from '#test/kit/http.js'
import { cli, demo, run } from './desk/inspect/start.js'
import { lineOf, start } from './e2e/harness.js'

const plain = { FORCE_COLOR: undefined, NO_COLOR: undefined }

t.test('an error of the system is said in words, whatever command meets it, with what to do', async t => {
  const folder = t.testdir()
  const at = (name: string) => join(folder, name)
  writeFileSync(at('file'), '')
  writeFileSync(at('empty.yaml'), '')
  writeFileSync(at('none.yaml'), 'servers: {}')
  writeFileSync(at('capture.ndjson'), '{"kind":"capture"}\n')
  symlinkSync('circle', at('circle'))
  mkdirSync(at('folder'))
  const port = await portOf(t, createServer())
  const beginning = 'servers: \\{ NAME: \\{ command: \\[npx, -y, PACKAGE\\] \\} \\}'
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    [
      'a file that is not there', ['wrap', '--config', at('a.yaml')],
      /a\.yaml: .*there is no such file or folder \(ENOENT\)/,
    ],
    [
      'a folder', ['wrap', '--config', at('folder')],
      /folder: cannot be read: it is a folder: name a file \(EISDIR\)/,
    ],
    [
      'a file in a file', ['wrap', '--config', at('file/a')],
      /a part of the path is a file, and no folder \(ENOTDIR\)/,
    ],
    ['a circle of links', ['wrap', '--config', at('circle')], /its links lead in a circle \(ELOOP\)/],
    ['a long name', ['wrap', '--config', at('x'.repeat(300))], /the name is too long \(ENAMETOOLONG\)/],
    [
      'a log that is a folder', ['wrap', '--audit', at('folder'), ...demo],
      /the audit log .*folder cannot be written: it is a folder: name a file \(EISDIR\); name another file \(--audit FILE\), or none \(--audit none\)\n$/,
    ],
    [
      'a capture', ['audit', 'report', '-o', '/dev/full', at('capture.ndjson')],
      /no line is a record of an audit log \(captures are for mcp-customs replay and learn\)/,
    ],
    [
      'a port in use', ['serve', '--audit', 'none', '--listen', `127.0.0.1:${port}`, ...demo],
      /cannot listen on 127\.0\.0\.1:\d+: the address is in use: end the program that listens there, or choose another port \(EADDRINUSE\)/,
    ],
    [
      'an admin port in use',
      ['serve', '--audit', 'none', '--listen', '127.0.0.1:0', '--admin', `127.0.0.1:${port}`, ...demo],
      /the admin listener cannot listen on 127\.0\.0\.1:\d+: the address is in use: .*\(EADDRINUSE\)/,
    ],
    [
      'the page\'s port in use', ['ui', '--port', String(port), folder],
      /the page cannot listen on .*: the address is in use: /,
    ],
    [
      'an address of another machine', ['serve', '--audit', 'none', '--listen', '192.0.2.1:0', ...demo],
      /this machine has no such address: 127\.0\.0\.1 is for itself alone, .*\(EADDRNOTAVAIL\)/,
    ],
    [
      'a server that refuses', ['inspect', 'http://127.0.0.1:1/mcp'],
      /http:\/\/127\.0\.0\.1:1\/mcp: the server refused the connection/,
    ],
    [
      'an empty configuration', ['serve', '--config', at('empty.yaml')],
      new RegExp(`the file is empty: begin with "${beginning}"`),
    ],
    [
      'no server', ['serve', '--config', at('none.yaml')],
      new RegExp(`no server is configured: write "${beginning}"`),
    ],
    [
      'a shell without completion', ['completion'],
      /completion: there is a script for bash, zsh and fish, and none for nu/,
    ],
    [
      'no log yet', ['audit', 'show'],
      /no relay of yours has written a log yet: put one in front of .*mcp-customs install/,
    ],
    ['no log for tools', ['tools'], /no relay of yours has written a log yet/],
  ]
  for (const [name, words, message] of cases) {
    const env = { ...plain, SHELL: '/usr/bin/nu', XDG_STATE_HOME: at('nowhere') }
    const { code, stderr, stdout } = await run(t, words, env)
    t.strictSame([code, stdout], [2, ''], name)
    t.match(stderr, message, name)
  }
})

t.test('mcp-customs alone lists the commands', async t => {
  const { code, stdout, stderr } = await run(t, [], plain)
  t.strictSame([code, stderr], [0, ''])
  for (const command of ['wrap', 'serve', 'install', 'tools']) t.match(stdout, `mcp-customs ${command}`)
})

t.test('a gateway says which endpoints there are, and a path that is none says so', async t => {
  const file = join(t.testdir(), 'customs.json')
  const server = { command: demo.slice(-2) }
  writeFileSync(file, JSON.stringify({ servers: { one: server, two: server }, audit: { file: 'none' } }))
  const relay = start(t, process.execPath, [cli, 'serve', '--config', file, '--listen', '127.0.0.1:0'])
  const [, paths] = await lineOf(relay.child.stderr ?? process.stdin, /mcp-customs serves (.*)/)
  t.equal(paths, '/one/mcp, /two/mcp')
  const [, url = ''] = /listening on (\S+)/.exec(relay.stderr()) ?? []
  const told = lineOf(
    relay.child.stderr ?? process.stdin,
    /no endpoint at this path: a server is at \/mcp, or in a gateway at \/NAME\/mcp/,
  )
  const answer = await fetch(`${url}/three/mcp`, { method: 'POST', body: '{}' })
  t.equal(answer.status, 404)
  t.ok(await told)
})

t.test('a short token is doubted', async t => {
  const file = join(t.testdir(), 'tokens')
  writeFileSync(file, 'abc\n')
  const words = ['--audit', 'none', '--listen', '127.0.0.1:0', '--token-file', file, ...demo]
  const relay = start(t, process.execPath, [cli, 'serve', ...words])
  await lineOf(relay.child.stderr ?? process.stdin, /a token has fewer than 16 characters, and can be guessed/)
  t.notMatch(relay.stderr(), 'abc')
})

t.test('errors that no test can provoke as root', t => {
  const error = (code: string) => Object.assign(new Error('m'), { code })
  t.equal(reasonOf(error('EACCES')), 'no permission: see who owns it, and its mode (EACCES)')
  t.equal(
    cannotListen('cannot listen on 0.0.0.0:80', 80, error('EACCES')).message,
    'cannot listen on 0.0.0.0:80: ports below 1024 need root: choose a higher one (EACCES)',
  )
  t.match(cannotListen('x', 8080, error('EACCES')).message, 'no permission')
  t.equal(reasonOf(error('ESTRANGE')), 'ESTRANGE')
  t.equal(reasonOf('no error'), 'unknown reason')
  const source = readFileSync(new URL('../src/relay/base/errors.ts', import.meta.url), 'utf8')
  for (const [, code = ''] of source.matchAll(/^ {2}\['(E[A-Z_]+)'/gm)) {
    t.match(reasonOf(error(code)), new RegExp(`^[a-z].* \\(${code}\\)$`))
  }
  t.end()
})
