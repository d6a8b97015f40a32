import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readPublicKey } from '#relay/audit/checkpoint.js'
import { findLogs } from '#relay/audit/read/logs.js'
import { verify } from '#relay/audit/read/verify.js'

const golden = fileURLToPath(new URL('../../../../test/fixtures/audit/golden/', import.meta.url))
const reader = fileURLToPath(new URL('../../../../docs/verify_audit.py', import.meta.url))
const pub = join(golden, 'audit.pub')
const keys = [readPublicKey(pub)]

const notSigned = 'not signed by the key: it, or something before it, is not what was written'

/** Logs as they were written once, and what two readers that share no code say of them. */
const cases = [
  // name, files, by the key?, [line, reason] here, what the other reader says
  ['a log', ['plain'], false, undefined, 'ok, 5 records'],
  [
    'a log that nobody signed, by the key', ['plain'], true, [0, 'nothing in it is signed by the key'],
    'nothing is signed',
  ],
  ['a signed log', ['signed'], true, undefined, 'ok, 7 records'],
  ['a log of two files', ['rotated.1', 'rotated.2'], true, undefined, 'ok, 11 records'],
  ['a log whose first file is gone', ['rotated.2'], true, undefined, 'ok, 11 records'],
  ['a log that survived a crash', ['recovered'], false, undefined, 'ok, 9 records'],
  [
    'a record changed', ['changed'], false, [3, 'changed: its hash does not match'],
    'changed.ndjson:3: changed',
  ],
  [
    'a record removed', ['removed'], false, [4, '1 record is missing before it'],
    'removed.ndjson:4: does not follow the record before it',
  ],
  [
    'two records moved', ['moved'], false, [3, '1 record is missing before it'],
    'moved.ndjson:3: does not follow the record before it',
  ],
  [
    'a space put in', ['respelt'], false, [4, 'changed: spelt otherwise than it was written'],
    'respelt.ndjson:4: changed',
  ],
  [
    'a log cut in its last line', ['cut'], false, [7, 'half-cut or overwritten: it is not JSON'],
    'cut.ndjson:7: half-cut',
  ],
  ['a record removed, and the rest hashed anew', ['hashed-anew'], false, undefined, 'ok, 6 records'],
  [
    'the same, by the key', ['hashed-anew'], true, [6, notSigned],
    'hashed-anew.ndjson:6: not signed by the key',
  ],
] as const

const runs = (...args: readonly string[]): boolean => spawnSync('python3', args).status === 0
const python = runs('--version')
const cryptography = runs('-c', 'import cryptography')

for (const [name, names, byKey, wrong, said] of cases) {
  const files = names.map(one => join(golden, `${one}.ndjson`))

  t.test(`${name}: as it was always judged`, async t => {
    const [log = []] = await findLogs([...files].reverse())
    const { ok, first } = verify(log, { keys: byKey ? keys : [] })
    t.strictSame(
      [ok, first], [wrong === undefined, wrong && { file: files[0], line: wrong[0], reason: wrong[1] }],
    )
  })

  const skip = !python ? 'no python3 here' : byKey && !cryptography && 'python3 has no cryptography here'
  t.test(`${name}: a reader in Python says the same`, { skip }, async t => {
    const { status, stdout, stderr } =
      spawnSync('python3', [reader, ...(byKey ? ['--key', pub] : []), ...files], { encoding: 'utf8' })
    t.strictSame(
      [status, (stdout + stderr).replaceAll(golden, '')], [wrong === undefined ? 0 : 1, `${said}\n`],
    )
  })
}

t.test('the reader in Python looks for a head', { skip: !python && 'no python3 here' }, async t => {
  const file = join(golden, 'plain.ndjson')
  const { records } = verify([file])
  t.equal(records, 5)
  t.match(spawnSync('python3', [reader, '--head', '0'.repeat(64), file], { encoding: 'utf8' }), {
    status: 1, stderr: 'the head is not there\n',
  })
})
