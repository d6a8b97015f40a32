import {
  cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { isPublished } from '#relay/base/installation.js'
import { start } from '../../e2e/harness.js'
import { root } from '../inspect/start.js'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const text = '{"mcpServers": {"a": {"command": "b"}}}'

// A copy of the built command in a passing place, as a person or npm puts it there.
const home = realpathSync(mkdtempSync(join(tmpdir(), 'customs-')))
t.teardown(() => rmSync(home, { recursive: true, force: true }))
const modules = join(home, '_npx', '7a05', 'node_modules')
const copy = join(modules, 'mcp-customs')
mkdirSync(copy, { recursive: true })
for (const one of ['dist', 'package.json', 'config']) {
  cpSync(join(root, one), join(copy, one), { recursive: true })
}
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
// npx answers with our version, and notes that it was run.
mkdirSync(join(home, 'bin'))
const npx = `#!/bin/sh\necho "$@" >>"${home}/ran"\necho ${version}\n`
writeFileSync(join(home, 'bin', 'npx'), npx, { mode: 0o755 })
mkdirSync(join(home, '.cursor'))
mkdirSync(join(home, 'work', '.cursor'), { recursive: true })

/** Installs into a user's file and a team's. */
const installed = async (t: Parameters<typeof start>[0], lock: unknown) => {
  const own = join(home, '.cursor', 'mcp.json')
  const shared = join(home, 'work', '.cursor', 'mcp.json')
  writeFileSync(join(home, 'ran'), '')
  for (const file of [own, shared]) writeFileSync(file, text)
  writeFileSync(join(modules, '.package-lock.json'), JSON.stringify(lock))
  const codes: (number | null)[] = []
  let said = ''
  for (const file of [own, shared]) {
    const words = [join(copy, 'dist', 'cli.js'), 'install', '--client', file, '--yes']
    const ran = start(t, process.execPath, words, {
      HOME: home, XDG_STATE_HOME: undefined, NO_COLOR: '1',
      PATH: `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`,
    })
    codes.push((await ran.end()).code)
    said += ran.stderr() + ran.untaken.join('\n')
  }
  const written = [own, shared].map(file => readFileSync(file, 'utf8'))
  return { codes, said, written, ran: readFileSync(join(home, 'ran'), 'utf8') }
}

const lockOf = (resolved: string | undefined) =>
  ({ packages: { 'node_modules/mcp-customs': { version, ...(resolved !== undefined && { resolved }) } } })

const published = `https://registry.npmjs.org/mcp-customs/-/mcp-customs-${version}.tgz`

t.test('a copy that did not come from the registry runs and writes no name in it', async t => {
  for (const lock of [{}, lockOf(published.replace('registry.npmjs.org', 'evil.example'))]) {
    const { codes, said, written, ran } = await installed(t, lock)
    t.notMatch(codes, [0, 0])
    t.same([written, ran], [[text, text], ''])
    t.match(said, /copy it to a folder that stays[^]*the file is shared/)
    t.notMatch(said, /npx -y mcp-customs|mcp-customs@\d|npm install/)
  }
})

t.test('what npm noted tells from where a copy came', async t => {
  const cases = [
    ['the registry', lockOf(published), true],
    ['a copied folder', {}, false],
    ['an archive', lockOf('file:../mcp-customs-0.1.0.tgz'), false],
    ['an archive of the web', lockOf(published.replace('registry.npmjs.org', 'evil.example')), false],
    ['a repository', lockOf('git+ssh://git@github.com/someone/mcp-customs.git#abc'), false],
    ['a package of another name', lockOf(published.replaceAll('mcp-customs', 'evil')), false],
    ['another version', lockOf(published.replace(version, '99.0.0')), false],
    ['nothing', lockOf(undefined), false],
    ['no lock', [], false],
  ] as const
  for (const [name, lock, expected] of cases) {
    writeFileSync(join(modules, '.package-lock.json'), JSON.stringify(lock))
    t.equal(isPublished(join(copy, 'dist', 'cli.js')), expected, name)
  }
  t.equal(isPublished(join(root, 'dist', 'cli.js')), false, 'a clone')
})

t.test('a copy that npm fetched from its registry is started by npx', async t => {
  const { codes, written, ran } = await installed(t, lockOf(published))
  t.same(codes, [0, 0])
  const words = `-y mcp-customs@${version}`
  t.equal(ran, `${words} --version\n`.repeat(2))
  for (const one of written) t.match(one, `"-y", "mcp-customs@${version}", "wrap"`)
})
