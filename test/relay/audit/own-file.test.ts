import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { verify } from '#relay/audit/read/verify.js'
import { called, entry } from './entries.js'
import { clock, open, records, writeSession } from './logs.js'

const time = '2026-11-21T22:22:13.456Z'
const own = (server: string, XDG_STATE_HOME: string, more: object = {}) =>
  open(undefined, { server, environment: { XDG_STATE_HOME }, now: clock(time).now, ...more })

const stamp = `2026-11-21T22-22-13\\.456Z-${process.pid}`
const names = [
  ['weather', 'weather'],
  ['@acme/weather', '_acme_weather-[0-9a-f]{8}'],
  ['../../etc/passwd', '_.*etc_passwd-[0-9a-f]{8}'],
  ['..', '_-[0-9a-f]{8}'],
  ['', '-[0-9a-f]{8}'],
  ['a\0b\n', 'a_b_-[0-9a-f]{8}'],
  ['x'.repeat(300), 'x{64}-[0-9a-f]{8}'],
] as const

for (const [server, name] of names) {
  t.test(`the file of server ${JSON.stringify(server).slice(0, 30)} lies in the state folder`, async t => {
    const directory = t.testdir()
    const audit = await own(server, directory)
    t.match(audit.file, new RegExp(`/${name}\\.${stamp}\\.ndjson$`))
    t.equal(join(audit.file ?? '', '..'), join(directory, 'mcp-customs'))
    audit.close()
  })
}

t.test('each opening has a file of its own, also at the same moment', async t => {
  const directory = t.testdir()
  const opened = await Promise.all([1, 2, 3].map(() => own('weather', directory)))
  for (const audit of opened) audit.write(called)
  t.equal(new Set(opened.map(({ file }) => file)).size, 3)
  for (const { file = '' } of opened) t.match(records(file), [{ seq: 1 }])
  for (const audit of opened) audit.close()
})

t.test('a file without a record does not stay', async t => {
  const directory = t.testdir()
  const audit = await own('weather', directory)
  t.ok(existsSync(audit.file ?? ''))
  audit.close()
  t.strictSame(readdirSync(join(directory, 'mcp-customs')), [])
})

t.test('no claim lies beside it', async t => {
  const directory = t.testdir()
  const file = await writeSession(undefined, { environment: { XDG_STATE_HOME: directory } })
  t.strictSame(
    readdirSync(join(directory, 'mcp-customs')).map(name => join(directory, 'mcp-customs', name)), [file],
  )
  t.match(verify([file]), { ok: true, records: 3 })
})

t.test('the oldest are removed, but no other server\'s, none of a living process, and nothing that is no log', async t => {
  const directory = t.testdir()
  const folder = join(directory, 'mcp-customs')
  const make = (name: string, age: number): void => {
    writeFileSync(join(folder, name), 'x')
    utimesSync(join(folder, name), Date.now() / 1000 - age, Date.now() / 1000 - age)
  }
  const day = 86_400
  const first = await own('a', directory)
  first.close()
  // No system has processes of such numbers.
  for (const hour of [10, 11, 12]) make(
    `weather.2026-11-01T${hour}-00-00.000Z-90000${hour}.ndjson`, day + 12 - hour,
  )
  for (const hour of [10, 12]) make(`weather.2026-11-01T${hour}-00-00.000Z-90000${hour}.ndjson.lost`, day)
  for (const name of [
    'weather.other.2026-11-01T09-00-00.000Z-1.ndjson', 'weather.notes.ndjson', 'weather.ndjson',
    'b.2026-11-01T09-00-00.000Z-1.ndjson',
  ]) make(name, day)
  make(`weather.2026-11-01T08-00-00.000Z-${process.ppid}.ndjson`, 40 * day)
  const audit = await own('weather', directory, { keep: 2 })
  audit.write(entry())
  t.strictSame(readdirSync(folder).sort(), [
    'b.2026-11-01T09-00-00.000Z-1.ndjson',
    `weather.2026-11-01T08-00-00.000Z-${process.ppid}.ndjson`,
    'weather.2026-11-01T12-00-00.000Z-9000012.ndjson', 'weather.2026-11-01T12-00-00.000Z-9000012.ndjson.lost',
    `weather.2026-11-21T22-22-13.456Z-${process.pid}.ndjson`,
    'weather.ndjson', 'weather.notes.ndjson', 'weather.other.2026-11-01T09-00-00.000Z-1.ndjson',
  ])
  audit.close()
})

t.test('where all stay, nothing is removed', async t => {
  const directory = t.testdir()
  mkdirSync(join(directory, 'mcp-customs'))
  const old = join(directory, 'mcp-customs', 'weather.2020-01-01T00-00-00.000Z-1.ndjson')
  writeFileSync(old, 'x')
  utimesSync(old, 0, 0)
  await writeSession(undefined, { environment: { XDG_STATE_HOME: directory } })
  t.ok(existsSync(old))
})

t.test('a file that nobody limits otherwise ends each day, and at a tenth of what may be kept', async t => {
  const directory = t.testdir()
  const day = clock(time)
  const audit = await own('weather', directory, { now: day.now, keepDays: 30, keepBytes: 20_000 })
  for (let at = 0; at < 100; at++) audit.write(called)
  const folder = join(directory, 'mcp-customs')
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  t.ok(bytes > 15_000 && bytes < 22_000, `${bytes}`)
  const before = audit.file
  day.pass(86_400_000)
  audit.write(called)
  t.not(audit.file, before)
  t.match(audit.usage(), { files: readdirSync(folder).length })
  audit.close()
})
