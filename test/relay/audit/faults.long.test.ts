import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findLogs } from '#relay/audit/read/logs.js'
import { verify, type Verification } from '#relay/audit/read/verify.js'
import { numbers } from '../../desk/report/records.js'
import { called, ended, started } from './entries.js'

// Histories of a log in which each write, rename, open, truncation and close may fail, writes may be torn,
// and the process may die between two of them. Whatever happens, `verify` of an honest log says ok (with what
// was recovered, and what is open), and counts at least the records that were lost.

const histories = Number(process.env['MCP_CUSTOMS_FAULTS'] ?? 10_000)
const reader = fileURLToPath(new URL('../../../docs/verify_audit.py', import.meta.url))
const python = spawnSync('python3', ['--version']).status === 0

/** Ends a run: nothing that the process does afterwards reaches the disk. */
class Death extends Error {}

const random = numbers(Number(process.env['MCP_CUSTOMS_SEED'] ?? 20261128))
const chance = (of: number): boolean => random() < of
const below = (most: number): number => Math.floor(random() * most)

const disk = { faults: 0, deaths: 0, isDead: false, isOn: false }

const fail = (code: string): never => {
  throw Object.assign(new Error(code), { code })
}

/** Before a change of the disk: it may fail, or be the last. */
const risk = (code?: string): void => {
  if (!disk.isOn) return
  if (disk.isDead) throw new Death('dead')
  if (chance(disk.deaths)) {
    disk.isDead = true
    throw new Death('killed')
  }
  if (code !== undefined && chance(disk.faults)) fail(code)
}

const real = { ...fs }

/** Node's own functions call the others, which would fail within them. */
const whole = (act: () => void): void => {
  const { isOn } = disk
  disk.isOn = false
  try {
    act()
  } finally {
    disk.isOn = isOn
  }
}

const faulty = {
  writeSync(descriptor: number, data: Buffer | string): number {
    const bytes = Buffer.from(data)
    const isTorn = disk.isOn && !disk.isDead && chance(disk.faults + disk.deaths)
    if (isTorn && bytes.length > 1) {
      const written = real.writeSync(descriptor, bytes.subarray(0, 1 + below(bytes.length - 1)))
      // The rest fails at the next attempt, or the process dies before it.
      if (chance(0.5)) {
        disk.isDead = true
        throw new Death('killed within a line')
      }
      return written
    }
    risk('ENOSPC')
    return real.writeSync(descriptor, bytes)
  },
  renameSync(from: string, to: string): void {
    risk('EACCES')
    real.renameSync(from, to)
  },
  openSync(file: string, flags: string | number, mode?: number): number {
    if (flags !== 'r') risk('EMFILE')
    return real.openSync(file, flags, mode)
  },
  ftruncateSync(descriptor: number, length: number): void {
    risk('EIO')
    real.ftruncateSync(descriptor, length)
  },
  fchmodSync(descriptor: number, mode: number): void {
    risk('EPERM')
    real.fchmodSync(descriptor, mode)
  },
  // The note of lost records is the last resort.
  writeFileSync(file: string, data: string, options: fs.WriteFileOptions): void {
    risk()
    whole(() => real.writeFileSync(file, data, options))
  },
  truncateSync(file: string, length: number): void {
    risk()
    whole(() => real.truncateSync(file, length))
  },
  rmSync(file: string, options: fs.RmOptions): void {
    risk('EACCES')
    real.rmSync(file, options)
  },
  closeSync(descriptor: number): void {
    real.closeSync(descriptor)
    if (disk.isOn && !disk.isDead && chance(disk.faults)) fail('EIO')
  },
}
Object.assign(fs, faulty)
syncBuiltinESMExports()
// After the changes, which it sees.
const { openAudit } = await import('#relay/audit/sink.js')

interface Outcome {
  /** Records that the caller believes written, and records that passed without one. */
  written: number
  lost: number
}

/** One process: opens the log, writes records, and closes it or dies. */
const run = async (file: string, outcome: Outcome, onFailure: 'block' | 'continue', clock: () => Date) => {
  const failed = (count: number) => void (outcome.lost += disk.isDead ? 0 : count)
  const options = { file, server: 'a', onFailure, failed, now: clock, log: { warn: () => undefined, checkpoint: () => undefined } }
  const limits = [{}, { maxBytes: 900 }, { rotate: 'hourly' }] as const
  try {
    const audit = await openAudit({ ...options, ...limits[below(3)] })
    const entries = [started, called, called, ended]
    try {
      for (let at = 0, end = 1 + below(6); at < end; at++) {
        const before = outcome.lost
        try {
          audit.write(entries[at % 4] ?? called)
          if (disk.isDead) break
          if (outcome.lost === before) outcome.written++
        } catch (error) {
          if (error instanceof Death || disk.isDead) throw error
        }
      }
    } finally {
      // After a death, this only frees what this process of the test holds.
      try {
        audit.close()
      } catch {
        // Told to the operator.
      }
    }
  } catch {
    // The log could not be opened, or the process died.
  }
}

/** What is wrong with a history; undefined: nothing. */
const faultOf = (folder: string, results: readonly Verification[], outcome: Outcome): string | undefined => {
  const sum = (of: (one: Verification) => number) => results.reduce((all, one) => all + of(one), 0)
  const wrong = results.find(({ ok }) => !ok)
  if (wrong?.first) return `${wrong.first.file}:${wrong.first.line}: ${wrong.first.reason}`
  if (sum(({ lost }) => lost) < outcome.lost) return `${outcome.lost} lost, ${sum(({ lost }) => lost)} on record`
  if (sum(({ earlier }) => earlier) > 0) return 'a file is missing'
  if (sum(({ records }) => records) < outcome.written) return 'a record that was written is gone'
  return results.length > 1 ? `${results.length} logs in ${folder}` : undefined
}

t.setTimeout(3_600_000)

t.test(`${histories} histories of faults`, async t => {
  const counts = { recovered: 0, lost: 0, rotated: 0 }
  const folder = t.testdir()
  for (let history = 0; history < histories; history++) {
    const place = join(folder, `${history}`)
    fs.mkdirSync(place)
    const file = join(place, 'audit.ndjson')
    const outcome = { written: 0, lost: 0 }
    const onFailure = chance(0.5) ? 'continue' : 'block'
    let time = Date.parse('2026-11-28T10:00:00Z')
    const clock = () => new Date(time += below(2) * 1_800_000)
    const runs = 1 + below(4)
    for (let at = 0; at < runs; at++) {
      Object.assign(disk, { faults: below(3) * 0.05, deaths: below(3) * 0.01, isDead: false, isOn: true })
      await run(file, outcome, onFailure, clock)
      disk.isOn = false
      // The claim of a process that died is taken over.
      fs.rmSync(`${file}.lock`, { force: true })
    }
    const last = { written: 0, lost: 0 }
    await run(file, last, 'block', clock)
    outcome.written += last.written
    const results = (await findLogs([place])).map(files => verify(files))
    counts.recovered += results.reduce((sum, one) => sum + one.recovered, 0)
    counts.lost += outcome.lost
    counts.rotated += fs.readdirSync(place).length - 1
    const fault = faultOf(place, results, outcome)
    if (fault !== undefined) t.fail(`history ${history}: ${fault}`)
    if (python && history % 100 === 0) {
      const [files = []] = await findLogs([place])
      const { status, stdout, stderr } = spawnSync('python3', [reader, ...files], { encoding: 'utf8' })
      t.equal(status, 0, `history ${history}: ${stdout}${stderr}`)
    }
    if (fault === undefined) fs.rmSync(place, { recursive: true })
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.recovered > histories / 100 && counts.lost > histories / 10 && counts.rotated > histories / 10)
})
