import { createPublicKey, verify as verifySignature } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { canonical, sha256 } from '#relay/base/canonical.js'
import { verify } from '#relay/audit/read/verify.js'
import { scratch } from '../../e2e/bridge.js'
import { called, ended, entry, started } from './entries.js'
import { clock, keysIn, listener, open, records, writeSession } from './logs.js'

const directory = scratch(t)
writeFileSync(join(directory, 'plain'), 'no key')
const { signKey, pub, key } = keysIn(directory)
const events = (file: string): unknown[] =>
  records(file).map(({ event, reason }) => (event === 'audit/checkpoint' ? reason : event))

t.test('checkpoints stand at the start, every minute, at the end; the operator is told of each', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const time = clock('2026-11-21T10:00:00Z')
  const { log, heads } = listener()
  const audit = await open(file, { signKey, log, now: time.now })
  audit.write(started)
  time.pass(60_000)
  audit.write(called)
  time.pass(59_999)
  audit.write(ended)
  audit.close()
  t.strictSame(events(file), ['start', 'session/start', 'tools/call', 'interval', 'session/end', 'end'])
  t.strictSame(
    heads, records(file).filter(({ event }) => event === 'audit/checkpoint').map(({ hash }) => hash),
  )
  t.match(verify([file], { keys: [key], heads }), {
    ok: true, signed: 3, heads, open: { sessions: 0, runs: 0, unsigned: 0 },
  })
})

t.test('and after a thousand records', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const audit = await open(file, { signKey })
  for (let at = 0; at < 2500; at++) audit.write(entry())
  audit.close()
  t.strictSame(records(file).flatMap(({ event, seq }) => (event === 'audit/checkpoint' ? [seq] : [])), [
    1, 1002, 2003, 2504,
  ])
})

t.test('without a key nothing is written, but the operator is told of the heads', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const { log, heads } = listener()
  await writeSession(file, { log })
  t.strictSame(events(file), ['session/start', 'tools/call', 'session/end'])
  t.match(verify([file], { heads }), { ok: true, heads: [records(file).at(-1)?.hash] })
})

t.test('a signature is of the canonical record without hash and signature, for anybody to check', async t => {
  const file = await writeSession(join(t.testdir(), 'audit.ndjson'), { signKey })
  const record = records(file).at(-1)
  const signed = Buffer.from(canonical({ ...record, hash: undefined, signature: undefined }))
  t.ok(verifySignature(
    null, signed, createPublicKey(readFileSync(pub)), Buffer.from(String(record?.signature), 'base64'),
  ))
})

t.test('each file that rotation ends and begins is signed', async t => {
  const folder = t.testdir()
  const time = clock('2026-11-21T10:00:00Z')
  const file = join(folder, 'audit.ndjson')
  const audit = await open(file, { signKey, rotate: 'hourly', now: time.now })
  audit.write(started)
  time.pass(3_600_000)
  audit.write(ended)
  audit.close()
  const before = join(folder, 'audit.2026-11-21T11-00-00.000Z.ndjson')
  t.strictSame([events(before), events(file)], [
    ['start', 'session/start', 'rotation'], ['continuation', 'session/end', 'end'],
  ])
  t.match(verify([before, file], { keys: [key] }), { ok: true, signed: 4 })
  t.match(verify([file], { keys: [key] }), { ok: true, earlier: 3 })
})

const badKeys = [
  ['is not there', join(directory, 'nowhere'), /nowhere: cannot be read: .*\(ENOENT\)$/],
  ['is none', join(directory, 'plain'), /plain: is no Ed25519 private key in PEM$/],
  ['is the public one', pub, /audit\.pub: is no Ed25519 private key in PEM$/],
] as const

for (const [name, file, message] of badKeys) {
  t.test(`a key that ${name} is an error of the configuration, before anything is written`, async t => {
    await t.rejects(open(join(t.testdir(), 'audit.ndjson'), { signKey: file }), {
      code: 'BAD_CONFIG', exitCode: 2, message,
    })
  })
}

/**
 * A log of three runs of the relay, with checkpoints in the midst of them: its lines, and the last head that
 * the operator has seen.
 */
const { lines, head } = await (async () => {
  const file = join(directory, 'log.ndjson')
  const time = clock('2026-11-21T10:00:00Z')
  const { log, heads } = listener()
  for (let run = 0; run < 3; run++) {
    const audit = await open(file, { signKey, log, now: time.now })
    audit.write({ ...started, session: `s-${run}` })
    for (let at = 0; at < 12; at++) {
      time.pass(20_000)
      audit.write({ ...called, id: at, session: `s-${run}` })
    }
    audit.write({ ...ended, session: `s-${run}` })
    audit.close()
  }
  return { lines: readFileSync(file, 'utf8').trimEnd().split('\n'), head: heads.at(-1) ?? '' }
})()

/**
 * What somebody can do who may write the file and has no key: everything after the change is numbered,
 * chained and hashed anew.
 */
const hashedAnew = (kept: readonly string[]): string => {
  let [seq, prev] = [0, '0'.repeat(64)]
  return kept.map(line => {
    const record = { ...(JSON.parse(line) as Record<string, unknown>), hash: undefined, seq: ++seq, prev }
    prev = sha256(canonical(record))
    return `${canonical({ ...record, hash: prev })}\n`
  }).join('')
}

const isCheckpoint = (line: string): boolean => line.includes('"event":"audit/checkpoint"')
const passed = (line: string): string =>
  line.replace('"verdict":"block"', '"verdict":"pass"').replace(/"findings":\[.*?\],"/, '"findings":[],"')

const attacks: Readonly<Record<string, (at: number, count: number) => readonly string[]>> = {
  'a tail cut off': at => lines.slice(0, at),
  'records removed': (at, count) => [...lines.slice(0, at), ...lines.slice(at + count)],
  'records changed': (at, count) =>
    lines.map((line, index) => (index >= at && index < at + count ? passed(line) : line)),
  'a record repeated': at => [...lines.slice(0, at), ...lines.slice(Math.max(0, at - 1))],
  'records swapped': (at, count) => lines.with(at, lines[(at + count) % lines.length] ?? '')
    .with((at + count) % lines.length, lines[at] ?? ''),
  'the beginning removed': at => lines.slice(at),
  'all checkpoints but the last removed, with records': (at, count) => lines.filter(
    (line, index) =>
      index === lines.length - 1 || !(isCheckpoint(line) || (index >= at && index < at + count)),
  ),
  'a change, and no checkpoint after it': at =>
    [...lines.slice(0, at), ...lines.slice(at).filter(line => !isCheckpoint(line)).map(passed)],
  'a change, and the checkpoints after it without signatures': at =>
    lines.map((line, index) => (index < at ? line : passed(line).replace(/"signature":"[^"]*",/, ''))),
  'signatures of earlier checkpoints put into later ones': at => {
    const old = /"signature":"[^"]*",/.exec(lines[0] ?? '')?.[0] ?? ''
    return lines.map((line, index) => (index < at ? line : passed(line).replace(/"signature":"[^"]*",/, old)))
  },
}

t.test('whatever is changed, cut off or removed, with everything after it hashed anew, is found', async t => {
  const whole = hashedAnew(lines)
  t.equal(whole, lines.map(line => `${line}\n`).join(''), 'what was not changed hashes to the same')
  const file = join(directory, 'attacked.ndjson')
  let found = 0
  await fc.assert(fc.asyncProperty(fc.constantFrom(
    ...Object.values(attacks),
  ), fc.nat(lines.length - 1), fc.integer({ min: 1, max: 9 }), async (attack, at, count) => {
    const content = hashedAnew(attack(at, count))
    fc.pre(content !== whole)
    writeFileSync(file, content)
    // The chain alone shows nothing of it.
    if (content !== '' && !(verify([file])).ok) return false
    const { ok, heads } = verify([file], { keys: [key], heads: [head] })
    found += 1
    return !ok || heads.length === 0
  }), { numRuns: 1000 })
  t.equal(found, 1000)
})

t.test('without the head, a cut shows as an opening that has no end, unless it falls between two runs', async t => {
  const file = join(directory, 'cut.ndjson')
  for (let length = 1; length < lines.length; length++) {
    writeFileSync(file, hashedAnew(lines.slice(0, length)))
    const { ok, open: { runs, unsigned } } = verify([file], { keys: [key] })
    const last = lines[length - 1] ?? ''
    t.strictSame([ok, runs > 0, unsigned > 0], [true, !last.includes('"reason":"end"'), !isCheckpoint(last)])
  }
})
