import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openAudit } from '#relay/audit/sink.js'
import { verificationLine } from '#desk/audit/command.js'
import { called, ended, started } from '../../relay/audit/entries.js'
import { cli, scratch } from '../../e2e/bridge.js'

const directory = scratch(t)
const at = (...names: readonly string[]): string => join(directory, ...names)

const verify = (...given: readonly string[]): { status: number | null; stdout: string; stderr: string } => {
  const { status, stdout, stderr } =
    spawnSync(process.execPath, [cli, 'audit', 'verify', ...given], { encoding: 'utf8', cwd: directory })
  return { status, stdout, stderr }
}

const pair = (name: string): void => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  writeFileSync(at(`${name}.key`), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(at(`${name}.pub`), publicKey.export({ type: 'spki', format: 'pem' }))
}
pair('ours')
pair('other')

const write = async (file: string, signKey?: string): Promise<string> => {
  const heads: string[] = []
  const log = { checkpoint: (
    _file: string | undefined, { hash }: { hash: string },
  ) => void heads.push(hash), warn: () => undefined }
  const audit = await openAudit({ file: at(file), server: 'weather', signKey, log })
  for (const one of [started, called, ended]) audit.write(one)
  audit.close()
  return heads.at(-1) ?? ''
}

const head = await write('plain.ndjson')
const signedHead = await write('signed.ndjson', at('ours.key'))
const [, ...tail] = readFileSync(at('plain.ndjson'), 'utf8').split('\n')
writeFileSync(at('bad.ndjson'), tail.join('\n'))
mkdirSync(at('folder', 'deeper'), { recursive: true })
for (const name of ['plain', 'signed']) {
  writeFileSync(at('folder', 'deeper', `${name}.ndjson`), readFileSync(at(`${name}.ndjson`)))
}
writeFileSync(at('folder', 'notes.txt'), 'no log')
mkdirSync(at('empty'))

const none = '0'.repeat(63)
const cases = [
  ['an untouched log', ['plain.ndjson'], 0, 'plain.ndjson: ok, 3 records\n'],
  ['a log without its first line', ['bad.ndjson'], 1, 'bad.ndjson:1: 1 record is missing before it\n'],
  [
    'one that is right and one that is not', ['bad.ndjson', 'plain.ndjson'], 1,
    'bad.ndjson:1: 1 record is missing before it\nplain.ndjson: ok, 3 records\n',
  ],
  [
    'a folder, with all below it', ['folder'], 0,
    'folder/deeper/plain.ndjson: ok, 3 records\nfolder/deeper/signed.ndjson: ok, 5 records\n',
  ],
  [
    'a log by the key that signed it', ['--key', 'ours.pub', 'signed.ndjson'], 0,
    'signed.ndjson: ok, 5 records, 2 signed checkpoints\n',
  ],
  [
    'a log by two keys, of which one signed it', ['--key', 'other.pub', '--key', 'ours.pub', 'signed.ndjson'],
    0, 'signed.ndjson: ok, 5 records, 2 signed checkpoints\n',
  ],
  ['a log by another key', ['--key', 'other.pub', 'signed.ndjson'], 1, 'signed.ndjson:1: not signed by the ' +
    'key: it, or something before it, is not what was written; 1 more line wrong after it\n'],
  ['a log that nobody signed, by a key', ['--key', 'ours.pub', 'plain.ndjson'], 1, 'plain.ndjson: nothing ' +
    'in it is signed by the key; open: 1 start without the checkpoint that ends it; not signed: the last 3 ' +
    'records\n'],
  [
    'heads that are there', ['--head', head.toUpperCase(), '--head', signedHead, 'folder'], 0,
    'folder/deeper/plain.ndjson: ok, 3 records\nfolder/deeper/signed.ndjson: ok, 5 records\n',
  ],
  [
    'a head that is not', ['--head', `${none}1`, 'plain.ndjson'], 1,
    `plain.ndjson: ok, 3 records\nhead ${none}1: no record has this hash any more\n`,
  ],
] as const

for (const [name, given, status, stdout] of cases) {
  t.test(`audit verify: ${name}`, async t => {
    t.strictSame(verify(...given), { status, stdout, stderr: '' })
  })
}

const mistakes = [
  ['a file that is not there', ['nowhere'], /: nowhere: cannot be read: .*\(ENOENT\)\n$/],
  ['a folder without logs', ['empty'], /: empty: no audit log is there\n$/],
  ['no file', [], /: usage: mcp-customs audit verify/],
  [
    'a head that is none', ['--head', 'abc', 'plain.ndjson'],
    /: --head "abc": no hash of a record \(64 hex digits\)\n$/,
  ],
  [
    'a key that is not there', ['--key', 'nowhere', 'plain.ndjson'],
    /: nowhere: cannot be read: .*\(ENOENT\)\n$/,
  ],
  [
    'a key that is none', ['--key', 'plain.ndjson', 'plain.ndjson'],
    /: plain\.ndjson: is no Ed25519 public key in PEM\n$/,
  ],
] as const

for (const [name, given, stderr] of mistakes) {
  t.test(`audit verify: ${name} is a mistake, said in one line`, async t => {
    t.match(verify(...given), { status: 2, stdout: '', stderr })
  })
}

t.test('audit verify: a log that comes through a pipe is read from its beginning', t => {
  const file = at('long.ndjson')
  const records = readFileSync(at('plain.ndjson'), 'utf8')
  for (const [name, text, status] of [['as it was', records, 0], ['cut', records.slice(100), 1]] as const) {
    writeFileSync(file, text)
    const command = `cat ${file} | ${process.execPath} ${cli} audit verify /dev/stdin`
    t.equal(spawnSync('sh', ['-c', command], { encoding: 'utf8' }).status, status, name)
  }
  t.end()
})

t.test('there is no other action', async t => {
  const { status, stderr } = spawnSync(
    process.execPath, [cli, 'audit', 'explain', 'plain.ndjson'], { encoding: 'utf8', cwd: directory },
  )
  t.strictSame(
    [status, stderr], [2, 'mcp-customs: audit "explain": no such action (there is: verify, show, report)\n'],
  )
})

t.test('the report is one line', t => {
  const open = { sessions: 0, runs: 0, unsigned: 0, file: false }
  const fine = {
    ok: true, records: 12, first: undefined, problems: 0, earlier: 0, recovered: 0, lost: 0, open,
    signed: undefined, heads: [],
  }
  t.equal(verificationLine(['a.ndjson'], fine), 'a.ndjson: ok, 12 records')
  t.equal(
    verificationLine(['/l/a.1.ndjson', '/l/a.2.ndjson', '/l/a.ndjson'], fine),
    '/l/a.1.ndjson to a.ndjson: ok, 12 records',
  )
  t.equal(
    verificationLine(['a.ndjson'], {
      ...fine, records: 1, earlier: 2, recovered: 1, lost: 2,
      open: { sessions: 1, runs: 1, unsigned: 3, file: true }, signed: 1,
    }),
    'a.ndjson: ok, 1 record, 1 signed checkpoint; 2 records before them are not here; recovered: 1 line ' +
    'that a crash cut short; lost: 2 records that could not be written; ' +
      'open: 1 session without session/end; open: 1 start without the checkpoint that ends it; not signed: ' +
      'the last 3 records; ' +
      'open: the file that follows is not here',
  )
  const bad = { ...fine, ok: false, first: { file: 'b.ndjson', line: 7, reason: 'changed' }, problems: 1 }
  t.equal(verificationLine(['a.ndjson', 'b.ndjson'], bad), 'b.ndjson:7: changed')
  t.equal(
    verificationLine(['a.ndjson'], { ...bad, problems: 3, open: { ...open, sessions: 2 } }),
    'b.ndjson:7: changed; 2 more lines wrong after it; open: 2 sessions without session/end',
  )
  t.end()
})
