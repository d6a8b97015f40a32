import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { pathText, visible } from '#relay/base/errors.js'
import { cli, scratch } from '../e2e/bridge.js'
import { writeSession } from '../relay/audit/logs.js'

const directory = scratch(t)
const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8', cwd: directory, timeout: 30_000 })

const hostile = 'a\u001b[2J\u0007\nother.ndjson: ok, 9 records\n\u202e.ndjson'

t.test('a printed file name can neither control the terminal nor imitate our output', t => {
  const names = [
    ['audit.ndjson', 'audit.ndjson'],
    ['/tmp/my log (1)/журнал é.ndjson', '/tmp/my log (1)/журнал é.ndjson'],
    ['C:\\logs\\a.ndjson', 'C:\\logs\\a.ndjson'],
    ['a.ndjson: ok, 3 records.ndjson', '"a.ndjson: ok, 3 records.ndjson"'],
    ['a\nb', '"a\\u000ab"'],
    ['\u001b]0;x\u0007', '"\\u001b]0;x\\u0007"'],
    ['a\u202eb\u200b\u{e0041}', '"a\\u202eb\\u200b\\udb40\\udc41"'],
    ['', '""'],
  ] as const
  for (const [name, printed] of names) t.equal(pathText(name), printed)
  t.equal(visible('one\rtwo\u009b'), 'one\\u000dtwo\\u009b')
  t.end()
})

const commands: readonly (readonly string[])[] = [
  ['audit', 'verify', 'folder'], ['audit', 'verify', hostile], ['replay', hostile], ['learn', hostile],
  ['inspect', hostile], ['wrap', '--config', hostile, '--', 'true'],
  ['wrap', '--policy', `./${hostile}`, '--', 'true'],
  ['wrap', '--trust-list', hostile, '--', 'true'], ['wrap', '--lock', hostile, '--', 'true'],
  ['install', '--check', '--client', `./${hostile}`],
]

t.test('no command prints a raw file name in a report or an error', async t => {
  mkdirSync(join(directory, 'folder'))
  await writeSession(join(directory, 'good.ndjson'))
  copyFileSync(join(directory, 'good.ndjson'), join(directory, 'folder', hostile))
  writeFileSync(join(directory, hostile), 'nothing that any command reads')
  for (const command of commands) {
    const { stdout, stderr } = run(...command)
    const said = stdout + stderr
    t.ok(said.includes('\\u001b[2J\\u0007'), `${command[0]} ${command[1]}: ${said}`)
    t.notMatch(said, /[\u0007\u001b\u202e]|^other\.ndjson/m)
  }
})

t.test('an endless device is read no further than the longest file', {
  skip: !existsSync('/dev/zero') && 'no such device here',
}, t => {
  const devices: readonly (readonly [readonly string[], RegExp])[] = [
    [['wrap', '--config', '/dev/zero', '--', 'true'], /longer than 262144 bytes/],
    [['wrap', '--policy', '/dev/zero', '--', 'true'], /longer than 262144 bytes/],
    [['wrap', '--trust-list', '/dev/zero', '--', 'true'], /longer than 262144 bytes/],
    [['wrap', '--lock', '/dev/zero', '--', 'true'], /it is no file/],
    [['replay', '/dev/zero'], /a line is too long/],
    [['learn', '/dev/zero'], /a line is too long/],
  ]
  for (const [command, message] of devices) {
    const given = ['--max-old-space-size=200', cli, ...command]
    const { status, stderr } = spawnSync(
      'sh', ['-c', 'ulimit -v 6000000; exec "$@"', 'sh', process.execPath, ...given],
      { encoding: 'utf8', timeout: 30_000 },
    )
    t.equal(status, 2, command.join(' '))
    t.match(stderr, message)
  }
  t.end()
})
