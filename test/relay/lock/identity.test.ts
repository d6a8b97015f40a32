import { createHash } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import {
  adviceOn, comparableIdentity, identityOf, pinAdvice, settledIdentity,
} from '#relay/lock/identity.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import type { ProcessServer } from '#relay/config/configuration.js'

const base = {
  name: 'a', policy: undefined, rules: new Map<never, never>(), tools: new Map<never, never>(),
  lock: undefined,
}

const put = (file: string, content: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** What npm writes beside the packages that it has put there. */
const note = (folder: string, name: string, version: string): void =>
  put(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({
    packages: { [`node_modules/${name}`]: { version, integrity: `sha512-${version}` } },
  }))

t.test('the identity of a server, as far as this machine knows it', async t => {
  const root = t.testdir({})
  const cache = join(root, 'cache')
  const cached = (spec: string, name: string, version: string) =>
    note(join(cache, '_npx', createHash('sha512').update(spec).digest('hex').slice(0, 16)), name, version)
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
  for (const name of [
    'x.py', 'pkg/__main__.py', 'pkg/mod.py', 'paths/other.py', 'x.ts', 'server.js', 'main/package.json',
    'main/start.js', 'x.jar', 'deep/x.py', 'tool',
  ]) {
    put(join(project, name), name)
  }
  put(join(project, 'main/package.json'), '{"main":"start.js"}')

  const identity = (command: ProcessServer['command'], cwd = join(root, 'empty')) =>
    identityOf({
      ...base, command, cwd, env: new Map([['npm_config_cache', cache], ['PYTHONPATH', 'paths']]),
      inheritEnv: undefined,
    })
  const b = (version: string) => ({ package: { name: '@a/b', version, integrity: `sha512-${version}` } })
  const local =
    { package: { name: 'local', version: '2.0.0', integrity: 'sha512-2.0.0', from: 'working directory' } }
  const ofLocal = { package: { name: 'local', version: '2.0.0', integrity: 'sha512-2.0.0', from: undefined } }
  const sha256 = (content: string) => ({ sha256: createHash('sha256').update(content).digest('hex') })
  const cases: readonly (readonly [string, ProcessServer['command'], string | undefined, object])[] = [
    ['npx, a version', ['npx', '-y', '@a/b@1.0.0', '/data'], undefined, b('1.0.0')],
    ['npx, no version', ['npx', '--yes', '@a/b'], undefined, b('1.4.0')],
    ['npx, a tag', ['npx', 'c@latest'], undefined, { package: { name: 'c', version: '3.0.0' } }],
    ['npx, a version that is not there', ['npx', '-y', '@a/b@9.0.0'], undefined, {
      package: { name: '@a/b', version: '9.0.0', integrity: undefined },
    }],
    ['npx --package', ['npx', '-y', '--package=@a/b@1.0.0', 'b'], undefined, b('1.0.0')],
    ['npx -p', ['npx', '-p', '@a/b@1.0.0', 'b'], undefined, b('1.0.0')],
    ['npm exec', ['npm', 'exec', '--', '@a/b@1.0.0'], undefined, b('1.0.0')],
    ['npm x', ['npm', 'x', '-y', '@a/b'], undefined, b('1.4.0')],
    ['behind cmd', ['cmd', '/c', 'npx', '-y', '@a/b@1.0.0'], undefined, b('1.0.0')],
    ['behind env', ['env', 'A=b', 'npx', '@a/b@1.0.0'], undefined, b('1.0.0')],
    ['npx in a folder that has it', ['npx', 'local'], project, local],
    ['npx in a folder below', ['npx', 'local@2.0.0'], join(project, 'node_modules/local'), local],
    ['npx in a folder that has another version', ['npx', 'local@3.0.0'], project, {
      package: { name: 'local', version: '3.0.0', from: undefined },
    }],
    ['npm run is no package', ['npm', 'run', '@a/b'], undefined, {}],
    ['pnpm keeps its own notes', ['pnpm', 'dlx', '@a/b@1.0.0'], undefined, {
      package: { name: '@a/b', version: '1.0.0', integrity: undefined },
    }],
    ['a script', ['node', 'own.mjs'], project, sha256('two')],
    ['a script of a package', ['node', 'node_modules/local/dist/index.js'], project, {
      ...sha256('one'), ...ofLocal,
    }],
    ['a program of a package', ['./node_modules/.bin/local'], project, { ...sha256('one'), ...ofLocal }],
    ['a script that is not there', ['node', 'none.mjs'], project, {}],
    ['a folder', ['node', '.'], project, {}],
    ['code in the arguments', ['node', '-e', 'own.mjs'], project, {}],
    ['a program that is looked up', ['mail-server'], project, {}],
    ['a script with options', ['python3', '-u', 'x.py'], project, sha256('x.py')],
    [
      'a script with a version of its interpreter',
      ['/usr/bin/python3.12', '-W', 'ignore', '-X', 'dev', 'x.py'], project, sha256('x.py'),
    ],
    ['a module', ['python', '-m', 'pkg'], project, sha256('pkg/__main__.py')],
    ['a module of a module', ['python', '-u', '-m', 'pkg.mod'], project, sha256('pkg/mod.py')],
    ['a module elsewhere', ['python3', '-m', 'other'], project, sha256('paths/other.py')],
    ['a module that was installed', ['python', '-m', 'mcp_server_fetch'], project, {}],
    ['a folder of Python', ['python', 'pkg'], project, sha256('pkg/__main__.py')],
    ['a script that is imported for', ['node', '--import', 'tsx', 'x.ts'], project, sha256('x.ts')],
    ['a script without its ending', ['node', 'server'], project, sha256('server.js')],
    ['a folder with a main file', ['node', './main'], project, sha256('main/start.js')],
    ['deno', ['deno', 'run', '-A', 'x.ts'], project, sha256('x.ts')],
    ['deno, from the network', ['deno', 'run', '-A', 'jsr:@a/b'], project, {}],
    ['bun', ['bun', 'run', 'x.ts'], project, sha256('x.ts')],
    ['bun, without a verb', ['bun', 'x.ts'], project, sha256('x.ts')],
    ['bun, a script of the project', ['bun', 'run', 'start'], project, {}],
    ['bun x', ['bun', 'x', '@a/b@1.0.0'], project, { package: { name: '@a/b', version: '1.0.0' } }],
    ['tsx', ['npx', 'tsx', 'x.ts'], project, sha256('x.ts')],
    ['uv', ['uv', 'run', 'x.py'], project, sha256('x.py')],
    [
      'uv, elsewhere', ['uv', '--directory', 'deep', 'run', '--with', 'mcp', 'x.py'], project,
      sha256('deep/x.py'),
    ],
    [
      'uv, elsewhere in one word', ['uv', '--directory=deep', 'run', 'python', 'x.py'], project,
      sha256('deep/x.py'),
    ],
    ['uv, a command', ['uv', 'run', 'tool'], project, {}],
    ['uv, a version of Python', ['uv', 'run', '-p', '3.12', 'python', 'x.py'], project, sha256('x.py')],
    ['uv, a module', ['uv', 'run', '-m', 'pkg'], project, sha256('pkg/__main__.py')],
    ['uv and the SDK', ['uv', 'run', '--with', 'mcp', 'mcp', 'run', 'x.py:app'], project, sha256('x.py')],
    ['FastMCP', ['fastmcp', 'run', 'x.py'], project, sha256('x.py')],
    ['a module behind more letters', ['python3', '-um', 'pkg'], project, sha256('pkg/__main__.py')],
    ['go, a file', ['go', 'run', 'x.ts'], project, sha256('x.ts')],
    ['go, a package', ['go', 'run', '.'], project, {}],
    ['nice', ['nice', '-n', '5', 'node', 'own.mjs'], project, sha256('two')],
    ['timeout', ['timeout', '-k', '5', '60s', 'node', 'own.mjs'], project, sha256('two')],
    ['uvx', ['uvx', 'mcp-server-git@1.2.3', '--repository', '.'], project, {
      package: { name: 'mcp-server-git', version: '1.2.3' },
    }],
    ['uvx, with extras', ['uvx', '--from', 'weather[cli]==1.2', 'weather'], project, {
      package: { name: 'weather', version: '1.2' },
    }],
    ['uvx, no version', ['uvx', 'mcp-server-git'], project, {}],
    ['pipx', ['pipx', 'run', 'weather==1.2'], project, { package: { name: 'weather', version: '1.2' } }],
    ['env', ['env', '-u', 'HOME', 'A=b', 'node', 'own.mjs'], project, sha256('two')],
    ['env, elsewhere', ['env', '-C', 'deep', 'python', 'x.py'], project, sha256('deep/x.py')],
    ['env, a program that is looked up', ['env', 'tool'], project, {}],
    ['java', ['java', '-jar', 'x.jar'], project, sha256('x.jar')],
    ['a shell', ['bash', './tool'], project, sha256('tool')],
    [
      'an image by its digest', ['docker', 'run', '-i', '--rm', `mcp/git@sha256:${'0a'.repeat(32)}`], project,
      { sha256: '0a'.repeat(32) },
    ],
    ['an image by its tag', ['docker', 'run', '-i', '--rm', 'mcp/git:1'], project, {}],
  ]
  for (const [name, command, cwd, expected] of cases) {
    const found = await identity(command, cwd)
    t.match(found, { command: command.join(' '), ...expected }, name)
    t.same(Object.keys(found).sort(), ['command', ...Object.keys(expected)].sort(), name)
    const its = found['package'] as { integrity?: string; from?: string } | undefined
    const isHeld = found['sha256'] !== undefined || (its?.integrity !== undefined && its.from === undefined)
    t.equal(
      adviceOn({ ...base, command, cwd, env: new Map(), inheritEnv: undefined }, found) === undefined, isHeld,
      `${name}: it is told that there is no digest`,
    )
  }
  t.same(await identityOf({
    ...base, url: 'https://a.example/mcp?key=s3cret', headers: new Map(), tls: undefined,
  }), { url: 'https://a.example/mcp' })
  put(join(project, 'node_modules/.package-lock.json'), '{')
  t.same(
    await identity(['npx', 'local@2.0.0'], project),
    { command: 'npx local@2.0.0', package: { name: 'local', version: '2.0.0' } }, 'notes that cannot be read',
  )
})

t.test('a package whose version is not named is told, with the word that names it', t => {
  const advice = (...command: ProcessServer['command']) => pinAdvice(
    { ...base, command, cwd: undefined, env: new Map(), inheritEnv: undefined },
    { command: command.join(' '), package: { name: 'x', version: '1.4.0' } },
  )
  t.match(
    advice('npx', '-y', '@a/b'), /^the command names no version of @a\/b, .* write @a\/b@1\.4\.0$/,
  )
  t.match(advice('npx', 'c@latest'), / write c@1\.4\.0$/)
  t.match(advice('uvx', '--from', 'weather[cli]', 'weather'), / write weather\[cli\]==1\.4\.0$/)
  t.match(advice('uvx', 'git'), / write git@1\.4\.0$/)
  t.equal(advice('npx', '-y', '@a/b@1.4.0'), undefined)
  t.equal(advice('node', 'x.js'), undefined)
  t.end()
})

t.test('an unknown package is no change; a known one is compared with the accepted one', t => {
  const one = { command: 'npx a', package: { name: 'a', version: '1' } }
  const two = { command: 'npx a', package: { name: 'a', version: '2' } }
  const unknown = { command: 'npx a' }
  t.same([comparableIdentity(one, unknown), comparableIdentity(one, two), comparableIdentity(unknown, two)], [
    one, two, unknown,
  ])
  t.same([settledIdentity(one, unknown), settledIdentity(one, two), settledIdentity(unknown, two)], [
    one, two, two,
  ])
  const named = (rest: object): DataObject =>
    ({ command: 'npx a@1', package: { name: 'a', version: '1', ...rest } })
  const [known, brought] = [named({ integrity: 'x' }), named({ integrity: 'x', from: 'working directory' })]
  t.same([comparableIdentity(known, named({})), comparableIdentity(
    named({}), known,
  ), settledIdentity(known, named({})), settledIdentity(named({}), known)], [known, named({}), known, known])
  t.same(
    [comparableIdentity(known, brought), comparableIdentity(unknown, { ...brought, command: 'npx a' })],
    [brought, { ...brought, command: 'npx a' }], 'what the working directory brings along is known',
  )
  t.same(
    settledIdentity(one, { command: 'npx b' }), { command: 'npx b' }, 'another command is another package',
  )
  t.end()
})
