import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync, chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync,
  symlinkSync, truncateSync, utimesSync, writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findLogs } from '#relay/audit/read/logs.js'
import { verify } from '#relay/audit/read/verify.js'
import { entry, started } from './entries.js'
import { clock, open, records, writeSession } from './logs.js'

t.test('a chain goes on over restarts', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  for (let run = 0; run < 3; run++) await writeSession(file)
  t.strictSame(records(file).map(({ seq }) => seq), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  t.match(verify([file]), { ok: true, records: 11, open: { sessions: 0 } })
})

t.test('a chain goes on after a record that is longer than a piece of the file', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const audit = await open(file)
  audit.write(started)
  audit.write(entry({ result: Buffer.from(JSON.stringify('x'.repeat(1_000_000))) }), 'full')
  audit.close()
  await writeSession(file)
  t.match(verify([file]), { ok: true, records: 6, open: { sessions: 1 } })
})

t.test('a line that a crash cut short stays, the chain goes on, and the log is recovered', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  await writeSession(file)
  truncateSync(file, statSync(file).size - 40)
  t.match(
    verify([file]),
    { ok: false, recovered: 0, first: { line: 3, reason: 'half-cut or overwritten: it is not JSON' } },
    'nobody has gone on yet',
  )
  await writeSession(file)
  await writeSession(file)
  t.match(verify([file]), {
    ok: true, records: 10, problems: 0, recovered: 1, open: { sessions: 1 },
  })
  t.strictSame(readFileSync(file, 'utf8').split('\n').length, 12)
})

t.test('a first line that a crash cut short, too', async t => {
  for (const length of [1, 5, 40]) {
    const file = join(t.testdir(), 'audit.ndjson')
    await writeSession(file)
    truncateSync(file, length)
    await writeSession(file)
    t.match(verify([file]), { ok: true, records: 4, recovered: 1 })
  }
})

t.test('a line that lost only its end is healed', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  await writeSession(file)
  truncateSync(file, statSync(file).size - 1)
  t.match(verify([file]), { ok: false, first: { line: 3, reason: 'half-cut: its line end is missing' } })
  await writeSession(file)
  t.match(verify([file]), { ok: true, records: 7 })
})

t.test('a file that is no audit log is left alone', async t => {
  const file = join(t.testdir({ 'notes.txt': 'my notes\n' }), 'notes.txt')
  await t.rejects(open(file), {
    code: 'CANNOT_AUDIT',
    message: `the audit log ${file} cannot be written: it holds something else than an audit log`,
  })
  t.equal(readFileSync(file, 'utf8'), 'my notes\n')
  t.notOk(existsSync(`${file}.lock`))
})

const writer = fileURLToPath(new URL('../../../test/fixtures/audit/writer.mjs', import.meta.url))

interface Writer {
  readonly child: ChildProcess
  /** The file that it got, or why it got none. */
  readonly said: string
}

const startWith = async ([command = '', ...args]: readonly string[]): Promise<Writer> => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, said: said.toString().trim() }
}

const start = (file: string, ...more: readonly string[]): Promise<Writer> =>
  startWith([process.execPath, writer, file, ...(more.length === 0 ? ['50'] : more)])

const gone = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

const finish = async ({ child }: Writer): Promise<void> => {
  child.stdin?.end()
  await gone(child)
}

t.test('a named file has one writer: another relay is told so', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const said = (await Promise.all([start(file), start(file), start(file)]))
  const writing = said.filter(one => one.said === file)
  t.equal(writing.length, 1)
  const [{ child } = { child: undefined }] = writing
  for (const one of said) {
    if (one.child !== child) {
      t.equal(
        one.said,
        `the audit log ${file} cannot be written: process ${child?.pid} on ${hostname()} is writing it, ` +
          'and a log that is named has one writer',
      )
    }
  }
  await t.rejects(open(file), { code: 'CANNOT_AUDIT', exitCode: 2, message: /has one writer$/ })
  await Promise.all(said.map(finish))
  t.match(verify([file]), { ok: true, records: 52, open: { sessions: 0 } })
  await writeSession(file)
  t.match(verify([file]), { ok: true, records: 56 })
})

t.test('two names of one file are one file, also in one process', async t => {
  const directory = t.testdir()
  const file = join(directory, 'audit.ndjson')
  const first = await open(file)
  symlinkSync(file, join(directory, 'other.ndjson'))
  await t.rejects(open(join(directory, 'other.ndjson')), { code: 'CANNOT_AUDIT', message: /has one writer$/ })
  first.close()
  await writeSession(join(directory, 'other.ndjson'))
})

t.test('the file of a relay that was killed is taken over', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const { child } = await start(file, '50', 'crash')
  await gone(child)
  t.ok(existsSync(`${file}.lock`), 'its claim is still there')
  await writeSession(file)
  t.match(verify([file]), { ok: true, records: 55, open: { sessions: 1 } })
  t.notOk(existsSync(`${file}.lock`))
})

const dead = JSON.stringify({ id: 'x', pid: process.pid, host: hostname() })

const owners = [['of an owner that gives no sign, also if its process lives', dead], ['that was never finished', '']] as const

// An owner that gives no sign is waited for: two of them at once.
t.jobs = owners.length
for (const [name, owner] of owners) {
  t.test(`a claim ${name} is taken over`, { buffered: true }, async t => {
    const file = join(t.testdir(), 'audit.ndjson')
    writeFileSync(`${file}.lock`, owner)
    await writeSession(file)
    t.notOk(existsSync(`${file}.lock`))
  })
}

t.test('the claim of a relay that is stopped is taken over, and the relay finds that out', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const stopped = await start(file)
  // Not between its look at the claim and a write: nothing could tell it then.
  while (readFileSync(file, 'utf8').split('\n').length <= 51) await new Promise(setImmediate)
  stopped.child.kill('SIGSTOP')
  const audit = await open(file)
  stopped.child.kill('SIGCONT')
  audit.write(started)
  audit.close()
  stopped.child.stdin?.end()
  await gone(stopped.child)
})

t.test('an owner in another container, that gives signs, is respected', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const lock = `${file}.lock`
  writeFileSync(lock, JSON.stringify({ id: 'x', pid: process.pid, host: 'pod-1' }))
  let time = 1_000_000_000
  const alive = setInterval(() => utimesSync(lock, ++time, time), 50)
  try {
    await t.rejects(open(file), {
      code: 'CANNOT_AUDIT',
      message: /process \d+ on pod-1 is writing it, and a log that is named has one writer$/,
    })
  } finally {
    clearInterval(alive)
  }
})

const unshare = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc']
const containers = spawnSync('unshare', [...unshare, 'true']).status === 0

t.test('of two containers with one host name and equal process ids, one writes', {
  skip: !containers && 'no namespaces here',
}, async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const inContainer = () => startWith(['unshare', ...unshare, process.execPath, writer, file, '50'])
  const first = await inContainer()
  t.equal(first.said, file)
  const second = await inContainer()
  t.match(second.said, /process 1 on .* is writing it, and a log that is named has one writer$/)
  await Promise.all([first, second].map(finish))
  t.match(verify([file]), { ok: true, records: 52, open: { sessions: 0 } })
})

t.test('a claim that somebody took from us is the end', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const time = clock('2026-11-21T10:00:00Z')
  const audit = await open(file, { now: time.now })
  audit.write(started)
  writeFileSync(`${file}.lock`, 'somebody else')
  time.pass(1000)
  t.throws(() => audit.write(started), { code: 'CANNOT_AUDIT', message: /another relay has taken it over$/ })
  t.throws(() => audit.close(), { code: 'CANNOT_AUDIT' })
  t.equal(readFileSync(`${file}.lock`, 'utf8'), 'somebody else', 'it is not ours to remove')
})

t.test('a file that others may write is theirs no more; who may read it, may go on', async t => {
  const file = join(t.testdir({ 'audit.ndjson': '' }), 'audit.ndjson')
  chmodSync(file, 0o666)
  await writeSession(file)
  t.equal(statSync(file).mode & 0o777, 0o640)
})

for (const [name, make] of [
  ['a link that leads nowhere', (lock: string) => symlinkSync('nowhere', lock)],
  ['a link to a device', (lock: string) => symlinkSync('/dev/zero', lock)],
  ['a folder', (lock: string) => mkdirSync(lock)],
] as const) {
  t.test(`${name} in the place of a claim is an error`, async t => {
    const file = join(t.testdir(), 'audit.ndjson')
    make(`${file}.lock`)
    await t.rejects(
      open(file), { code: 'CANNOT_AUDIT', message: /\.lock is no claim of a relay: remove it$/ },
    )
  })
}

t.test('of many who find a dead claim at once, one takes it', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  writeFileSync(`${file}.lock`, dead)
  const said = await Promise.all(Array.from({ length: 5 }, () => start(file)))
  t.equal(said.filter(one => one.said === file).length, 1)
  await Promise.all(said.map(finish))
  t.strictSame(readdirSync(join(file, '..')), ['audit.ndjson'])
  t.match(verify([file]), { ok: true, records: 52 })
})

t.test('the claim of one who died as it took over a dead claim is taken over, too', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  writeFileSync(`${file}.lock`, dead)
  writeFileSync(
    `${file}.lock.${createHash('sha256').update(dead).digest('hex').slice(0, 16)}.lock`,
    JSON.stringify({ id: 'y', pid: process.pid, host: hostname() }),
  )
  await writeSession(file)
  t.strictSame(readdirSync(join(file, '..')), ['audit.ndjson'])
})

t.test('zeros at the end, as a power loss leaves them, are recovered', async t => {
  for (const cut of [0, 40]) {
    const file = join(t.testdir(), 'audit.ndjson')
    await writeSession(file)
    truncateSync(file, statSync(file).size - cut)
    appendFileSync(file, Buffer.alloc(4096))
    t.match(verify([file]), { ok: true, recovered: 1 }, 'also where nobody goes on')
    await writeSession(file)
    t.match(verify([file]), { ok: true, records: cut === 0 ? 7 : 6, recovered: 1 })
  }
})

t.test('a copy beside a log is judged on its own', async t => {
  const folder = t.testdir()
  const file = join(folder, 'audit.ndjson')
  await writeSession(file, { maxBytes: 600 })
  const before = (await findLogs([folder]))[0] ?? []
  for (const one of before) copyFileSync(one, join(folder, `copy of ${basename(one)}`))
  copyFileSync(file, `${file}.bak`)
  await writeSession(file)
  const results = (await findLogs([folder])).map(log => verify(log))
  t.equal(results.length, 1 + before.length)
  for (const result of results) t.match(result, { ok: true })
})
