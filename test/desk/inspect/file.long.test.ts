import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { demo, inspect } from './start.js'

const folder = mkdtempSync(join(tmpdir(), 'customs-saved-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const save = (name: string, text: string): string => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const tool = { name: 'echo', description: 'Says it again.', inputSchema: { type: 'object' }, outputSchema: {
  type: 'object',
} }
const list = save('list.json', JSON.stringify({ tools: [tool] }))
const changed =
  save('changed.json', JSON.stringify({ tools: [{ ...tool, description: 'Says it\u200b again.' }] }))

t.test('a saved list is judged, and so are saved responses of a server', async t => {
  const fine = await inspect(t, [list])
  t.strictSame([fine.code, fine.stderr], [0, ''])
  t.match(fine.stdout, /^ {2}revision +2025-11-25 \(a guess: the file does not say\)$/m)
  t.match(fine.stdout, /^ {2}echo +no arguments$/m)
  const hidden = await inspect(t, ['--json', changed])
  t.equal(hidden.code, 1)
  t.match(JSON.parse(hidden.stdout), {
    server: { name: 'changed.json', target: changed }, findings: [{ rule: 'tool/hidden-text', tool: 'echo' }],
  })
  const live = await inspect(t, ['--json', ...demo])
  const again = await inspect(t, ['--json', save('report.json', live.stdout)])
  const rules = (report: string) => (JSON.parse(
    report,
  ) as { findings: { rule: string; tool?: string }[] }).findings.map(({ rule, tool }) => [rule, tool])
  t.strictSame(rules(again.stdout), rules(live.stdout))
  const sarif = await inspect(t, ['--sarif', changed])
  t.match(JSON.parse(sarif.stdout), { runs: [{
    results: [{ locations: [{ physicalLocation: { artifactLocation: { uri: /changed\.json$/ } } }] }],
  }] })
})

t.test('differences between two lists are reported, with exit code 1', async t => {
  const told = await inspect(t, ['--diff', list, changed])
  t.strictSame([told.code, told.stderr], [1, ''])
  t.match(
    told.stdout,
    /~ tool echo\n {2}\/description {2}text\n {4}- "Says it again\."\n {4}\+ "Says it<U\+200B> again\."\n\n1 change: 1 text\n$/,
  )
  const same = await inspect(t, ['--diff', list, list])
  t.strictSame([same.code, same.stderr], [0, ''])
  const json = await inspect(t, ['--diff', '--json', list, changed])
  t.equal(json.code, 1)
  t.strictSame(JSON.parse(json.stdout), {
    version: 1, before: list, after: changed, incomparable: [],
    changes: [{
      of: 'tool', name: 'echo', class: 'text', path: '/description', before: 'Says it again.',
      after: 'Says it\u200b again.',
    }],
  })
})

t.test('a file that cannot be read or holds no list is reported in one line', async t => {
  const nested = join(folder, 'folder.json')
  mkdirSync(nested)
  const cases: [string, readonly string[], RegExp][] = [
    [
      'not there', [join(folder, 'none.json')],
      /none\.json: cannot be read: .*\(ENOENT\); a command is given after --, and a URL begins with http:\/\/ or https:\/\/\n$/,
    ],
    ['a folder', [nested], /cannot be read: .*\(EISDIR\)\n$/],
    ['no JSON', [save('text.json', '# no JSON')], /text\.json:1: no JSON: .*\n$/],
    ['no list', [save('object.json', '{}')], /object\.json: no answer that holds a list\n$/],
    ['a call', ['--call', 'echo', list], /--call needs a server: a file cannot be called\n$/],
    ['two files', [list, list], /inspect takes one server, and two files after --diff\n$/],
    ['a file and a command', [list, ...demo], /give either a file or a command, not both\n$/],
    ['one file to compare', ['--diff', list], /--diff takes two files\n$/],
    [
      'a comparison by rules', ['--diff', '--policy', 'strict', '--call', 'x', list, list],
      /--diff compares two files, and knows no --policy, --call\n$|--diff compares two files, and knows no --call, --policy\n$/,
    ],
  ]
  for (const [name, args, line] of cases) {
    const { code, stdout, stderr } = await inspect(t, args)
    t.strictSame([code, stdout], [2, ''], name)
    t.match(stderr, line, name)
    t.equal(stderr.split('\n').length, 2, name)
  }
})
