import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { canonical } from '#relay/base/canonical.js'
import { verify } from '#relay/audit/read/verify.js'
import { openAudit } from '#relay/audit/sink.js'
import { scratch } from '#test/e2e/bridge.js'
import { numbers } from '#test/desk/report/records.js'
import { called, ended, entry, started } from '../entries.js'

/** DAMAGED=10000 is the hunt; a share of it is for every day. */
const count = Number(process.env['DAMAGED'] ?? 400)
const docs = fileURLToPath(new URL('../../../../docs', import.meta.url))

const folder = scratch(t)
const file = join(folder, 'log.ndjson')
for (let run = 0; run < 2; run++) {
  const audit = await openAudit({ file, server: 'weather', maxBytes: 1 << 20 })
  const odd = entry({
    arguments: Buffer.from('{"é\\u00ab":"\ufffd","n":[1e21,0.1,-0,1e-7,123456789012345680000,5e-324]}'),
    tool: 'ünïcode', ms: 0.001,
  })
  for (const one of [
    started, called, odd, entry({ event: 'roots/list', from: 'server', id: 'a' }), called, ended,
  ]) audit.write(one, 'full')
  audit.close()
}
const lines = readFileSync(file, 'utf8').trimEnd().split('\n')

const random = numbers(Number(process.env['SEED'] ?? 7))
const below = (most: number): number => Math.floor(random() * most)
const oneOf = <One>(list: readonly One[]): One => list[below(list.length)] as One

/** Sealed anew by whoever has changed it: a chain has no key. */
const resealed = (line: string, change: (record: Record<string, unknown>) => void): string => {
  const record = JSON.parse(line) as Record<string, unknown>
  delete record['hash']
  change(record)
  return canonical({ ...record, hash: createHash('sha256').update(canonical(record)).digest('hex') })
}

const garbage: readonly (string | Buffer)[] = [
  '', ' ', '\t', 'hello', '{}', '[]', 'null', '0', '"a"', '{"event":"x"}',
  '{"seq":1,"hash":"","prev":"","event":"","time":""}', '{"bytes":{"requ', '{"by', '{',
  '{"error":1', '\ufeff{}', 'NaN', '{"seq":NaN}', '\u0000', '\u0000'.repeat(4096),
  `{"client":{"n${'\u0000'.repeat(600)}`, `${'\u0000'.repeat(9)}x`, Buffer.from([0xff]),
  Buffer.from([0xed, 0xa0, 0x80]), `${'['.repeat(3000)}${']'.repeat(3000)}`,
  '{"seq":1e400,"hash":"a","prev":"b","event":"c","time":"d"}', '\r',
  '{"bytes":1,"seq":true,"hash":"","prev":"","event":"session/start","time":""}',
]

/** Ways in which a log is damaged, or looks as if it were. */
const ways: readonly ((log: (string | Buffer)[]) => void)[] = [
  log => void log.splice(below(log.length + 1), 0, oneOf(garbage)),
  log => void log.splice(below(log.length), 1),
  log => void log.splice(below(log.length), 0, oneOf(log)),
  log => void log.splice(below(log.length), 1, oneOf(garbage)),
  log => {
    const at = below(log.length)
    const bytes = Buffer.from(log[at] ?? '')
    if (bytes.length > 0) bytes[below(bytes.length)] = below(256)
    log[at] = bytes
  },
  log => {
    const at = below(log.length)
    const bytes = Buffer.from(log[at] ?? '')
    log[at] =
      Buffer.concat([bytes.subarray(0, below(bytes.length + 1)), Buffer.alloc(oneOf([0, 0, 1, 4096]))])
  },
  log => {
    const at = below(log.length)
    const text = String(log[at])
    log[at] = oneOf([
      `${text} `, ` ${text}`, `${text}\r`, text.replace(',', ', '), text.replace('"seq":', '"seq":0,"seq":'),
      text.replace(/"hash":"[^"]*",/, ''), text.replace('e', '\\u0065'),
    ])
  },
  log => {
    const at = below(log.length)
    try {
      log[at] = resealed(String(log[at]), record => {
        oneOf<(one: Record<string, unknown>) => void>([
          one => void (one['from'] = oneOf(['server', 'relay', 'client', 1])),
          one => void (one['event'] = oneOf(['session/start', 'audit/checkpoint'])),
          one => void (one['reason'] = oneOf(['start', 'continuation', 'end'])),
          one => void (one['seq'] = oneOf([1, 2, 7, 1.5, -1, 1e21, '3'])),
          one => void (one['prev'] = oneOf(['0'.repeat(64), 'x'])),
          one => void (one['more'] = oneOf([1e-7, 1e300, '\u2028', '\ud800', { b: 1, a: [null, true] }])),
        ])(record)
      })
    } catch {
      // It is no record any more.
    }
  },
]

interface Said {
  readonly ok: boolean
  readonly place: string | undefined
}

const here = (name: string): Said => {
  const { ok, first } = verify([name])
  return { ok, place: first && `${first.line}` }
}

const driver = `
import sys
sys.path.insert(0, sys.argv[1])
from verify_audit import verify, Damaged
for name in open(sys.argv[2]).read().splitlines():
    try:
        verify([name])
        print('ok')
    except Damaged as damage:
        print(str(damage)[len(name) + 1:].split(':')[0])
`

const python = spawnSync('python3', ['--version']).status === 0

t.test('two readers that share no code say the same of damaged logs, and name the same line', {
  skip: !python && 'no python3 here',
}, t => {
  mkdirSync(join(folder, 'logs'))
  const names: string[] = []
  for (let at = 0; at < count; at++) {
    const log: (string | Buffer)[] = [...lines]
    for (let times = oneOf([1, 1, 1, 2, 3]); times > 0 && log.length > 0; times--) oneOf(ways)(log)
    const name = join(folder, 'logs', `${at}.ndjson`)
    const bytes = Buffer.concat(log.flatMap((line, index) => [
      Buffer.from(line), Buffer.from(index === log.length - 1 && below(8) === 0 ? '' : '\n'),
    ]))
    writeFileSync(name, below(20) === 0 ? Buffer.concat([bytes, Buffer.alloc(4096)]) : bytes)
    names.push(name)
  }
  const list = join(folder, 'names')
  writeFileSync(list, names.join('\n'))
  const { stdout, stderr, status } =
    spawnSync('python3', ['-c', driver, docs, list], { encoding: 'utf8', maxBuffer: 1 << 26 })
  t.equal(status, 0, stderr)
  const theirs = stdout.trimEnd().split('\n')
  let fine = 0
  for (const [at, name] of names.entries()) {
    const { ok, place } = here(name)
    if (ok) fine++
    const said = ok ? 'ok' : place
    if (said !== theirs[at]) {
      t.fail(`${at}: here ${said}, there ${theirs[at]}: ${JSON.stringify(verify([name]).first)}`)
    }
  }
  t.ok(fine > 0 && fine < count / 2, `${fine} of ${count} are fine`)
  t.end()
})
