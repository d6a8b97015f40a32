import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import t from 'tap'
import { isTrusted } from '#relay/config/trust.js'

const words = (line: string): string[] => line.split(' ')
const spec = '@acme/weather@1.2.3'

const packages = [
  // [command, trusted]
  ['npx @acme/weather@1.2.3', true],
  ['npx -y @acme/weather@1.2.3 --port 1 /data', true],
  ['npx --yes --quiet @acme/weather@1.2.3', true],
  ['npx -- @acme/weather@1.2.3', true],
  ['npx.cmd -y @acme/weather@1.2.3', true],
  ['npx -y @acme/weather@1.2.3 --registry=https://evil.example', true],
  ['npx -y --package=@acme/weather@1.2.3 weather', true],
  ['npx -y --package @acme/weather@1.2.3 -- weather /data', true],
  ['npx -p @acme/weather@1.2.3 weather', true],
  ['npm exec @acme/weather@1.2.3', true],
  ['npm exec -y -- @acme/weather@1.2.3 /data', true],
  ['npm exec @acme/weather@1.2.3 -- --verbose', true],
  ['npm x --yes --package=@acme/weather@1.2.3 -- weather', true],
  // Another version, or none that is exact.
  ['npx @acme/weather', false],
  ['npx @acme/weather@latest', false],
  ['npx @acme/weather@^1.2.3', false],
  ['npx @acme/weather@1.2', false],
  ['npx @acme/weather@v1.2.3', false],
  ['npx @acme/weather@1.2.4', false],
  ['npx @acme/weather@1.2.30', false],
  ['npx @acme/weather@1.2.3-evil', false],
  ['npx @ACME/weather@1.2.3', false],
  // Another package.
  ['npx weather@1.2.3', false],
  ['npx other@npm:@acme/weather@1.2.3', false],
  ['npx @acme/weather@npm:evil@1.2.3', false],
  ['npx evil @acme/weather@1.2.3', false],
  ['npx -y evil -- @acme/weather@1.2.3', false],
  ['npx https://evil.example/@acme/weather@1.2.3', false],
  ['npx ./@acme/weather@1.2.3', false],
  // Options that change the registry, the package or the command.
  ['npx --registry=https://evil.example @acme/weather@1.2.3', false],
  ['npx --registry https://evil.example @acme/weather@1.2.3', false],
  ['npx --@acme:registry=https://evil.example @acme/weather@1.2.3', false],
  ['npx --reg=https://evil.example @acme/weather@1.2.3', false],
  ['npx --userconfig=/tmp/evil @acme/weather@1.2.3', false],
  ['npx --prefix=/tmp/evil @acme/weather@1.2.3', false],
  ['npx --cache=/tmp/evil @acme/weather@1.2.3', false],
  ['npx --script-shell=/tmp/evil @acme/weather@1.2.3', false],
  ['npx --node-options=--require=/tmp/evil.js @acme/weather@1.2.3', false],
  ['npx -w evil @acme/weather@1.2.3', false],
  ['npx -c evil @acme/weather@1.2.3', false],
  ['npx --call=evil @acme/weather@1.2.3', false],
  ['npx --package=evil @acme/weather@1.2.3', false],
  ['npx --package=@acme/weather@1.2.3 --package=evil weather', false],
  ['npx --package=@acme/weather@1.2.3 sh -c evil', false],
  ['npx --package=@acme/weather@1.2.3 -c weather', false],
  ['npx --package=@acme/weather@1.2.3', false],
  ['npx --package -y @acme/weather@1.2.3', false],
  ['npx --yes=x @acme/weather@1.2.3', false],
  ['npm exec @acme/weather@1.2.3 --registry=https://evil.example', false],
  ['npm exec evil -- @acme/weather@1.2.3', false],
  ['npm exec -p @acme/weather@1.2.3 -- weather', false],
  ['npm --registry=https://evil.example exec @acme/weather@1.2.3', false],
  ['npm run @acme/weather@1.2.3', false],
  ['npm install @acme/weather@1.2.3', false],
  // Another program.
  ['/tmp/npx @acme/weather@1.2.3', false],
  ['./npx @acme/weather@1.2.3', false],
  ['npx-evil @acme/weather@1.2.3', false],
  ['sh -c npx @acme/weather@1.2.3', false],
  ['env npm_config_registry=https://evil.example npx @acme/weather@1.2.3', false],
  ['node npx @acme/weather@1.2.3', false],
] as const

for (const [line, trusted] of packages) {
  t.test(`${line} is ${trusted ? '' : 'not '}the trusted package`, async t => {
    t.equal(await isTrusted({ command: words(line), cwd: '/' }, [{ package: spec }]), trusted)
  })
}

const text = (value: object): string => JSON.stringify(value)
const its = text({ name: '@acme/weather', version: '1.2.3' })
const noted = (
  path: string, entry: object,
) => ({ '.package-lock.json': text({ packages: { [path]: { version: '1.2.3', ...entry } } }) })

t.test('a package that the working directory brings along is not the registry\'s', async t => {
  const cases: readonly (readonly [string, object, boolean])[] = [
    ['nothing', {}, true],
    ['other packages', {
      'package.json': text({ name: 'own', dependencies: {} }),
      node_modules: { a: { 'package.json': text({ name: 'a', version: '1.2.3' }) } },
    }, true],
    ['another version of it', { node_modules: {
      '@acme': { weather: { 'package.json': text({ name: '@acme/weather', version: '1.2.4' }) } },
    } }, true],
    ['the package', { node_modules: { '@acme': { weather: { 'package.json': its } } } }, false],
    ['the package in a folder of another name', { node_modules: { a: { 'package.json': its } } }, false],
    ['the package of a package', { node_modules: {
      a: { node_modules: { b: { node_modules: { '@acme': { weather: { 'package.json': its } } } } } },
    } }, false],
    [
      'a link to it', { node_modules: { a: t.fixture('symlink', '../own') }, own: { 'package.json': its } },
      false,
    ],
    ['a note of npm\'s about it', { node_modules: noted('node_modules/@acme/weather', {}) }, false],
    [
      'a note of npm\'s under another name',
      { node_modules: noted('node_modules/a', { name: '@acme/weather' }) }, false,
    ],
    ['a command of that name', { node_modules: { '.bin': { '@acme': { 'weather@1.2.3': '' } } } }, false],
    ['itself', { 'package.json': its }, false],
    [
      'a command of its own of that name',
      { 'package.json': text({ name: 'own', bin: { '@acme/weather@1.2.3': 'evil.js' } }) }, false,
    ],
    ['packages of its own', { 'package.json': text({ name: 'own', workspaces: ['packages/*'] }) }, false],
    ['another registry', { '.npmrc': 'registry=https://evil.example' }, false],
  ]
  for (const [name, files, trusted] of cases) {
    const root = t.testdir({ project: { ...files, deep: { deeper: {} } } })
    for (const [line, cwd] of [
      ['npx -y @acme/weather@1.2.3', 'project'],
      ['npm exec -p @acme/weather@1.2.3 -- weather', 'project/deep/deeper'],
    ] as const) {
      const isTrusting = await isTrusted(
        { command: words(line.replace('exec -p', 'x --package')), cwd: resolve(root, cwd) },
        [{ package: spec }],
      )
      t.equal(isTrusting, trusted, `${name}, in ${cwd}`)
    }
  }
})

t.test('an environment that redirects npm, or loads code, ends the trust in a package', async t => {
  const command = words('npx @acme/weather@1.2.3')
  const under = (name: string) =>
    isTrusted({ command, cwd: '/', env: new Map([[name, 'x']]) }, [{ package: spec }])
  t.equal(await under('TOKEN'), true)
  t.equal(await under('npm_config_registry'), false)
  t.equal(await under('NPM_CONFIG_USERCONFIG'), false)
  t.equal(await under('NODE_OPTIONS'), false)
})

const commands = [
  [['node', '/opt/weather.mjs'], ['node', '/opt/weather.mjs'], true],
  [['node', '/opt/weather.mjs'], ['node', '/opt/weather.mjs', '--port', '1'], true],
  [['node', '/opt/weather.mjs'], ['node'], false],
  [['node', '/opt/weather.mjs'], ['node', '/opt/weather.mjs.evil'], false],
  [['node', '/opt/weather.mjs'], ['node', '--require', '/tmp/evil.js', '/opt/weather.mjs'], false],
  [['node', '/opt/weather.mjs'], ['node', '/opt/../opt/weather.mjs'], false],
  [['node', '/opt/weather.mjs'], ['Node', '/opt/weather.mjs'], false],
  [['node', '/opt/weather.mjs'], ['node /opt/weather.mjs'], false],
  [['node', '/opt/weather.mjs'], [], false],
  [[], ['node', '/opt/weather.mjs'], false],
] as const

for (const [trusted, command, expected] of commands) {
  t.test(`${JSON.stringify(command)} is ${expected ? '' : 'not '}trusted by ${JSON.stringify(trusted)}`, async t => {
    t.equal(await isTrusted({ command }, [{ command: trusted }]), expected)
  })
}

t.test('a file is trusted while its digest holds', async t => {
  const cwd = t.testdir({ 'weather.mjs': 'export {}', folder: {} })
  const sha256 = createHash('sha256').update('export {}').digest('hex')
  const trusts = (file: string, digest = sha256, at: string | undefined = cwd, words = ['node', file]) =>
    isTrusted({ command: [...words, 'argument'], cwd: at }, [{ command: words, sha256: digest }])
  t.equal(await trusts('weather.mjs'), true, 'relative to the working directory of the process')
  t.equal(await trusts(resolve(cwd, 'weather.mjs'), sha256.toUpperCase(), undefined), true)
  t.equal(await trusts('weather.mjs', '0'.repeat(64)), false, 'another digest')
  t.equal(await trusts('weather.mjs', sha256, '/'), false, 'another directory')
  t.equal(await trusts('missing.mjs'), false, 'no such file')
  t.equal(await trusts('folder'), false, 'no file')
  t.equal(await trusts('/dev/zero'), false, 'a file without end')
  t.equal(await trusts('', sha256, cwd, ['weather.mjs']), false, 'a command that is looked up in PATH')
  t.equal(await trusts('', sha256, cwd, ['./weather.mjs']), true)
})

const urls = [
  ['https://mcp.example.com/', 'https://mcp.example.com', true],
  ['https://mcp.example.com', 'https://mcp.example.com/mcp?team=a', true],
  ['https://mcp.example.com/', 'https://MCP.example.com:443/mcp', true],
  ['https://mcp.example.com:443/team', 'https://mcp.example.com/team/', true],
  ['https://mcp.example.com/team/', 'https://mcp.example.com/team', true],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team/a/b', true],
  ['https://mcp.example.com/team', 'https://mcp.example.com/other/../team/a', true],
  ['http://localhost:8080/', 'http://localhost:8080/mcp', true],
  ['http://127.0.0.1/', 'http://127.1/mcp', true],
  ['http://[::1]:80/', 'http://[0::1]/mcp', true],
  // Another origin.
  ['https://mcp.example.com/', 'http://mcp.example.com/', false],
  ['https://mcp.example.com/', 'https://mcp.example.com:8443/', false],
  ['https://mcp.example.com/', 'https://mcp.example.com.evil.example/', false],
  ['https://mcp.example.com/', 'https://evil.example/mcp.example.com/', false],
  ['https://mcp.example.com/', 'https://mcp.example.com@evil.example/', false],
  ['https://mcp.example.com/', 'https://mcp.example.com%2f@evil.example/', false],
  ['https://mcp.example.com/', 'https://evil.example#https://mcp.example.com/', false],
  ['https://mcp.example.com/', 'https://evil.example\\@mcp.example.com/', false],
  ['https://mcp.example.com/', 'https://user@mcp.example.com/', false],
  ['https://mcp.example.com/', 'https://mcp.example.com./', false],
  ['https://mcp.example.com/', 'https://xmcp.example.com/', false],
  ['https://mcp.example.com/', 'https://m\u0441p.example.com/', false],
  ['https://mcp.example.com/', 'wss://mcp.example.com/', false],
  ['https://mcp.example.com/', 'mcp.example.com', false],
  // Another path.
  ['https://mcp.example.com/team', 'https://mcp.example.com/team2', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/Team', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team/../other', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team/%2e%2e/other', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team/..%2fother', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team/%2E%2E%2Fother', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team/..%5cother', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team/%252e%252e/other', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team/..;/other', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team\\..\\other', false],
  ['https://mcp.example.com/team', 'https://mcp.example.com/team%2fa', false],
  // Not this machine.
  ['http://mcp.example.com/', 'http://mcp.example.com/', false],
  ['http://localhost.evil.example/', 'http://localhost.evil.example/', false],
  ['http://127.0.0.1.evil.example/', 'http://127.0.0.1.evil.example/', false],
  ['http://0.0.0.0/', 'http://0.0.0.0/', false],
  ['http://localhost/', 'http://localhost:8080/', false],
] as const

for (const [prefix, url, trusted] of urls) {
  t.test(`${url} is ${trusted ? '' : 'not '}below ${prefix}`, async t => {
    t.equal(await isTrusted({ url }, [{ url: prefix }]), trusted)
  })
}

t.test('an entry of one kind says nothing of a server of another', async t => {
  t.equal(await isTrusted({ url: 'https://a.example/' }, [{ command: [] }, { package: spec }]), false)
  t.equal(await isTrusted({ command: ['https://a.example/'] }, [{ url: 'https://a.example/' }]), false)
  t.equal(await isTrusted({ command: ['node', 'a.mjs'] }, []), false)
  t.equal(
    await isTrusted({ command: ['node', 'a.mjs'] }, [{ package: spec }, { command: ['node', 'a.mjs'] }]),
    true,
  )
})
