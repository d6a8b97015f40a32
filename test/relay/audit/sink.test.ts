import { spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { verify } from '#relay/audit/read/verify.js'
import { called, started } from './entries.js'
import { keysIn, open, records } from './logs.js'

t.test('a record is in the file when write returns', async t => {
  const file = join(t.testdir(), 'state', 'deep', 'audit.ndjson')
  const audit = await open(file, { now: () => new Date('2026-11-20T12:00:00Z') })
  t.equal(audit.file, file)
  audit.write(called)
  t.match(records(file), [{ seq: 1, time: '2026-11-20T12:00:00.000Z', tool: 'get_weather' }])
  audit.close()
  audit.close()
  t.throws(() => audit.write(called), { code: 'CANNOT_AUDIT' })
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
  t.strictSame(readdirSync(join(file, '..')), ['audit.ndjson'], 'the lock is gone')
})

t.test('nothing is written where no log is wanted', async t => {
  const directory = t.testdir()
  const audit = await open('none', { environment: { XDG_STATE_HOME: directory } })
  audit.write(called)
  audit.close()
  t.equal(audit.file, undefined)
  t.strictSame(readdirSync(directory), [])
})

t.test('a log that cannot be written is an error, in one line', async t => {
  const directory = t.testdir({ file: '' })
  await t.rejects(
    open(directory), { code: 'CANNOT_AUDIT', exitCode: 2, message: /cannot be written: .*\(EISDIR\); name another file \(--audit FILE\), or none \(--audit none\)$/ },
  )
  await t.rejects(open(join(directory, 'file', 'audit.ndjson')), {
    code: 'CANNOT_AUDIT', message: /cannot be written: .*\((?:ENOTDIR|EEXIST)\); name another file/,
  })
  // Folders cannot be made there, and yet it is no error to ask for one.
  if (existsSync('/proc/self')) {
    await t.rejects(open('/proc/nowhere/deep/audit.ndjson'), {
      code: 'CANNOT_AUDIT', message: /cannot be written: .*\(ENOENT\); name another file \(--audit FILE\), or none \(--audit none\)$/,
    })
  }
})

t.test('a full disk is an error, never a silence', {
  skip: !existsSync('/dev/full') && 'no /dev/full here',
}, async t => {
  const audit = await open('/dev/full')
  t.throws(() => audit.write(called), {
    code: 'CANNOT_AUDIT', message: 'the audit log /dev/full cannot be written: the disk is full: make ' +
      'room (ENOSPC)',
  })
  t.throws(() => audit.write(called), { code: 'CANNOT_AUDIT' })
  audit.close()
  const descriptor = openSync('/dev/full', 'w')
  const stream = await open('-', { stream: descriptor })
  t.throws(() => stream.write(called), {
    code: 'CANNOT_AUDIT', message: 'the audit log on the standard stream cannot be written: the disk is ' +
      'full: make room (ENOSPC)',
  })
  stream.close()
  closeSync(descriptor)
})

t.test('with onFailure continue a full disk is said once, and counted each time', {
  skip: !existsSync('/dev/full') && 'no /dev/full here',
}, async t => {
  const warnings: string[] = []
  let failed = 0
  const log = { warn: (message: string) => void warnings.push(message), checkpoint: () => undefined }
  const audit = await open('/dev/full', { onFailure: 'continue', log, failed: () => (failed += 1) })
  audit.write(called)
  audit.write(called)
  audit.close()
  t.equal(failed, 2)
  t.strictSame(warnings, [
    'the audit log /dev/full cannot be written: the disk is full: make room (ENOSPC); traffic goes on without a record (audit.onFailure: continue)',
    'the audit log /dev/full ends without 2 records',
  ])
  await t.rejects(open('/no/such/folder/\0', { onFailure: 'continue' }), { code: 'CANNOT_AUDIT' })
})

t.test('who follows gets what is written, and nothing else; what fails there is no failure of the log', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const got: [string, string | undefined][] = []
  const warnings: string[] = []
  const log = { warn: (message: string) => void warnings.push(message), checkpoint: () => undefined }
  const broken = { recorded: () => { throw new Error('no') } }
  const follower = {
    recorded: (record: string, entry: { event: string } | undefined) => void got.push([record, entry?.event]),
  }
  const audit = await open(file, { followers: [broken, follower], log, maxBytes: 1 })
  audit.write(called)
  audit.write(called)
  audit.close()
  t.strictSame(
    got.map(([, event]) => event), ['tools/call', undefined, undefined, 'tools/call'],
    'the log\'s own records too',
  )
  t.strictSame(
    got.map(([record]) => JSON.parse(record) as { seq: number }).map(({ seq }) => seq), [1, 2, 3, 4],
  )
  t.equal(readFileSync(file, 'utf8').trim(), got.slice(2).map(([record]) => record).join('\n'))
  t.equal(warnings.length, 4)
  got.length = 0
  const nowhere = await open('none', { followers: [follower] })
  nowhere.write(called)
  nowhere.close()
  t.equal(got.length, 1)
  if (existsSync('/dev/full')) {
    const full = await open('/dev/full', { followers: [follower] })
    t.throws(() => full.write(called), { code: 'CANNOT_AUDIT' })
    full.close()
    t.equal(got.length, 1)
  }
})

t.test('a record that did not fit leaves no trace, and the next one follows the last', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  // A limit on the size of files, as a disk that fills up in the middle of a record.
  const script = `
    import { openAudit } from ${JSON.stringify(new URL('../../../dist/relay/audit/sink.js', import.meta.url).href)}
    const audit = await openAudit({ file: ${JSON.stringify(file)}, server: 'a' })
    const entry = { event: 'session/start', from: 'relay', server: 'a', session: 's', client: undefined, revision: undefined, verdict: 'pass', findings: [] }
    process.on('SIGXFSZ', () => {})
    audit.write(entry)
    try { audit.write({ ...entry, result: Buffer.from(JSON.stringify('x'.repeat(100_000))) }, 'full') } catch (error) { console.log(error.message) }
    audit.write({ ...entry, event: 'session/end' })`
  const { stdout } = spawnSync(
    'sh', ['-c', 'ulimit -f 8; exec "$0" --input-type=module -e "$1"', process.execPath, script],
    { encoding: 'utf8' },
  )
  t.match(stdout, `the audit log ${file} cannot be written: the file would be longer than the system ` +
    'allows (EFBIG)')
  t.match(verify([file]), { ok: true, records: 2, open: { sessions: 0 } })
})

for (const end of ['audit.close()', 'process.kill(process.pid, "SIGKILL")'] as const) {
  t.test(`records that were lost until the process ended (${end}) are known to verify, and on record after the next start`, async t => {
    const file = join(t.testdir(), 'audit.ndjson')
    const script = `
      import { openAudit } from ${JSON.stringify(new URL('../../../dist/relay/audit/sink.js', import.meta.url).href)}
      process.on('SIGXFSZ', () => {})
      const log = { warn: message => console.log(message), checkpoint: () => {} }
      const audit = await openAudit({ file: ${JSON.stringify(file)}, server: 'a', onFailure: 'continue', log })
      const entry = { event: 'tools/list', from: 'client', server: 'a', session: 's', client: undefined, revision: undefined, verdict: 'pass', findings: [] }
      for (let at = 0; at < 100; at++) audit.write(entry)
      ${end}`
    const { stdout } = spawnSync(
      'sh', ['-c', 'ulimit -f 8; exec "$0" --input-type=module -e "$1"', process.execPath, script],
      { encoding: 'utf8' },
    )
    const before = verify([file])
    t.ok(before.records > 0 && before.lost > 0)
    t.match(before, { ok: true, lost: 100 - before.records })
    if (end === 'audit.close()') {
      t.match(stdout, `the audit log ${file} ends without ${before.lost} records\n`)
    }
    const audit = await open(file)
    audit.write(called)
    audit.close()
    t.match(verify([file]), { ok: true, records: before.records + 3, lost: before.lost })
    t.match(records(file).slice(-3), [
      { event: 'audit/checkpoint', reason: 'start' },
      { event: 'audit/lost', from: 'relay', lost: before.lost }, { event: 'tools/call' },
    ])
    t.strictSame(readdirSync(join(file, '..')), ['audit.ndjson'], 'the note is gone')
  })
}

t.test('records that are added leave together, with the first that is waited for, and are not there before', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const got: string[] = []
  const audit = await open(file, { followers: [{ recorded: record => void got.push(record) }] })
  const first = audit.add(started)
  const second = audit.add(called)
  t.equal(second, first)
  t.strictSame([readFileSync(file, 'utf8'), got], ['', []])
  second()
  first()
  t.strictSame(records(file).map(({ seq }) => seq), [1, 2])
  t.strictSame(got, readFileSync(file, 'utf8').trimEnd().split('\n'))
  const third = audit.add(called)
  t.not(third, first)
  audit.close()
  third()
  t.strictSame(records(file).map(({ seq }) => seq), [1, 2, 3], 'the end of the log waits for nobody')
  t.match(verify([file]), { ok: true, records: 3 })
})

t.test('what is not written yet counts for the size at which the next file begins, and is bounded', async t => {
  const folder = t.testdir()
  const audit = await open(join(folder, 'audit.ndjson'), { maxBytes: 1000 })
  const flushes = Array.from({ length: 10 }, () => audit.add(called))
  for (const flush of flushes) flush()
  audit.close()
  const files = readdirSync(folder).sort()
  for (const name of files) t.ok(statSync(join(folder, name)).size < 2500, name)
  t.ok(files.length >= 5)
  const large = join(folder, 'large.ndjson')
  const another = await open(large)
  another.add({ ...called, result: Buffer.from(JSON.stringify('x'.repeat(1_100_000))) }, 'full')
  t.equal(records(large).length, 1)
  another.close()
})

t.test('files that begin within a turn say what they continue', async t => {
  const folder = t.testdir()
  const audit = await open(join(folder, 'audit.ndjson'), { maxBytes: 1500 })
  const flushes = Array.from({ length: 12 }, () => audit.add(called))
  for (const flush of flushes) flush()
  audit.close()
  const files = readdirSync(folder).sort().map(name => join(folder, name))
  t.ok(files.length >= 3)
  t.match(verify(files), { ok: true })
})

t.test('of records that are written together all are there, or none, and each who waits hears of it', {
  skip: !existsSync('/dev/full') && 'no /dev/full here',
}, async t => {
  const warnings: string[] = []
  const counted: number[] = []
  const audit = await open('/dev/full')
  const [first, second] = [audit.add(called), audit.add(called)]
  for (const flush of [second, first, second]) t.throws(flush, { code: 'CANNOT_AUDIT' })
  t.doesNotThrow(() => audit.add(called), 'the next ones have a chance of their own')
  t.throws(() => audit.close(), { code: 'CANNOT_AUDIT' })
  const log = { warn: (message: string) => void warnings.push(message), checkpoint: () => undefined }
  const lenient =
    await open('/dev/full', { onFailure: 'continue', log, failed: count => void counted.push(count) })
  const flushes = [lenient.add(called), lenient.add(called)]
  for (const flush of flushes) flush()
  lenient.close()
  t.strictSame(counted, [2])
  t.equal(warnings.length, 2)
  await t.rejects(
    open('/dev/full', { onFailure: 'continue', signKey: keysIn(t.testdir()).signKey }),
    { code: 'CANNOT_AUDIT' }, 'nor does a log begin that cannot',
  )
})

t.test('a stream gets a chain of its own, and stays open', async t => {
  const file = join(t.testdir(), 'stream')
  const descriptor = openSync(file, 'w')
  for (let run = 0; run < 2; run++) {
    const audit = await open('-', { stream: descriptor })
    audit.write(started)
    audit.close()
  }
  closeSync(descriptor)
  t.strictSame(records(file).map(({ seq }) => seq), [1, 1])
})

t.test('a slow reader of a pipe gets every record', async t => {
  const script = `
    import { openAudit } from ${JSON.stringify(new URL('../../../dist/relay/audit/sink.js', import.meta.url).href)}
    process.stdout.write('')
    const audit = await openAudit({ file: '-', stream: 1, server: 'a' })
    const entry = { event: 'tools/list', from: 'client', server: 'a', session: 's', client: undefined, revision: undefined, verdict: 'pass', findings: [] }
    for (let at = 0; at < 5; at++) audit.write({ ...entry, result: Buffer.from(JSON.stringify('x'.repeat(300_000))) }, 'full')`
  const child =
    spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) text += chunk.toString()
  t.strictSame(
    text.trimEnd().split('\n').map(line => (JSON.parse(line) as { seq: number }).seq), [1, 2, 3, 4, 5],
  )
})
