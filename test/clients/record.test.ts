import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import {
  addNotes, noteFor, readRecord, recordFile, removeNotes, type Note,
} from '#clients/record.js'

const note = (
  name: string, spelling: Note['spelling'] = {},
): Note => ({ file: '/home/a/mcp.json', path: ['mcpServers', name], words: [], spelling })

t.test('a note about an entry is found again, until it is removed', async t => {
  const file = recordFile({ platform: 'linux', environment: {}, home: t.testdir({}) })
  t.match(file, /\.local\/state\/mcp-customs\/installed\.json$/)
  const full = { key: '"url"', type: '"sse"', headers: ['"headers"'], names: ['"A"'], bearer: ['b'] }
  await addNotes(file, [{ ...note('one', full), words: ['node', '/opt/cli.js'] }, note('two')])
  await addNotes(file, [note('two', { key: '"x"' })])
  t.same(
    await readRecord(file), [{ ...note('one', full), words: ['node', '/opt/cli.js'] }, note('two', { key: '"x"' })],
  )
  t.equal(statSync(file).mode & 0o777, 0o600)
  await removeNotes(file, [note('one')])
  const notes = await readRecord(file)
  t.same([
    noteFor(notes, '/home/a/mcp.json', ['mcpServers', 'one']),
    noteFor(notes, '/home/a/mcp.json', ['mcpServers', 'two'])?.spelling,
  ], [undefined, { key: '"x"' }])
})

t.test('a record that cannot be read holds nothing, and a note that is none is passed over', async t => {
  const file = join(t.testdir({}), 'state', 'installed.json')
  t.same(await readRecord(file), [])
  mkdirSync(dirname(file))
  for (const text of [
    '', '{', '[]', '{"entries": 5}',
    '{"entries": [5, {"file": 1}, {"file": "a", "path": [1], "spelling": {}}]}',
  ]) {
    writeFileSync(file, text)
    t.same(await readRecord(file), [], text)
  }
  writeFileSync(
    file, JSON.stringify({ entries: [{ ...note('one'), spelling: { key: 5, names: 'a', type: '"t"' } }] }),
  )
  t.same(await readRecord(file), [note('one', { type: '"t"' })])
  const pin = { from: 'a', to: 'a@1' }
  await addNotes(file, [note('two', { pin })])
  t.same(noteFor(await readRecord(file), '/home/a/mcp.json', ['mcpServers', 'two'])?.spelling, { pin })
})

t.test('a state folder that cannot be written is reported before anything is changed', async t => {
  const folder = t.testdir({ 'mcp-customs': 'a file' })
  await t.rejects(
    addNotes(join(folder, 'mcp-customs', 'installed.json'), [note('one')]),
    { code: 'BAD_CONFIG', message: /nothing was changed$/ },
  )
  t.equal(readFileSync(join(folder, 'mcp-customs'), 'utf8'), 'a file')
})
