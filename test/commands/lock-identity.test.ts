import { createHash } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { comparableIdentity, identityOf, settledIdentity } from '../../dist/commands/lock-identity.js'
import type { ProcessServer } from '../../dist/config/configuration.js'

const base = { name: 'a', policy: undefined, rules: new Map<never, never>(), tools: new Map<never, never>(), lock: undefined }

const put = (file: string, content: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** What npm writes beside the packages that it has put there. */
const note = (folder: string, name: string, version: string): void =>
  put(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages: { [`node_modules/${name}`]: { version, integrity: `sha512-${version}` } } }))

t.test('who a server is, as far as this machine knows', async t => {
  const root = t.testdir({})
  const cache = join(root, 'cache')
  const cached = (spec: string, name: string, version: string) => note(join(cache, '_npx', createHash('sha512').update(spec).digest('hex').slice(0, 16)), name, version)
  cached('@a/b@1.0.0', '@a/b', '1.0.0')
  cached('@a/b', '@a/b', '1.4.0')
  cached('c@latest', 'c', '3.0.0')
  cached('local', 'local', '7.0.0')
  const project = join(root, 'project')
  note(project, 'local', '2.0.0')
  put(join(project, 'node_modules/local/dist/index.js'), 'one')
  put(join(project, 'own.mjs'), 'two')
  mkdirSync(join(project, 'node_modules/.bin'))
  symlinkSync('../local/dist/index.js', join(project, 'node_modules/.bin/local'))
  put(join(root, 'empty/package.json'), '{}')

  const identity = (command: ProcessServer['command'], cwd = join(root, 'empty')) =>
    identityOf({ ...base, command, cwd, env: new Map([['npm_config_cache', cache]]), inheritEnv: undefined })
  const b = (version: string) => ({ package: { name: '@a/b', version, integrity: `sha512-${version}` } })
  const local = { package: { name: 'local', version: '2.0.0', integrity: 'sha512-2.0.0' } }
  const sha256 = (content: string) => ({ sha256: createHash('sha256').update(content).digest('hex') })
  const cases: readonly (readonly [string, ProcessServer['command'], string | undefined, object])[] = [
    ['npx, a version', ['npx', '-y', '@a/b@1.0.0', '/data'], undefined, b('1.0.0')],
    ['npx, no version', ['npx', '--yes', '@a/b'], undefined, b('1.4.0')],
    ['npx, a tag', ['npx', 'c@latest'], undefined, { package: { name: 'c', version: '3.0.0' } }],
    ['npx, a version that is not there', ['npx', '-y', '@a/b@9.0.0'], undefined, {}],
    ['npx --package', ['npx', '-y', '--package=@a/b@1.0.0', 'b'], undefined, b('1.0.0')],
    ['npx -p', ['npx', '-p', '@a/b@1.0.0', 'b'], undefined, b('1.0.0')],
    ['npm exec', ['npm', 'exec', '--', '@a/b@1.0.0'], undefined, b('1.0.0')],
    ['npm x', ['npm', 'x', '-y', '@a/b'], undefined, b('1.4.0')],
    ['behind cmd', ['cmd', '/c', 'npx', '-y', '@a/b@1.0.0'], undefined, b('1.0.0')],
    ['behind env', ['env', 'A=b', 'npx', '@a/b@1.0.0'], undefined, b('1.0.0')],
    ['npx in a folder that has it', ['npx', 'local'], project, local],
    ['npx in a folder below', ['npx', 'local@2.0.0'], join(project, 'node_modules/local'), local],
    ['npx in a folder that has another version', ['npx', 'local@3.0.0'], project, {}],
    ['npm run is no package', ['npm', 'run', '@a/b'], undefined, {}],
    ['pnpm keeps its own notes', ['pnpm', 'dlx', '@a/b@1.0.0'], undefined, {}],
    ['a script', ['node', 'own.mjs'], project, sha256('two')],
    ['a script of a package', ['node', 'node_modules/local/dist/index.js'], project, { ...sha256('one'), ...local }],
    ['a program of a package', ['./node_modules/.bin/local'], project, { ...sha256('one'), ...local }],
    ['a script that is not there', ['node', 'none.mjs'], project, {}],
    ['a folder', ['node', '.'], project, {}],
    ['code in the arguments', ['node', '-e', 'own.mjs'], project, {}],
    ['a program that is looked up', ['mail-server'], project, {}],
  ]
  for (const [name, command, cwd, expected] of cases) {
    const found = await identity(command, cwd)
    t.match(found, { command: command.join(' '), ...expected }, name)
    t.same(Object.keys(found).sort(), ['command', ...Object.keys(expected)].sort(), name)
  }
  t.same(await identityOf({ ...base, url: 'https://a.example/mcp?key=s3cret', headers: new Map(), tls: undefined }), { url: 'https://a.example/mcp' })
  put(join(project, 'node_modules/.package-lock.json'), '{')
  t.same(await identity(['npx', 'local@2.0.0'], project), { command: 'npx local@2.0.0' }, 'notes that cannot be read')
})

t.test('what is not known of a package here is no change; what is known is held against what was accepted', t => {
  const one = { command: 'npx a', package: { name: 'a', version: '1' } }
  const two = { command: 'npx a', package: { name: 'a', version: '2' } }
  const unknown = { command: 'npx a' }
  t.same([comparableIdentity(one, unknown), comparableIdentity(one, two), comparableIdentity(unknown, two)], [one, two, unknown])
  t.same([settledIdentity(one, unknown), settledIdentity(one, two), settledIdentity(unknown, two)], [one, two, two])
  t.same(settledIdentity(one, { command: 'npx b' }), { command: 'npx b' }, 'another command is another package')
  t.end()
})
