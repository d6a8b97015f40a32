import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openAudit, type AuditOptions } from '../../dist/audit/sink.js'
import { verify } from '../../dist/audit/verify.js'
import { called, ended, entry, started } from './entries.js'

const open = (file: string, more: Partial<AuditOptions> = {}) => openAudit({ file, payloads: 'digest', server: 'weather', ...more })

const records = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8').trimEnd().split('\n').map(line => JSON.parse(line) as Record<string, unknown>)

let sessions = 0

const session = (file: string): void => {
  const audit = open(file)
  const id = `s-${++sessions}`
  for (const one of [started, called, ended]) audit.write({ ...one, session: id })
  audit.close()
}

t.test('a record is in the file when write returns', async t => {
  const file = join(t.testdir(), 'state', 'deep', 'audit.ndjson')
  const audit = open(file, { now: () => new Date('2026-11-20T12:00:00Z') })
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
  const audit = open('none', { environment: { XDG_STATE_HOME: directory } })
  audit.write(called)
  audit.close()
  t.equal(audit.file, undefined)
  t.strictSame(readdirSync(directory), [])
})

const names = [
  ['weather', /\/weather\.ndjson$/],
  ['@acme/weather', /\/_acme_weather-[0-9a-f]{8}\.ndjson$/],
  ['../../etc/passwd', /\/_.*etc_passwd-[0-9a-f]{8}\.ndjson$/],
  ['..', /\/_-[0-9a-f]{8}\.ndjson$/],
  ['', /\/-[0-9a-f]{8}\.ndjson$/],
  ['a\0b\n', /\/a_b_-[0-9a-f]{8}\.ndjson$/],
  ['x'.repeat(300), /\/x{64}-[0-9a-f]{8}\.ndjson$/],
] as const

for (const [server, path] of names) {
  t.test(`the default file of server ${JSON.stringify(server).slice(0, 30)} lies in the state directory`, async t => {
    const directory = t.testdir()
    const audit = openAudit({ file: undefined, payloads: 'digest', server, environment: { XDG_STATE_HOME: directory } })
    t.match(audit.file, path)
    t.equal(join(audit.file ?? '', '..'), join(directory, 'mcp-customs'))
    audit.close()
  })
}

t.test('a chain goes on over restarts', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  for (let run = 0; run < 3; run++) session(file)
  t.strictSame(records(file).map(({ seq }) => seq), [1, 2, 3, 4, 5, 6, 7, 8, 9])
  t.strictSame(await verify(file), { ok: true, records: 9, first: undefined, problems: 0, open: 0 })
})

t.test('a chain goes on after a record that is longer than a piece of the file', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const audit = open(file, { payloads: 'full' })
  audit.write(started)
  audit.write(entry({ result: Buffer.from(JSON.stringify('x'.repeat(1_000_000))) }))
  audit.close()
  session(file)
  t.match(await verify(file), { ok: true, records: 5, open: 1 })
})

t.test('a line that a crash cut short stays, is named, and the chain goes on', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  session(file)
  truncateSync(file, statSync(file).size - 40)
  session(file)
  session(file)
  t.match(await verify(file), {
    ok: false, records: 8, problems: 1, open: 1, first: { line: 3, reason: 'half-cut or overwritten: it is not JSON' },
  })
  t.strictSame(readFileSync(file, 'utf8').split('\n').length, 10)
})

t.test('a first line that a crash cut short, too', async t => {
  for (const length of [1, 5, 40]) {
    const file = join(t.testdir(), 'audit.ndjson')
    session(file)
    truncateSync(file, length)
    session(file)
    t.match(await verify(file), { ok: false, records: 3, problems: 1, first: { line: 1 } })
  }
})

t.test('a line that lost only its end is healed', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  session(file)
  truncateSync(file, statSync(file).size - 1)
  t.match(await verify(file), { ok: false, first: { line: 3, reason: 'half-cut: its line end is missing' } })
  session(file)
  t.match(await verify(file), { ok: true, records: 6 })
})

t.test('a file that is no audit log is left alone', async t => {
  const file = join(t.testdir({ 'notes.txt': 'my notes\n' }), 'notes.txt')
  t.throws(() => open(file), { code: 'CANNOT_AUDIT', message: `the audit log ${file} cannot be written: it holds something else than an audit log` })
  t.equal(readFileSync(file, 'utf8'), 'my notes\n')
  t.notOk(existsSync(`${file}.lock`))
})

t.test('a log that cannot be written is an error, in one line', async t => {
  const directory = t.testdir({ file: '' })
  t.throws(() => open(directory), { code: 'CANNOT_AUDIT', exitCode: 2, message: /cannot be written: EISDIR$/ })
  t.throws(() => open(join(directory, 'file', 'audit.ndjson')), { code: 'CANNOT_AUDIT', message: /cannot be written: (ENOTDIR|EEXIST)$/ })
  // Folders cannot be made there, and yet it is no error to ask for one.
  if (existsSync('/proc/self')) t.throws(() => open('/proc/nowhere/deep/audit.ndjson'), { code: 'CANNOT_AUDIT', message: /cannot be written: ENOENT$/ })
})

t.test('a full disk is an error, never a silence', { skip: !existsSync('/dev/full') && 'no /dev/full here' }, async t => {
  const audit = open('/dev/full')
  t.throws(() => audit.write(called), { code: 'CANNOT_AUDIT', message: 'the audit log /dev/full cannot be written: ENOSPC' })
  t.throws(() => audit.write(called), { code: 'CANNOT_AUDIT' })
  audit.close()
  const descriptor = openSync('/dev/full', 'w')
  const stream = open('-', { stream: descriptor })
  t.throws(() => stream.write(called), { code: 'CANNOT_AUDIT', message: 'the audit log on the standard stream cannot be written: ENOSPC' })
  stream.close()
  closeSync(descriptor)
})

t.test('a record that did not fit leaves no trace, and the next one follows the last', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  // A limit on the size of files, as a disk that fills up in the middle of a record.
  const script = `
    import { openAudit } from ${JSON.stringify(new URL('../../dist/audit/sink.js', import.meta.url).href)}
    const audit = openAudit({ file: ${JSON.stringify(file)}, payloads: 'full', server: 'a' })
    const entry = { event: 'session/start', server: 'a', session: 's', client: undefined, revision: undefined, verdict: 'pass', findings: [] }
    process.on('SIGXFSZ', () => {})
    audit.write(entry)
    try { audit.write({ ...entry, result: Buffer.from(JSON.stringify('x'.repeat(100_000))) }) } catch (error) { console.log(error.message) }
    audit.write({ ...entry, event: 'session/end' })`
  const { stdout } = spawnSync('sh', ['-c', 'ulimit -f 8; exec "$0" --input-type=module -e "$1"', process.execPath, script], { encoding: 'utf8' })
  t.match(stdout, `the audit log ${file} cannot be written: EFBIG`)
  t.match(await verify(file), { ok: true, records: 2, open: 0 })
})

t.test('a stream gets a chain of its own, and stays open', async t => {
  const file = join(t.testdir(), 'stream')
  const descriptor = openSync(file, 'w')
  for (let run = 0; run < 2; run++) {
    const audit = open('-', { stream: descriptor })
    audit.write(started)
    audit.close()
  }
  closeSync(descriptor)
  t.strictSame(records(file).map(({ seq }) => seq), [1, 1])
})

t.test('a slow reader of a pipe gets every record', async t => {
  const script = `
    import { openAudit } from ${JSON.stringify(new URL('../../dist/audit/sink.js', import.meta.url).href)}
    process.stdout.write('')
    const audit = openAudit({ file: '-', stream: 1, payloads: 'full', server: 'a' })
    const entry = { event: 'tools/list', server: 'a', session: 's', client: undefined, revision: undefined, verdict: 'pass', findings: [] }
    for (let at = 0; at < 5; at++) audit.write({ ...entry, result: Buffer.from(JSON.stringify('x'.repeat(300_000))) })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) text += chunk.toString()
  t.strictSame(text.trimEnd().split('\n').map(line => (JSON.parse(line) as { seq: number }).seq), [1, 2, 3, 4, 5])
})

const writer = fileURLToPath(new URL('../../test/fixtures/audit/writer.mjs', import.meta.url))

const start = async (file: string, ...more: string[]): Promise<{ child: ChildProcess; file: string }> => {
  const child = spawn(process.execPath, [writer, file, '50', ...more], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, file: said.toString().trim() }
}

const finish = async ({ child }: { child: ChildProcess }): Promise<void> => {
  const exit = once(child, 'exit')
  child.stdin?.end()
  await exit
}

t.test('relays on one file do not disturb each other', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const running = await Promise.all([start(file), start(file), start(file)])
  const names = running.map(one => basename(one.file)).sort()
  t.strictSame(names, ['audit.2.ndjson', 'audit.3.ndjson', 'audit.ndjson'])
  await Promise.all(running.map(finish))
  for (const one of running) t.match(await verify(one.file), { ok: true, records: 52, open: 0 })
  const next = await start(file)
  t.equal(next.file, file, 'the first file is free again')
  await finish(next)
  t.match(await verify(file), { ok: true, records: 104 })
})

t.test('the file of a relay that was killed is taken over', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const { child } = await start(file, 'crash')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  t.ok(existsSync(`${file}.lock`), 'its lock is still there')
  const audit = open(file)
  t.equal(audit.file, file)
  audit.close()
  t.match(await verify(file), { ok: true, records: 51, open: 1 })
})

const owners = [
  ['of a later process with the same id', { pid: process.ppid, host: hostname(), started: '1' }, true],
  ['of an earlier life of this process id', { pid: process.pid, host: hostname() }, true],
  ['of a living process', { pid: process.ppid, host: hostname() }, false],
  ['of another host', { pid: 1, host: 'elsewhere' }, false],
  ['that is just being written', undefined, false],
] as const

for (const [name, owner, free] of owners) {
  // Not every system says when a process began.
  const skip = owner !== undefined && 'started' in owner && !existsSync('/proc/self/stat')
  t.test(`a lock ${name} is ${free ? 'taken over' : 'respected'}`, { skip }, async t => {
    const file = join(t.testdir(), 'audit.ndjson')
    writeFileSync(`${file}.lock`, owner ? JSON.stringify(owner) : '')
    const audit = open(file)
    t.equal(audit.file, free ? file : file.replace('.ndjson', '.2.ndjson'))
    audit.close()
    t.equal(existsSync(`${file}.lock`), !free)
  })
}

t.test('two logs in one process, and two names of one file, are kept apart', async t => {
  const directory = t.testdir()
  const file = join(directory, 'audit.ndjson')
  const first = open(file)
  symlinkSync(file, join(directory, 'other.ndjson'))
  const second = open(join(directory, 'other.ndjson'))
  t.equal(second.file, join(directory, 'audit.2.ndjson'))
  second.close()
  first.close()
})

t.test('a log that somebody else appends to is found out', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const audit = open(file)
  audit.write(started)
  appendFileSync(file, readFileSync(file))
  audit.write(ended)
  audit.close()
  t.match(await verify(file), { ok: false, first: { line: 2, reason: 'out of order: a record was moved, repeated or inserted' } })
})
