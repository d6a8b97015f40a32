import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync, copyFileSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync,
  truncateSync, writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findLogs } from '#relay/audit/read/logs.js'
import { verify } from '#relay/audit/read/verify.js'
import { verificationLine } from '#desk/audit/command.js'
import { scratch } from '#test/e2e/bridge.js'
import { numbers } from '#test/desk/report/records.js'
import { called, ended, entry, started } from '../entries.js'
import { clock, open, writeSession } from '../logs.js'

/** The table of docs/audit.md is what happens here. */
const docs = readFileSync(fileURLToPath(new URL('../../../../docs/audit.md', import.meta.url)), 'utf8')
const sink = new URL('../../../../dist/relay/audit/sink.js', import.meta.url).href

/** A process of its own writes the log. @param kilobytes as if the disk had room for no more */
const inProcess = async (file: string, body: string, kilobytes?: number): Promise<void> => {
  const script = `
    import { openAudit } from ${JSON.stringify(sink)}
    const open = more => openAudit({ file: ${JSON.stringify(file)}, server: 'weather', ...more })
    const [started, called] = ${JSON.stringify([started, entry({ tool: 'get_weather' })].map(one => ({ ...one, session: 'interrupted' })))}
    process.on('SIGXFSZ', () => {})
    ${body}`
  const limit = kilobytes === undefined ? '' : `ulimit -f ${2 * kilobytes}; `
  const words = ['-c', `${limit}exec "$0" --input-type=module -e "$1"`, process.execPath, script]
  await once(spawn('sh', words, { stdio: 'ignore' }), 'close')
}

const killed = 'process.kill(process.pid, "SIGKILL")'
const writeAll = 'for (let at = 0; at < 100; at++) try { audit.write(called) } catch {}'
const blocking = `const audit = await open(); audit.write(started); ${writeAll}; ${killed}`
const goingOn =
  `const audit = await open({ onFailure: 'continue' }); audit.write(started); ${writeAll}; ${killed}`
const interrupted = (file: string): Promise<void> =>
  inProcess(file, `const audit = await open(); audit.write(started); audit.write(called); ${killed}`)

/** What `verify` prints of a folder; numbers that depend on the length of records are N. */
const saidOf = async (folder: string): Promise<string> => {
  const lines = (await findLogs([folder])).map(files => verificationLine(files, verify(files)))
  return lines.join('<br>').replaceAll(`${folder}/`, '')
    .replace(/\d\d+(?= records?)/g, 'N').replace(/\.\d{4}-[\dT-]+\.\d{3}Z/g, '.TIME')
}

const incidents: readonly (readonly [what: string, happen: (file: string, folder: string) => unknown])[] = [
  ['the clock is set back by a day', async file => {
    const time = clock('2026-11-21T10:00:00Z')
    const audit = await open(file, { now: time.now })
    audit.write(started)
    time.pass(-86_400_000)
    audit.write(ended)
    audit.close()
  }],
  ['`kill -9` between two records', interrupted],
  ['the same, and another start', async file => {
    await interrupted(file)
    await writeSession(file)
  }],
  ['`kill -9` within a record', async file => {
    await interrupted(file)
    truncateSync(file, statSync(file).size - 40)
  }],
  ['the same, and another start', async file => {
    await interrupted(file)
    truncateSync(file, statSync(file).size - 40)
    await writeSession(file)
  }],
  ['a power loss: the file ends in zeros', async file => {
    await interrupted(file)
    appendFileSync(file, Buffer.alloc(4096))
  }],
  ['the same, and another start', async file => {
    await interrupted(file)
    appendFileSync(file, Buffer.alloc(4096))
    await writeSession(file)
  }],
  [
    'the disk is full, then `kill -9` (`onFailure: block`: no message passed without its record)',
    file => inProcess(file, blocking, 8),
  ],
  ['the disk is full, then `kill -9` (`onFailure: continue`)', file => inProcess(file, goingOn, 8)],
  ['the same, and another start', async file => {
    await inProcess(file, goingOn, 8)
    await writeSession(file)
  }],
  ['the file is away for a second (`onFailure: continue`)', async file => {
    const time = clock('2026-11-21T10:00:00Z')
    const audit = await open(file, { onFailure: 'continue', now: time.now })
    audit.write(started)
    renameSync(file, `${file}.away`)
    time.pass(1000)
    audit.write(called)
    renameSync(`${file}.away`, file)
    time.pass(1000)
    audit.write(ended)
    audit.close()
  }],
  ['two processes open one file: the second is refused', async file => {
    const audit = await open(file)
    audit.write(started)
    await inProcess(file, blocking)
    audit.write(ended)
    audit.close()
  }],
  ['the oldest file is removed', async (file, folder) => {
    const audit = await open(file, { maxBytes: 1500 })
    for (const one of [started, called, called, called, called, ended]) audit.write(one)
    audit.close()
    rmSync(join(folder, readdirSync(folder).sort()[0] ?? ''))
  }],
  ['a file from the middle is removed', async (file, folder) => {
    const audit = await open(file, { maxBytes: 1500 })
    for (const one of [started, called, called, called, called, ended]) audit.write(one)
    audit.close()
    rmSync(join(folder, readdirSync(folder).sort()[1] ?? ''))
  }],
  ['a copy lies beside the log', async (file, folder) => {
    await writeSession(file)
    copyFileSync(file, join(folder, 'copy.ndjson'))
  }],
]

for (const [at, [what, happen]] of incidents.entries()) {
  const after = what.startsWith('the same')
    ? `${incidents.slice(0, at).findLast(([one]) => !one.startsWith('the same'))?.[0] ?? ''}, and another start`
    : what
  t.test(`verify says what the table says: ${after}`, async t => {
    const folder = t.testdir()
    await happen(join(folder, 'audit.ndjson'), folder)
    const row = `| ${what} | ${await saidOf(folder)} |`
    t.ok(docs.includes(row), row)
  })
}

t.test('of a thousand tamperings of six kinds each is found, in its line or the next', async t => {
  const folder = t.testdir()
  const [file, other] = [join(folder, 'audit.ndjson'), join(folder, 'other.ndjson')]
  for (const one of [file, other]) {
    const audit = await open(one)
    audit.write(started)
    for (let id = 0; id < 50; id++) audit.write(entry({ id, tool: basename(one) }))
    audit.write(ended)
    audit.close()
  }
  const [lines, foreign] =
    [file, other].map(one => readFileSync(one, 'utf8').trimEnd().split('\n')) as [string[], string[]]
  const random = numbers(20261123)
  const below = (most: number): number => Math.floor(random() * most)
  const ways: readonly ((log: string[], at: number) => void)[] = [
    (log, at) => {
      const text = log[at] ?? ''
      const digit = 10 + below(text.length - 20)
      log[at] = `${text.slice(0, digit)}${text[digit] === '0' ? '1' : '0'}${text.slice(digit + 1)}`
    },
    (log, at) => log.splice(at, 1),
    (log, at) => log.splice(at, 0, log[at] ?? ''),
    (log, at) => log.splice(at, 2, log[at + 1] ?? '', log[at] ?? ''),
    (log, at) => log.splice(at, 1, foreign[at] ?? ''),
    (log, at) => log.splice(at, 1, (log[at] ?? '').slice(0, 100)),
  ]
  let found = 0
  for (let count = 0; count < 1000; count++) {
    const log = [...lines]
    const at = 1 + below(lines.length - 3)
    ways[count % ways.length]?.(log, at)
    writeFileSync(file, log.map(line => `${line}\n`).join(''))
    const { ok, first } = verify([file])
    if (!ok && first !== undefined && (first.line === at + 1 || first.line === at + 2)) found++
    else t.fail(`${count % ways.length} at ${at}: ${JSON.stringify(first)}`)
  }
  t.equal(found, 1000)
})

t.test('a log that is a link in the folder is verified, and a link that leads nowhere is told', async t => {
  const [folder, elsewhere] = [scratch(t), scratch(t)]
  const file = join(elsewhere, 'log.ndjson')
  await writeSession(file)
  symlinkSync(file, join(folder, 'moved.ndjson'))
  t.match(await saidOf(folder), /^moved\.ndjson: ok/)
  symlinkSync(file, join(elsewhere, 'newest.ndjson'))
  t.match(await saidOf(elsewhere), /^log\.ndjson: ok[^]*$/, 'a link to a log of the folder is no other log')
  t.notMatch(await saidOf(elsewhere), 'newest')
  writeFileSync(file, readFileSync(file, 'utf8').replace('weather', 'Weather'))
  t.match(await saidOf(folder), /^moved\.ndjson:1: changed/)
  symlinkSync(join(elsewhere, 'nowhere'), join(folder, 'gone.ndjson'))
  await t.rejects(findLogs([folder]), { code: 'CANNOT_AUDIT' })
})
