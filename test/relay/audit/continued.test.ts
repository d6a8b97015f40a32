import { spawnSync } from 'node:child_process'
import { existsSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findLogs } from '#relay/audit/read/logs.js'
import { verify } from '#relay/audit/read/verify.js'
import type { AuditOptions } from '#relay/audit/audit.js'
import { called, entry, started } from './entries.js'
import { clock, open, records, writeSession } from './logs.js'

const reader = fileURLToPath(new URL('../../../docs/verify_audit.py', import.meta.url))
const python = spawnSync('python3', ['--version']).status === 0
const inPython = (files: readonly string[]): string => {
  const { stdout, stderr } = spawnSync('python3', [reader, ...files], { encoding: 'utf8' })
  return (stdout + stderr).trim()
}
const logIn = async (folder: string): Promise<readonly string[]> => (await findLogs([folder]))[0] ?? []

const refused = entry({ event: 'http/refused', verdict: 'block' })
const health = entry({ event: 'server/health', from: 'relay', health: 'exit' })

/** What a relay may have to write first when it continues a log with a torn line. */
const firsts: readonly (readonly [string, Partial<AuditOptions>, (file: string) => void])[] = [
  ['a session', {}, () => undefined],
  ['a rotation by size', { maxBytes: 100 }, () => undefined],
  ['a rotation by time', { rotate: 'daily', now: clock('2100-01-01T00:00:00Z').now }, () => undefined],
  ['records that were lost before', { onFailure: 'continue' }, file => {
    writeFileSync(`${file}.lost`, '')
    truncateSync(`${file}.lost`, 7)
  }],
]

for (const [what, options, prepare] of firsts) {
  t.test(`a line that a crash cut short is recovered before ${what}`, async t => {
    for (const first of [started, refused, health]) {
      for (const cut of [1, 40, 2000]) {
        const folder = t.testdir()
        const file = join(folder, 'audit.ndjson')
        await writeSession(file)
        truncateSync(file, Math.max(statSync(file).size - cut, 30))
        prepare(file)
        const audit = await open(file, options)
        audit.write(first)
        audit.close()
        const files = await logIn(folder)
        const lost = what.includes('lost') ? 7 : 0
        t.match(verify(files), { ok: true, recovered: cut === 1 ? 0 : 1, lost, earlier: 0 })
        if (python && first === refused && cut !== 2000) t.match(inPython(files), /^ok, /)
        rmSync(folder, { recursive: true })
      }
    }
  })
}

t.test('a log that was moved away: the records that were lost are counted where the relay ends', async t => {
  const folder = t.testdir()
  const file = join(folder, 'audit.ndjson')
  const time = clock('2026-11-28T10:00:00Z')
  const audit = await open(file, { onFailure: 'continue', now: time.now })
  audit.write(started)
  renameSync(file, join(folder, 'moved.ndjson'))
  time.pass(2000)
  for (let at = 0; at < 5; at++) audit.write(called)
  audit.close()
  const logs = await findLogs([folder])
  t.strictSame(logs, [[join(folder, 'moved.ndjson'), file]])
  t.match(verify(logs[0] ?? []), { ok: true, lost: 5, earlier: 0 })
  t.match(records(file), [{ event: 'audit/checkpoint', reason: 'start' }, { event: 'audit/lost', lost: 5 }])
  t.notOk(existsSync(`${file}.lost`))
})

t.test('what is no log is told so, and a log of zeros alone is recovered, by both readers', async t => {
  const folder = t.testdir({
    'notes.ndjson': 'my notes\n{"a":1}\n', 'zeros.ndjson': Buffer.alloc(5000), 'empty.ndjson': '',
  })
  const [notes = '', zeros = '', empty = ''] =
    ['notes', 'zeros', 'empty'].map(name => join(folder, `${name}.ndjson`))
  const none = 'no line is a record: it is no audit log, or all of it was overwritten'
  t.match(verify([notes]), { ok: false, first: { line: 0, reason: none } })
  t.match(verify([zeros]), { ok: true, records: 0, recovered: 1 })
  t.match(verify([empty]), { ok: false, first: { reason: 'the file is empty' } })
  if (!python) return
  t.match(inPython([notes]), /notes\.ndjson:1: /)
  t.equal(inPython([zeros]), 'ok, 0 records')
  t.match(inPython([empty]), /the file is empty/)
})
