import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { openAudit } from '#relay/audit/sink.js'
import { verify, type Verification } from '#relay/audit/read/verify.js'
import { scratch } from '#test/e2e/bridge.js'
import { called, ended, entry, started } from '../entries.js'

const directory = scratch(t)

/** A log of one session. */
const log = await (async () => {
  const file = join(directory, 'log.ndjson')
  const audit = await openAudit({ file, server: 'weather' })
  const odd = entry({ arguments: Buffer.from('{"é\\u00ab":"\ufffd","n":[1e21,0.1,-0]}'), tool: 'ünïcode' })
  for (const one of [
    started, called, odd, called, entry({ event: 'tools/list' }), ended,
  ]) audit.write(one, 'full')
  audit.close()
  return readFileSync(file)
})()

const lines = log.toString('utf8').trimEnd().split('\n')

let files = 0
const verdict = (content: Buffer | string): Verification => {
  const file = join(directory, `${++files % 100}.ndjson`)
  writeFileSync(file, content)
  return verify([file])
}

const assemble = (kept: readonly string[]): string => kept.map(line => `${line}\n`).join('')

const fine: Verification = {
  ok: true, records: 6, first: undefined, problems: 0, earlier: 0, recovered: 0, lost: 0,
  open: { sessions: 0, runs: 0, unsigned: 0, file: false }, signed: undefined, heads: [],
}

t.test('an untouched log is fine', async t => {
  t.strictSame(verdict(log), fine)
})

t.test('any changed byte is found, in its line', async () => {
  await fc.assert(fc.asyncProperty(fc.nat(log.length - 1), fc.integer(
    { min: 1, max: 255 },
  ), async (at, flip) => {
    // A zero in place of the last line end is the tail of a power loss, which has a test of its own.
    fc.pre(at !== log.length - 1 || flip !== 0x0a)
    const changed = Buffer.from(log)
    changed[at] = (changed[at] ?? 0) ^ flip
    const line = log.subarray(0, at).toString('latin1').split('\n').length
    const found = verdict(changed)
    return !found.ok && found.first?.line === line
  }), { numRuns: 500 })
})

t.test('any removed or added byte is found', async () => {
  await fc.assert(fc.asyncProperty(fc.nat(log.length - 1), fc.boolean(), fc.integer(
    { min: 0, max: 255 },
  ), async (at, add, byte) => {
    const piece = add ? Buffer.from([byte]) : Buffer.alloc(0)
    const changed = Buffer.concat([log.subarray(0, at), piece, log.subarray(add ? at : at + 1)])
    return changed.equals(log) || !(verdict(changed)).ok
  }), { numRuns: 200 })
})

t.test('a zero before the end of the last line is found: a power loss leaves no line end behind its zeros', async t => {
  const last = log.length - 1
  t.match(verdict(Buffer.concat([log.subarray(0, last), Buffer.from([0]), log.subarray(last)])), {
    ok: false, recovered: 0,
  })
  t.match(verdict(Buffer.concat([log.subarray(0, last), Buffer.from([0])])), { ok: true, recovered: 1 })
})

t.test('any cut is found; one at the end of a line shows as an open session', async t => {
  for (let length = 0; length < log.length; length++) {
    const whole = length > 0 && log[length - 1] === 0x0a
    // Every seventh, and all about the ends of the lines.
    if (length % 7 !== 0 && !whole && log[length] !== 0x0a && log[length - 2] !== 0x0a) continue
    const found = verdict(log.subarray(0, length))
    const seen = whole ? found.ok && found.open.sessions === 1 : !found.ok
    if (!seen) t.fail(`a cut to ${length} bytes was not seen`)
  }
  t.match(verdict(''), { ok: false, first: { line: 1, reason: 'the file is empty' } })
})

t.test('any removed line but the last is found, and named by the one after it', async t => {
  for (let at = 0; at < lines.length - 1; at++) {
    t.match(verdict(assemble(lines.filter((_, index) => index !== at))), {
      ok: false, problems: 1, first: { line: at + 1, reason: '1 record is missing before it' },
    })
  }
  t.match(verdict(assemble(lines.slice(0, -1))), { ok: true, open: { sessions: 1 } })
  t.match(verdict(assemble(lines.slice(2))), {
    ok: false, first: { line: 1, reason: '2 records are missing before it' },
  })
})

t.test('any other order, and any repetition, is found', async t => {
  await fc.assert(fc.asyncProperty(fc.shuffledSubarray(
    [...lines.keys()], { minLength: lines.length },
  ), async order => {
    const moved = order.findIndex((from, to) => from !== to)
    const found = verdict(assemble(order.map(index => lines[index] ?? '')))
    return moved < 0 ? found.ok : !found.ok && found.first?.line === moved + 1
  }), { numRuns: 200 })
  for (const [at, line] of lines.entries()) {
    t.match(verdict(assemble([...lines.slice(0, at + 1), line, ...lines.slice(at + 1)])), {
      ok: false, first: { line: at + 2 },
    })
  }
})

t.test('a record from another log does not fit in', async t => {
  const file = join(directory, 'other', 'log.ndjson')
  const audit = await openAudit({ file, server: 'weather' })
  for (const one of [started, called, called]) audit.write(one, 'full')
  audit.close()
  const [, , foreign = ''] = readFileSync(file, 'utf8').split('\n')
  t.match(verdict(assemble(lines.with(2, foreign))), {
    ok: false, first: { line: 3, reason: 'does not follow the record before it' },
  })
})

const foreign = [
  ['a line that is no JSON', 'hello', 'half-cut or overwritten: it is not JSON'],
  ['a line that is no record', '{}', 'not a record'],
  ['a list', '[]', 'not a record'],
  ['an empty line', '', 'half-cut or overwritten: it is not JSON'],
  ['a byte that is not UTF-8', Buffer.from([0xff]), 'half-cut or overwritten: it is not JSON'],
  [
    'a tower of brackets',
    `{"seq":1,"hash":"","prev":"","event":"","time":"","a":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    'changed: spelt otherwise than it was written',
  ],
] as const

for (const [name, line, reason] of foreign) {
  t.test(`${name} is named, and the chain is followed past it`, async t => {
    const content =
      Buffer.concat([Buffer.from(assemble(lines.slice(0, 3))), Buffer.from(line), Buffer.from(
        `\n${assemble(lines.slice(3))}`,
      )])
    t.match(verdict(content), { ok: false, first: { line: 4, reason } })
  })
}

t.test('each tampered line counts once', async t => {
  const changed = lines.map(
    (line, at) =>
      (at === 1 || at === 4 ? line.replace('"pass"', '"log"').replace('"block"', '"pass"') : line),
  )
  t.match(verdict(assemble(changed)), { ok: false, problems: 2, first: { line: 2 }, records: 6 })
})

t.test('a log that is too long for memory is read in a stream', async t => {
  const file = join(directory, 'long.ndjson')
  const audit = await openAudit({ file, server: 'weather' })
  audit.write(started, 'full')
  for (let at = 0; at < 30; at++) audit.write(
    entry({ result: Buffer.from(JSON.stringify('x'.repeat(300_000 + at))) }), 'full',
  )
  audit.write(ended, 'full')
  audit.close()
  t.match(verify([file]), { ok: true, records: 32, open: { sessions: 0 } })
})

t.test('a line that begins as a record, and no start after it, is a changed line', async t => {
  for (const at of [1, 3, 6]) {
    const content = assemble([...lines.slice(0, at), '{"bytes":{"requ', ...lines.slice(at)])
    t.match(verdict(content), {
      ok: false, recovered: 0, problems: 1,
      first: { line: at + 1, reason: 'half-cut or overwritten: it is not JSON' },
    })
  }
})

t.test('a session that only its server calls ended is open, and the relay did not sign what a peer asked', async t => {
  const says = (event: string) => entry({ event, from: 'server', id: 's', reason: 'start' })
  const file = join(directory, 'hostile.ndjson')
  const audit = await openAudit({ file, server: 'weather' })
  for (const one of [
    started, says('session/end'), says('audit/checkpoint'), says('tools/call'),
  ]) audit.write(one)
  t.match(verify([file], { keys: [] }), { ok: true, records: 4, open: { sessions: 1 } })
  audit.close()
})
