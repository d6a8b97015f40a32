import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import {
  addNotes, noteFor, readRecord, recordFile, removeNotes, type Note,
} from '#desk/install/clients/record.js'

const note = (name: string, texts: Pick<Note, 'before' | 'after'> = {}): Note =>
  ({ file: '/home/a/mcp.json', path: ['mcpServers', name], words: ['node', '/opt/cli.js'], ...texts })
const [full, other] = [{ before: '"url": "a"', after: '"args": ["a"]' }, { before: 'x', after: 'y' }]

t.test('a note about an entry is found again, until it is removed', async t => {
  const file = recordFile({ platform: 'linux', environment: {}, home: t.testdir({}) })
  t.match(file, /\.local\/state\/mcp-customs\/installed\.json$/)
  await addNotes(file, [note('one', full), note('two')])
  await addNotes(file, [note('two', other)])
  t.same(await readRecord(file), [note('one', full), note('two', other)])
  t.equal(statSync(file).mode & 0o777, 0o600)
  await removeNotes(file, [note('one')])
  const notes = await readRecord(file)
  t.same([
    noteFor(notes, '/home/a/mcp.json', ['mcpServers', 'one']),
    noteFor(notes, '/home/a/mcp.json', ['mcpServers', 'two']),
  ], [undefined, note('two', other)])
})

t.test('a record that cannot be read holds nothing, and a note that is none is passed over', async t => {
  const file = join(t.testdir({}), 'state', 'installed.json')
  t.same(await readRecord(file), [])
  mkdirSync(dirname(file))
  for (const text of [
    '', '{', '[]', '{"entries": 5}',
    '{"entries": [5, {"file": 1}, {"file": "a", "path": [1], "words": []}]}',
  ]) {
    writeFileSync(file, text)
    t.same(await readRecord(file), [], text)
  }
  const odd = { ...note('one'), before: 'x', after: 5 }
  writeFileSync(file, JSON.stringify({ entries: [odd, { file: 'a', path: ['b'], spelling: {} }] }))
  t.same(await readRecord(file), [note('one'), { file: 'a', path: ['b'], words: [] }])
})

t.test('a state folder that cannot be written is reported before anything is changed', async t => {
  const folder = t.testdir({ 'mcp-customs': 'a file' })
  await t.rejects(
    addNotes(join(folder, 'mcp-customs', 'installed.json'), [note('one')]),
    { code: 'BAD_CONFIG', message: /nothing was changed$/ },
  )
  t.equal(readFileSync(join(folder, 'mcp-customs'), 'utf8'), 'a file')
})
