import {
  appendFileSync, copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync,
  truncateSync, utimesSync, writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { mock } from 'node:test'
import t from 'tap'
import { findLogs } from '#relay/audit/read/logs.js'
import { verify } from '#relay/audit/read/verify.js'
import { called, ended, entry, started } from './entries.js'
import { clock, listener, open, records, writeSession } from './logs.js'

const hour = 3_600_000

t.test('a file that is full is followed by the next, and the chain goes on', async t => {
  const folder = t.testdir()
  const file = join(folder, 'audit.ndjson')
  const time = clock('2026-11-21T10:00:00Z')
  const audit = await open(file, { maxBytes: 4096, now: time.now })
  audit.write(started)
  for (let at = 0; at < 40; at++) {
    time.pass(1)
    audit.write(called)
  }
  audit.write(ended)
  audit.close()
  const files = readdirSync(folder).sort()
  t.ok(files.length > 3)
  t.equal(files.at(-1), 'audit.ndjson')
  for (const name of files.slice(0, -1)) {
    t.match(name, /^audit\.2026-11-21T10-00-00\.\d{3}Z\.ndjson$/)
    t.ok(statSync(join(folder, name)).size < 4096 + 1000)
    t.match(records(join(folder, name)).at(-1), { event: 'audit/checkpoint', reason: 'rotation' })
  }
  const [{ hash } = {}] = records(join(folder, files[0] ?? ''))
  for (const name of files.slice(1)) t.match(
    records(join(folder, name))[0], { event: 'audit/checkpoint', reason: 'continuation', log: hash },
  )
  const [log = []] = await findLogs([folder])
  t.strictSame(log.map(one => basename(one)), files)
  t.match(verify(log), {
    ok: true, records: 42 + 2 * (files.length - 1), earlier: 0, open: { sessions: 0, file: false },
  })
})

const periods = [
  ['hourly', [0, hour / 2, hour / 2, hour], 3],
  ['daily', [0, 12 * hour, 11 * hour, hour, 23 * hour], 2],
  ['never', [0, 40 * 24 * hour], 1],
] as const

for (const [rotate, steps, files] of periods) {
  t.test(`a log that is rotated ${rotate} begins a file when the clock of UTC says so`, async t => {
    const folder = t.testdir()
    const time = clock('2026-11-21T00:00:00Z')
    const audit = await open(join(folder, 'audit.ndjson'), { rotate, now: time.now })
    for (const step of steps) {
      time.pass(step)
      audit.write(called)
    }
    audit.close()
    t.equal(readdirSync(folder).length, files)
    const [log = []] = await findLogs([folder])
    t.match(verify(log), { ok: true, records: steps.length + 2 * (files - 1) })
  })
}

t.test('the period of a log that is gone on with is that of its last record', async t => {
  const folder = t.testdir()
  const file = join(folder, 'audit.ndjson')
  const time = clock('2026-11-21T10:00:00Z')
  await writeSession(file, { rotate: 'daily', now: time.now })
  time.pass(hour)
  await writeSession(file, { rotate: 'daily', now: time.now })
  t.equal(readdirSync(folder).length, 1)
  time.pass(24 * hour)
  await writeSession(file, { rotate: 'daily', now: time.now })
  t.equal(readdirSync(folder).length, 2)
})

t.test('of those before the current one, so many stay as were asked for', async t => {
  for (const keep of [0, 1, 3]) {
    const folder = t.testdir()
    const file = join(folder, 'audit.ndjson')
    const time = clock('2026-11-21T10:00:00Z')
    const audit = await open(file, { maxBytes: 4096, keep, now: time.now })
    for (let at = 0; at < 60; at++) {
      time.pass(1)
      audit.write(called)
    }
    audit.close()
    t.equal(readdirSync(folder).length, keep + 1)
    const [log = []] = await findLogs([folder])
    const { ok, earlier, records: count } = verify(log)
    t.equal(ok, true)
    t.equal(earlier + count, records(file).at(-1)?.seq)
  }
})

t.test('a process has files of its own one after the other as well', async t => {
  const folder = t.testdir()
  const time = clock('2026-11-21T10:00:00Z')
  const audit =
    await open(undefined, { maxBytes: 4096, keep: 2, environment: { XDG_STATE_HOME: folder }, now: time.now })
  for (let at = 0; at < 60; at++) {
    time.pass(1)
    audit.write(called)
  }
  audit.close()
  t.equal(readdirSync(join(folder, 'mcp-customs')).length, 3)
  t.match((await findLogs([folder])).map(log => verify(log)), [{ ok: true }])
})

t.test('a restart after rotation goes on where it ended, also when the crash came between two files', async t => {
  const directory = t.testdir({ whole: {}, crashed: {} })
  const [folder, crashed] = [join(directory, 'whole'), join(directory, 'crashed')]
  const time = clock('2026-11-21T10:00:00Z')
  const audit = await open(join(folder, 'audit.ndjson'), { maxBytes: 4096, now: time.now })
  while (readdirSync(folder).filter(name => name.endsWith('.ndjson')).length === 1) {
    time.pass(1)
    audit.write(called)
  }
  audit.close()
  for (const name of readdirSync(folder)) if (name !== 'audit.ndjson') copyFileSync(
    join(folder, name), join(crashed, name),
  )
  for (const where of [folder, crashed]) {
    await writeSession(join(where, 'audit.ndjson'), { now: time.now })
    const [log = [], ...others] = await findLogs([where])
    t.equal(others.length, 0)
    t.match(verify(log), { ok: true, earlier: 0 })
  }
})

t.test('a file of the log that is missing is named', async t => {
  const folder = t.testdir()
  const time = clock('2026-11-21T10:00:00Z')
  const audit = await open(join(folder, 'audit.ndjson'), { maxBytes: 4096, now: time.now })
  for (let at = 0; at < 40; at++) {
    time.pass(1)
    audit.write(called)
  }
  audit.close()
  const files = readdirSync(folder).sort().map(name => join(folder, name))
  const [, second, third] = files
  t.match(verify(files.filter(name => name !== second)), {
    ok: false, first: { file: third, line: 1, reason: /records are missing before it/ },
  })
  t.match(verify(files.slice(1)), { ok: true, earlier: records(files[0] ?? '').length })
  t.match(verify(files.slice(0, -1)), { ok: true, open: { file: true } })
})

const losses = [
  ['removed', file => rmSync(file), /it is not there any more: .*\(ENOENT\)$/],
  ['moved away', file => renameSync(file, `${file}.old`), /it is not there any more: .*\(ENOENT\)$/],
  [
    'replaced',
    file => { const text = readFileSync(file); renameSync(file, `${file}.old`); writeFileSync(file, text) },
    /another file has taken its place$/,
  ],
  ['cut', file => truncateSync(file, 10), /it was cut$/],
  ['emptied', file => truncateSync(file, 0), /it was cut$/],
  [
    'written to by somebody else', file => appendFileSync(file, readFileSync(file)),
    /somebody else writes to it$/,
  ],
] as const satisfies readonly (readonly [string, (file: string) => void, RegExp])[]

for (const [name, lose, message] of losses) {
  for (const own of [false, true]) {
    t.test(`${own ? 'an own' : 'a named'} log that is ${name} under us is an error within a second, and from then on`, async t => {
      const folder = t.testdir()
      const time = clock('2026-11-21T10:00:00Z')
      const audit = await open(own ? undefined : join(folder, 'audit.ndjson'), {
        environment: { XDG_STATE_HOME: folder }, now: time.now,
      })
      const { file = '' } = audit
      audit.write(started)
      lose(file)
      time.pass(1000)
      t.throws(() => audit.write(called), { code: 'CANNOT_AUDIT', message })
      t.throws(() => audit.write(called), { code: 'CANNOT_AUDIT', message })
      t.throws(() => audit.close(), { code: 'CANNOT_AUDIT', message })
      t.notOk(existsSync(`${file}.lock`), 'the claim is given back all the same')
    })
  }
}

t.test('the operator is told while nobody writes, once', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const { log, warnings } = listener()
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const audit = await open(file, { log })
  audit.write(entry())
  rmSync(file)
  mock.timers.tick(3500)
  t.match(warnings, [/it is not there any more/])
  t.equal(warnings.length, 1)
  t.throws(() => audit.close(), { code: 'CANNOT_AUDIT' })
})

t.test('files go by their records: after the clock went back none of the newest is removed', async t => {
  const folder = t.testdir()
  const file = join(folder, 'audit.ndjson')
  const time = clock('2026-11-21T10:00:00Z')
  const audit = await open(file, { maxBytes: 1500, keep: 4, now: time.now })
  for (let at = 0; at < 40; at++) {
    if (at % 12 === 11) time.pass(-24 * hour)
    time.pass(1)
    audit.write(called)
  }
  audit.close()
  t.equal(readdirSync(folder).length, 5)
  const [log = [], ...others] = await findLogs([folder])
  const { ok, earlier, records: count } = verify(log)
  t.strictSame([others.length, ok, earlier + count], [0, true, records(file).at(-1)?.seq])
})

t.test('a crash between the end of a file and the next one does not fork the chain, whatever the clock said', async t => {
  const folder = t.testdir()
  const file = join(folder, 'audit.ndjson')
  const time = clock('2026-11-21T10:00:00Z')
  const audit = await open(file, { maxBytes: 1500, now: time.now })
  for (let at = 0; at < 20; at++) {
    time.pass(at === 10 ? -24 * hour : 1)
    audit.write(called)
  }
  audit.close()
  // As the crash left it.
  renameSync(file, join(folder, 'audit.2026-11-01T00-00-00.000Z.ndjson'))
  for (const left of [undefined, '']) {
    if (left !== undefined) writeFileSync(file, left)
    await writeSession(file, { now: time.now })
    const logs = await findLogs([folder])
    t.equal(logs.length, 1)
    t.match(verify(logs[0] ?? []), { ok: true, earlier: 0 })
    renameSync(file, join(folder, 'audit.2026-11-02T00-00-00.000Z.ndjson'))
  }
})

t.test('what may be kept is limited in days and in bytes, whichever comes first', async t => {
  const folder = t.testdir()
  const file = join(folder, 'audit.ndjson')
  await writeSession(file, { maxBytes: 600 })
  await writeSession(file, { maxBytes: 600 })
  const all = readdirSync(folder).length
  t.ok(all > 3)
  await writeSession(file, { keepDays: 30, keepBytes: 1e9 })
  t.equal(readdirSync(folder).length, all)
  const [first = '', second = ''] = (await findLogs([folder]))[0] ?? []
  for (const old of [first, second]) utimesSync(
    old, Date.now() / 1000 - 31 * 86_400, Date.now() / 1000 - 31 * 86_400,
  )
  await writeSession(file, { keepDays: 30 })
  t.strictSame([existsSync(first), existsSync(second), readdirSync(folder).length], [false, false, all - 2])
  await writeSession(file, { keepBytes: 1 })
  t.strictSame(readdirSync(folder), ['audit.ndjson'], 'the current file stays, however long it is')
  t.match(verify([file]), { ok: true })
})

t.test('a file that cannot be followed by the next stays the current one', async t => {
  // Its name leaves no room for a time.
  const file = join(t.testdir(), `${'a'.repeat(240)}.ndjson`)
  const audit = await open(file, { maxBytes: 1 })
  audit.write(called)
  t.throws(() => audit.write(called), {
    code: 'CANNOT_AUDIT', message: /the next file cannot be begun: .*\(ENAMETOOLONG\)$/,
  })
  t.throws(() => audit.write(called), { code: 'CANNOT_AUDIT' })
  audit.close()
  t.match(verify([file]), { ok: true, records: 1 })
})

t.test('what could not be written is on record with its number, and the log is taken up again when its file is back', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const time = clock('2026-11-21T10:00:00Z')
  const { log } = listener()
  const counted: number[] = []
  const audit =
    await open(file, { now: time.now, onFailure: 'continue', log, failed: count => void counted.push(count) })
  audit.write(started)
  for (const times of [9, 2]) {
    renameSync(file, `${file}.away`)
    time.pass(1000)
    for (let at = 0; at < times; at++) audit.write(called)
    renameSync(`${file}.away`, file)
    time.pass(1000)
    audit.write(called)
  }
  audit.write(ended)
  audit.close()
  t.equal(counted.reduce((sum, count) => sum + count, 0), 11)
  t.match(
    records(file).filter(({ event }) => event === 'audit/lost'), [{ from: 'relay', lost: 9 }, { lost: 2 }],
  )
  t.match(verify([file]), { ok: true, records: 6, lost: 11, open: { sessions: 0 } })
})
