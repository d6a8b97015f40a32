import {
  chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readFileText, save } from '#desk/install/clients/save.js'

const before = '\ufeff{\r\n}'

t.test('a file is replaced as a whole, with its mode and a backup beside it', async t => {
  const folder = t.testdir({ 'a.json': before })
  const file = join(folder, 'a.json')
  chmodSync(file, 0o640)
  const { ino } = statSync(file)
  const backup = await save(file, before, 'after')
  t.equal(readFileSync(file, 'utf8'), 'after')
  t.equal(backup, `${file}.mcp-customs.bak`)
  t.same(readFileSync(backup), Buffer.from(before))
  t.same([file, backup].map(path => statSync(path).mode & 0o777), [0o640, 0o640])
  t.not(statSync(file).ino, ino, 'it is another file: nobody reads half of it')
  t.same(readdirSync(folder).sort(), ['a.json', 'a.json.mcp-customs.bak'], 'nothing else is left')
})

t.test('no backup is ever written over, and none is made twice', async t => {
  const folder = t.testdir({ 'a.json': 'one' })
  const file = join(folder, 'a.json')
  await save(file, 'one', 'two')
  await save(file, 'two', 'one')
  const backup = await save(file, 'one', 'three')
  t.equal(backup, `${file}.mcp-customs.bak`, 'what it holds is kept already')
  t.same(readdirSync(folder).sort(), ['a.json', 'a.json.mcp-customs.2.bak', 'a.json.mcp-customs.bak'])
  t.same(['', '.2'].map(number => readFileSync(`${file}.mcp-customs${number}.bak`, 'utf8')), ['one', 'two'])
})

t.test('a file that has changed since it was read is left as it is', async t => {
  const folder = t.testdir({ 'a.json': 'changed' })
  const file = join(folder, 'a.json')
  await t.rejects(
    save(file, before, 'after'),
    { code: 'BAD_CONFIG', message: /has changed since it was shown: nothing was written/ },
  )
  t.equal(readFileSync(file, 'utf8'), 'changed')
  t.same(readdirSync(folder).filter(name => name.endsWith('.tmp')), [])
})

t.test('a link to a file stays one', async t => {
  const folder = t.testdir({ dotfiles: { 'a.json': 'one' } })
  const link = join(folder, 'a.json')
  symlinkSync(join(folder, 'dotfiles', 'a.json'), link)
  const backup = await save(link, 'one', 'two')
  t.ok(lstatSync(link).isSymbolicLink())
  t.equal(readFileSync(join(folder, 'dotfiles', 'a.json'), 'utf8'), 'two')
  t.equal(backup, join(folder, 'dotfiles', 'a.json.mcp-customs.bak'))
})

t.test('files that cannot be read or written are reported in one line', async t => {
  const folder = t.testdir({ 'latin.json': '' })
  writeFileSync(join(folder, 'latin.json'), Buffer.from([0x7b, 0xe9, 0x7d]))
  await t.rejects(
    readFileText(join(folder, 'latin.json')), { code: 'BAD_CONFIG', message: /latin\.json: is no UTF-8 text$/ },
  )
  await t.rejects(readFileText(folder), { code: 'BAD_CONFIG', message: /cannot be read: .*\(EISDIR\)$/ })
  t.equal(await readFileText(join(folder, 'none.json')), undefined)
  await t.rejects(
    save(join(folder, 'none.json'), '', 'a'),
    { code: 'BAD_CONFIG', message: /none\.json: cannot be written: .*\(ENOENT\)$/ },
  )
  mkdirSync(join(folder, 'sub'))
  await t.rejects(save(join(folder, 'sub'), '', 'a'), { code: 'BAD_CONFIG' })
})
