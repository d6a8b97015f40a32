import {
  appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { takesValue } from '#cli/context.js'
import { dirname, join } from 'node:path'
import { createRequire } from 'node:module'
import t from 'tap'
import { isPassing } from '#relay/base/own-command.js'
import { check } from '#desk/install/check.js'
import type { Context } from '#desk/terminal/context.js'
import type { InstallFlags } from '#cli/flags/install.js'
import { install, uninstall } from '#desk/install/command.js'
import { newestVersion } from '#desk/install/registry.js'
import { CustomsError } from '#relay/base/errors.js'
import { plainStyle } from '#desk/terminal/style.js'
import type { Listed } from '#relay/lock/lock.js'
import { emptyOffer } from '#relay/lock/offer.js'
import { answerJson, listen, serveBodies } from '#test/kit/http.js'
import { start } from '../../e2e/harness.js'
import { cli, lying, run } from '../inspect/start.js'

const claude = '.config/Claude/claude_desktop_config.json'

const two = '{\r\n\t// mine\r\n\t"mcpServers": {\r\n\t\t"files": { "command": "npx", "args": ["-y", ' +
  '"server", "/data"] },\r\n\t\t"mail": {"env": {"KEY": "s3cret-of-mine"}, "command": ' +
  '"/opt/mail"},\r\n\t\t"old": { "command": "x", "disabled": true, },\r\n\t},\r\n}'

const homeWith = (
  t: { testdir(content: Record<string, string>): string }, files: Readonly<Record<string, string>>,
): string => {
  const home = t.testdir({})
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), text)
  }
  return home
}

interface Person {
  readonly choose?: (question: string, labels: readonly string[]) => readonly number[] | undefined
  readonly confirm: (question: string) => boolean
}

/** A machine of a test, and what was printed on it. */
const at = (
  home: string, person?: Person,
  list: Context['list'] = async () => ({ identity: {}, offers: { legacy: emptyOffer } }),
  versionOf: Context['versionOf'] = async () => ({ version: '0.1.0' }),
): Context & { printed(): string } => {
  const printed: string[] = []
  return {
    machine: { platform: 'linux', environment: {}, home },
    takesValue,
    installation: {
      platform: 'linux', version: '0.1.0', file: cli, published: false, nodes: [process.execPath],
      temporary: [],
    },
    dialogue: person && {
      choose: async (question, choices) => person.choose?.(question, choices.map(({ label }) => label))
        ?.flatMap(index => choices[index]?.value ?? []),
      confirm: async question => person.confirm(question),
    },
    style: plainStyle,
    width: 200,
    list,
    versionOf,
    newestVersion: async () => undefined,
    tell: line => void printed.push(`${line}\n`),
    print: async text => void printed.push(text),
    printed: () => printed.splice(0).join(''),
  }
}

// The cache of npx on this machine is none of a test's.
process.env['npm_config_cache'] = t.testdir({})

const none: InstallFlags = {
  client: undefined, server: [], all: false, project: undefined, yes: false, policy: undefined, lock: false,
  lockFile: undefined, timeoutMs: 30_000, verbose: false, pin: false, offline: false, check: false,
}
const desktop = { ...none, client: 'claude-desktop' }

t.test('without a terminal the change is shown and nothing is written', async t => {
  const home = homeWith(t, { [claude]: two })
  const context = at(home)
  t.equal(await install(desktop, context), 1)
  const shown = context.printed()
  t.match(shown, /^Claude Desktop: .*claude_desktop_config\.json\n {2}files {2}will run under mcp-customs\n/)
  t.match(shown, /\n {4}- .*"command": "npx", "args": \["-y", "server", "\/data"\]/)
  t.match(
    shown, /\n {4}\+ .*"wrap", "--server=files", "--policy=compat", "--profile=claude-desktop", "--", "npx", "-y", "server", "\/data"\]/,
  )
  t.match(shown, /\nThe policy is compat: tools of honest but careless servers work/)
  t.match(shown, /\n {2}old {4}left alone: is disabled\n/)
  t.match(shown, /Nothing was written: there is nobody to ask; give --yes to write it\.\n$/)
  t.notMatch(shown, 's3cret-of-mine')
  t.equal(readFileSync(join(home, claude), 'utf8'), two)
  t.same(readdirSync(dirname(join(home, claude))), ['claude_desktop_config.json'])
})

t.test('install is idempotent, check shows it, and uninstall restores the file', async t => {
  const home = homeWith(t, { [claude]: two })
  const context = at(home)
  t.equal(await check({ ...desktop, check: true }, context), 1, 'the command of one is not there')
  t.match(
    context.printed(),
    /\n {2}files {2}not wrapped\n {4}the entry names no version of server, .*\n {2}mail {3}not wrapped\n {4}wrong: its command \/opt\/mail is not there\n {2}old {4}not wrapped, disabled\n$/,
  )
  t.equal(await install({ ...desktop, yes: true, policy: 'strict' }, context), 0)
  t.match(
    context.printed(),
    /Written\. What the file held before is in .*\.mcp-customs\.bak\nRestart Claude Desktop: .*\nUndo it with: .* uninstall --client claude-desktop\n$/,
  )
  const installed = readFileSync(join(home, claude), 'utf8')
  t.equal(await check({ ...desktop, check: true }, context), 1)
  t.match(context.printed(), /\n {2}files {2}wrapped, policy strict, no lock {2}/)
  t.equal(await install({ ...desktop, yes: true }, context), 0)
  t.match(context.printed(), /files {2}runs under mcp-customs already\n/)
  t.equal(readFileSync(join(home, claude), 'utf8'), installed)
  t.equal(await uninstall({ ...desktop, yes: true }, context), 0)
  t.equal(readFileSync(join(home, claude), 'utf8'), two)
  t.match(readFileSync(join(home, '.local/state/mcp-customs/installed.json'), 'utf8'), '"entries": []')
})

t.test('a person chooses clients and servers, and says yes', async t => {
  const home = homeWith(t, { [claude]: two, '.cursor/mcp.json': '{"mcpServers": {"a": {"command": "b"}}}' })
  const asked: string[] = []
  const context = at(home, {
    choose: (question, labels) => {
      asked.push(`${question} ${labels.length}`)
      return [0]
    },
    confirm: question => asked.push(question) > 0,
  })
  t.equal(await install(none, context), 0)
  t.same(
    asked, ['Which clients? 2', 'Which servers of Claude Desktop? 2', `Write this to ${join(home, claude)}?`],
  )
  const text = readFileSync(join(home, claude), 'utf8')
  t.match(text, '"--server=files"')
  t.notMatch(text, '"--server=mail"')
  t.notMatch(readFileSync(join(home, '.cursor/mcp.json'), 'utf8'), 'wrap')
})

t.test('the only client is chosen beforehand, one of several is not', async t => {
  const only = homeWith(t, { [claude]: two })
  const chosenIn = async (home: string) => {
    const chosen: boolean[] = []
    const choose = async (_question: string, choices: readonly { readonly chosen: boolean }[]) => {
      chosen.push(...choices.map(one => one.chosen))
      return undefined
    }
    await install(none, { ...at(home), dialogue: { choose, confirm: async () => false } })
    return chosen
  }
  t.same(await chosenIn(only), [true])
  mkdirSync(join(only, '.cursor'))
  writeFileSync(join(only, '.cursor/mcp.json'), '{"mcpServers": {"a": {"command": "b"}}}')
  t.same(await chosenIn(only), [false, false])
})

t.test('nothing is written when the person cancels or says no', async t => {
  const home = homeWith(t, { [claude]: two })
  for (const person of [
    { choose: () => undefined, confirm: () => true }, { choose: () => [0, 1], confirm: () => false },
  ]) {
    const context = at(home, person)
    t.equal(await install(desktop, context), 1)
    t.match(context.printed(), /Nothing was written\.\n$/)
    t.equal(readFileSync(join(home, claude), 'utf8'), two)
  }
})

t.test('a file that changes while the person is asked is not written', async t => {
  const home = homeWith(t, { [claude]: two })
  const context = at(home, {
    confirm: () => {
      writeFileSync(join(home, claude), '{}')
      return true
    },
  })
  await t.rejects(install({ ...desktop, all: true }, context), {
    code: 'BAD_CONFIG', message: /has changed since it was shown/,
  })
  t.equal(readFileSync(join(home, claude), 'utf8'), '{}')
})

/** The same machine, with another copy of mcp-customs. */
const as = (context: ReturnType<typeof at>, installation: Partial<Context['installation']>): typeof context =>
  ({ ...context, installation: { ...context.installation, ...installation } })

t.test('a shared file names no path of this machine, and is announced as shared', async t => {
  const home = homeWith(t, { 'work/.mcp.json': '{"mcpServers": {"a": {"command": "b"}}}' })
  for (const flags of [{ ...none, client: 'claude-code', project: join(home, 'work') }, {
    ...none, client: join(home, 'work/.mcp.json'),
  }]) {
    const context = as(at(home), { published: true })
    t.equal(await install(flags, context), 1)
    t.match(
      context.printed(),
      /"npx"[^]*"-y", "mcp-customs@0\.1\.0", "wrap"[^]*This file belongs to the project: everyone who works on it will run mcp-customs too\./,
    )
  }
})

t.test('only a command that starts is written, and a name in a registry only of a copy from there', async t => {
  const text = '{"mcpServers": {"a": {"command": "b"}}}'
  const home = homeWith(t, { [claude]: two, 'work/.mcp.json': text })
  const shared = { ...none, client: join(home, 'work/.mcp.json'), yes: true }
  const passing = { file: '/tmp/mcp-customs/dist/cli.js' }
  const started: string[] = []
  const from = (installation: Partial<Context['installation']>, ran: Awaited<ReturnType<Context['versionOf']>>) =>
    as(at(home, undefined, undefined, async words => {
      started.push(words.join(' '))
      return ran
    }), installation)
  const fine = { version: '0.1.0' }
  const cases = [
    [
      'a copy that does not start', desktop, {}, { failure: 'it exited with code 1' },
      /^nothing was written: \S+ \S+cli\.js does not start \(it exited with code 1\)$/,
    ],
    [
      'npx starts something else', desktop, { ...passing, published: true }, { version: '7.0.0' },
      /^nothing was written: npx -y mcp-customs@0\.1\.0 does not start \(it is 7\.0\.0, not 0\.1\.0\)$/,
    ],
    ['a passing copy', { ...desktop, yes: true }, passing, fine, /: copy it to a folder that stays, and run install from there$/],
    ['a shared file', shared, {}, fine, /the file is shared.*: wrap the servers in a file of your own/],
  ] as const
  for (const [name, flags, installation, ran, message] of cases) {
    await t.rejects(install(flags, from(installation, ran)), { code: 'CANNOT_START', message }, name)
  }
  t.same(started.splice(0), [`${process.execPath} ${cli}`, 'npx -y mcp-customs@0.1.0'], 'only what may be written is run')
  t.equal(readFileSync(join(home, claude), 'utf8'), two)
  t.equal(readFileSync(join(home, 'work/.mcp.json'), 'utf8'), text)

  t.equal(await install({ ...desktop, yes: true }, from({}, fine)), 0)
  t.equal(await install({ ...desktop, yes: true }, from(passing, fine)), 0)
  t.equal(started.length, 1, 'where nothing is written, nothing is started')
  const context = from(passing, fine)
  t.equal(await uninstall({ ...desktop, yes: true }, context), 0)
  t.notMatch(context.printed(), /npx -y mcp|Undo it with/, 'what is refused is not advised')
})

t.test('an entry that has only the name of mcp-customs counts as no wrapped one', async t => {
  const strangers = [
    ['node', './tools/mcp-customs/dist/cli.js'], ['./bin/mcp-customs'], ['npx', 'mcp-customs@npm:evil'],
    ['npx', '-y', '--registry=https://evil.example', 'mcp-customs@0.1.0'], ['npx', '-y', 'mcp-customs@0.1.0'],
    ['node', '--import=./evil.js', cli],
  ]
  const servers = Object.fromEntries(strangers.map(([command, ...args], index) =>
    [`s${index}`, { command, args: [...args, 'wrap', '--policy=strict', '--', 'server'] }]))
  const text = JSON.stringify({ mcpServers: servers })
  const home = homeWith(t, { 'work/.mcp.json': text, '.cursor/mcp.json': text })
  const context = at(home, undefined, undefined, async words => {
    t.fail(words.join(' '))
    return { failure: 'a stranger' }
  })
  const lines = strangers.map((_, index) => `s${index} .*looks like mcp-customs, but is not this program`)
  const expected = new RegExp(lines.join('\\n[^]*'))
  for (const flags of [{ ...none, client: 'cursor' }, { ...none, client: join(home, 'work/.mcp.json') }]) {
    t.equal(await install({ ...flags, yes: true }, context), 0)
    t.match(context.printed(), expected)
    await check({ ...flags, check: true }, context)
    const checked = context.printed()
    t.match(checked, expected)
    t.notMatch(checked, /\d {2}wrapped/)
    t.equal(await uninstall({ ...flags, yes: true }, context), 0)
    t.match(context.printed(), expected)
  }
  t.equal(readFileSync(join(home, '.cursor/mcp.json'), 'utf8'), text)
})

t.test('an entry counts as wrapped by the record, also when another copy wrote it', async t => {
  const home = homeWith(t, { [claude]: '{"mcpServers": {"a": {"command": "b"}}}' })
  const elsewhere = { file: '/opt/mcp-customs/dist/cli.js', nodes: ['/opt/node'] }
  t.equal(await install({ ...desktop, yes: true }, as(at(home), elsewhere)), 0)
  const context = at(home)
  await check({ ...desktop, check: true }, context)
  t.match(context.printed(), /a {2}wrapped, policy compat, no lock {2}\/opt\/node \/opt\/mcp-customs\/dist\/cli\.js/)
  rmSync(join(home, '.local/state/mcp-customs/installed.json'))
  await check({ ...desktop, check: true }, context)
  t.match(context.printed(), /a {2}not wrapped: looks like mcp-customs/)
  await check({ ...desktop, check: true }, as(context, elsewhere))
  t.match(context.printed(), /a {2}wrapped/, 'for that copy it is itself')
})

t.test('packages without a version are named, and pinned when a person agrees or a flag says so', async t => {
  const text = JSON.stringify({ mcpServers: {
    files: { command: 'npx', args: ['-y', '@a/files', '/data'] },
    git: { command: 'uvx', args: ['--from', 'git-server[cli]', 'git'] },
    pinned: { command: 'npx', args: ['-y', 'pinned@1.9.0'] },
    unknown: { command: 'npx', args: ['-y', 'unknown'] }, own: { command: 'node', args: ['x.js'] },
  } })
  const home = homeWith(t, { [claude]: text })
  const versions = new Map([['@a/files', '2.0.0'], ['git-server', '0.5'], ['pinned', '1.10.0']])
  const asked: string[] = []
  const on = (person?: Person): ReturnType<typeof at> => ({
    ...at(home, person), newestVersion: async (registry, name) => {
      asked.push(`${registry} ${name}`)
      return versions.get(name)
    },
  })
  const context = on()
  t.equal(await check({ ...desktop, check: true }, context), 0, 'that is no fault')
  t.same(asked.splice(0), ['npm @a/files', 'PyPI git-server', 'npm pinned', 'npm unknown'])
  const checked = context.printed()
  t.match(checked, /the entry names no version of @a\/files, so the next start may run another one \(now 2\.0\.0\): install --pin/)
  t.match(checked, /pinned .*\n {4}pinned 1\.9\.0: version 1\.10\.0 is there\n/)
  t.match(checked, /the entry names no version of unknown, so the next start may run another one: install --pin/)
  await check({ ...desktop, check: true, offline: true }, context)
  t.same(asked, [], 'offline, nothing is asked')
  t.match(context.printed(), /names no version of @a\/files/)

  const questions: string[] = []
  const confirm = (question: string) => questions.push(question) > 0
  t.equal(await install({ ...desktop, all: true }, on({ confirm })), 0)
  t.match(questions, [
    'Keep these packages at the version that they have now (files: @a/files@2.0.0, git: ' +
      'git-server[cli]==0.5)?',
    /^Write this to /,
  ])
  const installed = readFileSync(join(home, claude), 'utf8')
  t.match(installed, '"--", "npx", "-y","@a/files@2.0.0","/data"')
  t.match(installed, '"--from","git-server[cli]==0.5","git"')
  t.equal(await uninstall({ ...desktop, yes: true }, on()), 0)
  t.equal(readFileSync(join(home, claude), 'utf8'), text)

  const unasked = on()
  t.equal(await install({ ...desktop, yes: true }, unasked), 0)
  t.match(unasked.printed(), /files: the entry names no version of @a\/files/)
  t.notMatch(readFileSync(join(home, claude), 'utf8'), '2.0.0', 'not without a word')
  t.equal(await install({ ...desktop, yes: true, pin: true }, unasked), 0)
  t.match(readFileSync(join(home, claude), 'utf8'), '"@a/files@2.0.0"')
  t.equal(await uninstall({ ...desktop, yes: true }, on()), 0)
  t.equal(readFileSync(join(home, claude), 'utf8'), text)
})

t.test('versions are asked of the registries that npm and uv use, and a registry may be away', async t => {
  const answers: Record<string, object> = {
    '/npm/@a%2ffiles/latest': { version: '2.1.0' }, '/npm/bad/latest': { version: '\u001b[2J' },
    '/simple/git-server/': { versions: ['0.9', '0.10', '0.11rc1', 'x'] },
  }
  const server = createServer(({ url = '' }, response) => {
    if (url === '/npm/late/latest') return
    const answer = answers[url]
    response.writeHead(answer ? 200 : 404).end(JSON.stringify(answer ?? {}))
  })
  const base = await listen(t, server)
  const machine = { platform: 'linux' as const, home: t.testdir({}), environment: {
    npm_config_registry: `${base}/npm/`, UV_DEFAULT_INDEX: `${base}/simple`,
  } }
  const cases = [
    ['npm', '@a/files', '2.1.0'], ['npm', 'none', undefined], ['npm', 'bad', undefined], ['npm', 'late', undefined],
    ['PyPI', 'Git_Server', '0.10'], ['PyPI', 'none', undefined],
  ] as const
  for (const [registry, name, version] of cases) {
    t.equal(await newestVersion(registry, name, machine), version, name)
  }
  const elsewhere = { ...machine, environment: {} }
  writeFileSync(join(machine.home, '.npmrc'), `registry=http://127.0.0.1:1/\n@a:registry = ${base}/npm\n`)
  t.equal(await newestVersion('npm', '@a/files', elsewhere), '2.1.0', 'by npm\'s own file')
  t.equal(await newestVersion('npm', 'b', elsewhere), undefined, 'nobody is there')

  const home = homeWith(t, {
    '.cursor/mcp.json': '{"mcpServers":{"f":{"command":"npx","args":["@a/files@2.0.0"]}}}',
  })
  const env = { HOME: home, XDG_CONFIG_HOME: undefined, npm_config_registry: `${base}/npm` }
  t.match(await run(t, ['install', '--check', '--client', 'cursor'], env), {
    code: 0, stdout: /\n {4}@a\/files 2\.0\.0: version 2\.1\.0 is there\n$/,
  })
})

t.test('check starts the command that an entry starts us with, each once', async t => {
  const wrapped = (name: string) => ({
    [name]: { command: 'npx', args: ['-y', 'mcp-customs@0.1.0', 'wrap', `--server=${name}`, '--', 'a'] },
  })
  const servers = JSON.stringify({ mcpServers: { ...wrapped('a'), ...wrapped('b') } })
  const home = homeWith(t, { '.cursor/mcp.json': servers })
  const started: string[] = []
  const context = as(at(home, undefined, undefined, async words => {
    started.push(words.join(' '))
    return { failure: 'it exited with code 1' }
  }), { published: true })
  t.equal(await check({ ...none, client: 'cursor', check: true }, context), 1)
  t.match(context.printed(), /a {2}wrapped.*\n {4}wrong: npx -y mcp-customs@0\.1\.0 does not start \(it exited with code 1\): run install again\n/)
  t.same(started, ['npx -y mcp-customs@0.1.0'])
})

t.test('a remote server in a file given by path is restored exactly', async t => {
  const text = '{\n  "mcpServers": {\n    "a": {\n      "type": "sse", "url": "https://a.example/sse",\n   ' +
    '   "headers": { "X-Key": "s3cret-of-mine" }\n    }\n  }\n}\n'
  const home = homeWith(t, { 'own/servers.json': text })
  const context = at(home)
  const flags = { ...none, client: join(home, 'own/servers.json'), yes: true }
  t.equal(await install(flags, context), 0)
  t.notMatch(context.printed(), 's3cret-of-mine')
  const record = join(home, '.local/state/mcp-customs/installed.json')
  t.equal(statSync(record).mode & 0o777, 0o600, 'what was there before is for nobody else')
  const late = at(home, { confirm: () => appendFileSync(flags.client, '\n') === undefined })
  await t.rejects(
    install({ ...flags, yes: false, policy: 'strict' }, late), { message: /has changed since it was shown/ },
  )
  writeFileSync(flags.client, readFileSync(flags.client, 'utf8').trimEnd() + '\n')
  t.equal(await uninstall(flags, context), 0, 'also after a change that failed')
  t.notMatch(readFileSync(record, 'utf8'), 's3cret-of-mine')
  t.equal(readFileSync(join(home, 'own/servers.json'), 'utf8'), text)
})

t.test('an impossible request is reported in one line', async t => {
  const home = homeWith(t, {
    [claude]: two, '.config/Code/User/mcp.json': '{}', '.config/Code - Insiders/User/mcp.json': '{}',
    'bad.json': '{"mcpServers": }',
  })
  const cases: readonly (readonly [string, InstallFlags, RegExp])[] = [
    ['no client', none, /^which client\? choose one with --client \(there is: claude-desktop, vscode\)$/],
    [
      'a client that is none', { ...none, client: 'cursr' },
      /^--client "cursr": no such client; did you mean "cursor"\?/,
    ],
    ['a client that is not here', { ...none, client: 'zed' }, /^Zed has no configuration file here/],
    [
      'a client with two files', { ...none, client: 'vscode' },
      /several files: .*: name the file with --client FILE$/,
    ],
    ['a file that is not there', { ...none, client: join(home, 'none.json') }, /none\.json: is not there$/],
    ['a file that is broken', { ...none, client: join(home, 'bad.json') }, /bad\.json:1:16: value expected$/],
    [
      'a server that is none', { ...desktop, server: ['fils'] },
      /^--server "fils": no such server; did you mean "files"\? \(there is: files, mail, old\)$/,
    ],
    ['a policy that is none', { ...desktop, policy: 'strickt' }, /^--policy "strickt"/],
    [
      'a project of a client that has none', { ...none, client: 'zed', project: home },
      /keeps no servers in a project/,
    ],
  ]
  for (const [name, flags, message] of cases) await t.rejects(install(flags, at(home)), { message }, name)
  const empty = at(homeWith(t, {}))
  await t.rejects(install(none, empty), { message: /^no configuration of a known client was found/ })
  t.equal(await check({ ...none, check: true }, empty), 0)
  t.match(empty.printed(), /^No configuration/)
})

t.test('check names each file of a client with several, and reports an unreadable one', async t => {
  const home = homeWith(t, {
    '.config/Code/User/mcp.json': '{"servers": {"a": {"command": "b"}}}',
    '.config/Code - Insiders/User/mcp.json': '{"servers": {}}', '.cursor/mcp.json': '{',
  })
  const context = at(home)
  t.equal(await check({ ...none, check: true }, context), 1)
  t.match(
    context.printed(),
    /^Cursor: .*\n {2}wrong: .*mcp\.json:1:2: .*\nVS Code: .*\n {2}VS Code may mean several files: .*\n {2}a {2}not wrapped\nVS Code: .*\n.*\n {2}has no servers\n$/,
  )
  t.equal(await check({ ...none, client: 'vscode', check: true }, context), 0)
})

t.test('exit code 1 when a named server is left alone', async t => {
  const context = at(homeWith(t, { [claude]: two }))
  t.equal(await install({ ...desktop, server: ['old'], yes: true }, context), 1)
  t.match(context.printed(), /left alone: is disabled\n$/)
})

const claudeLock = '.config/Claude/claude_desktop_config.customs.lock.json'

/** What the servers of a test offer: a tool each, named after them. */
const offering = (...unreachable: readonly string[]): Context['list'] & { description: string } => {
  const list: Context['list'] = async ({ server }) => {
    if (unreachable.includes(server.name)) {
      throw new CustomsError('CANNOT_REACH', `${server.name}: no answer within 30 s`)
    }
    const tool = { name: `use-${server.name}`, description: all.description, inputSchema: { type: 'object' } }
    return {
      identity: 'command' in server ? { command: server.command.join(' ') } : { url: server.url },
      offers: { legacy: { ...emptyOffer, tools: new Map([[tool.name, tool]]) } },
    } satisfies Listed
  }
  const all = Object.assign(list, { description: 'Helps.' })
  return all
}

t.test('--lock shows what the servers offer, and accepts it with the same answer', async t => {
  const home = homeWith(t, { [claude]: two })
  const questions: string[] = []
  const list = offering()
  const context = at(home, { choose: () => [0, 1], confirm: question => questions.push(question) > 0 }, list)
  const locking = { ...desktop, lock: true }
  const reader = at(home, { choose: () => [0, 1], confirm: () => false }, list)
  t.equal(await install({ ...locking, verbose: true }, reader), 1)
  t.match(reader.printed(), /\+ tool use-files {2}added\n {2}"Helps\."/, 'unless that is asked for')
  t.equal(await install(locking, context), 0)
  const lock = join(home, claudeLock)
  t.same(questions, [`Write this to ${lock} and ${join(home, claude)}?`])
  const shown = context.printed()
  t.match(shown, /\n2 servers: 2 new\n {2}files {2}new: 1 tool \(use-files\)\n {2}mail {3}new: 1 tool/)
  t.notMatch(shown, 'Helps.', 'what new servers offer is named, not quoted')
  t.match(shown, /"wrap", "--server=files", "--policy=compat", "--profile=claude-desktop", "--lock=.*customs\.lock\.json", "--", "npx"/)
  t.match(shown, /\nAccepted: .*\nWritten\. .*\nRestart Claude Desktop: .*\nUndo it with: /)
  const [locked, installed] = [readFileSync(lock, 'utf8'), readFileSync(join(home, claude), 'utf8')]
  t.same(
    Object.keys((JSON.parse(locked) as { servers: object }).servers), ['files', 'mail'],
    'what is disabled is not asked',
  )

  t.equal(await install({ ...locking, yes: true }, context), 0, 'once more')
  t.match(
    context.printed(),
    /\n2 servers: 2 unchanged\n {2}files {2}unchanged\n[^]*runs under mcp-customs already\n[^]*left alone: is disabled\nfiles: the entry names no version of server.*\n$/,
  )
  t.same(
    [readFileSync(lock, 'utf8'), readFileSync(join(home, claude), 'utf8')], [locked, installed],
    'changes no byte',
  )

  list.description = 'Helps me.'
  t.equal(
    await install(locking, at(home, { confirm: () => false }, list)), 1,
    'what changed is not accepted by itself',
  )
  t.equal(readFileSync(lock, 'utf8'), locked)
  t.equal(await install({ ...locking, yes: true }, context), 0)
  t.match(context.printed(), /~ tool use-files\n[^]*Accepted: .*\nRestart Claude Desktop: [^\n]*\n$/)
  t.match(readFileSync(lock, 'utf8'), 'Helps me.')
  t.equal(readFileSync(join(home, claude), 'utf8'), installed)

  t.equal(await uninstall({ ...desktop, yes: true }, context), 0)
  t.equal(readFileSync(join(home, claude), 'utf8'), two)
})

t.test('a server that cannot be listed keeps its lock, or runs without one', async t => {
  const home = homeWith(t, { [claude]: two })
  const locking = { ...desktop, lock: true, yes: true }
  const context = at(home, undefined, offering('mail'))
  t.equal(await install(locking, context), 1)
  t.match(
    context.printed(),
    /mail {2}cannot be asked: no answer within 30 s: nothing of it is accepted, and it runs without a lock/,
  )
  t.match(readFileSync(join(home, claude), 'utf8'), /"--server=mail", "--policy=compat", "--profile=claude-desktop", "--", "\/opt\/mail"/)
  t.equal(await install(locking, at(home, undefined, offering())), 0)
  t.match(
    readFileSync(join(home, claude), 'utf8'), /"--policy=compat", "--profile=claude-desktop", "--lock=.*", "--", "\/opt\/mail"/,
  )
  t.equal(await uninstall({ ...desktop, yes: true }, context), 0)
  const locked = readFileSync(join(home, claudeLock), 'utf8')
  context.printed()
  t.equal(await install(locking, context), 1)
  t.match(context.printed(), /mail {2}cannot be asked: .*: it is held to what was accepted before\n/)
  t.match(readFileSync(join(home, claude), 'utf8'), /"--server=mail", "--policy=compat", "--profile=claude-desktop", "--lock=/)
  t.equal(readFileSync(join(home, claudeLock), 'utf8'), locked)
})

t.test('a server is listed as its client would start it', async t => {
  const servers = {
    a: {
      command: 'a', args: ['${env:CUSTOMS_TEST_A}', '${CUSTOMS_TEST_NONE:-b}'], env: { KEY: 's3cret' },
      cwd: '/data',
    },
    b: { url: 'https://b.example/', headers: { 'X-Key': 's3cret' } },
    c: { command: 'c', args: ['--key', '${input:key}'] },
    d: { command: 'd', env: { KEY: '${CUSTOMS_TEST_NONE}' } },
  }
  process.env['CUSTOMS_TEST_A'] = 'x'
  t.teardown(() => delete process.env['CUSTOMS_TEST_A'])
  const home = homeWith(t, { '.cursor/mcp.json': JSON.stringify({ mcpServers: servers }) })
  const asked: object[] = []
  const context = at(home, undefined, async ({ server }) => {
    asked.push(server)
    return { identity: {}, offers: { legacy: emptyOffer } }
  })
  const flags = { ...none, client: 'cursor', lock: true, yes: true }
  const expected = [
    { name: 'a', command: ['a', 'x', 'b'], cwd: '/data', env: new Map([['KEY', 's3cret']]) },
    { name: 'b', url: 'https://b.example/', headers: new Map([['x-key', 's3cret']]) },
  ]
  t.equal(await install(flags, context), 1)
  t.match(asked.splice(0), expected)
  t.match(
    context.printed(),
    /c {2}cannot be asked: has \$\{input:key\} in it, which the client fills in: .*\nd {2}cannot be asked: has \$\{CUSTOMS_TEST_NONE\} in it/,
  )
  await install(flags, context)
  t.match(asked, expected, 'also once it is wrapped')
  t.notMatch(readFileSync(join(home, '.cursor/mcp.customs.lock.json'), 'utf8'), 's3cret')
})

t.test('a project\'s lock lies in its folder, and a shared file names it by a relative path', async t => {
  const home = homeWith(t, { 'work/.mcp.json': '{"mcpServers": {"a": {"command": "b"}}}' })
  const folder = join(home, 'work')
  writeFileSync(join(home, '.claude.json'), JSON.stringify({
    mcpServers: { a: { command: 'u' } }, projects: { [folder]: { mcpServers: { own: { command: 'c' } } } },
  }))
  const context = as(at(home, undefined, offering()), { published: true })
  t.equal(
    await install({ ...none, client: 'claude-code', project: folder, lock: true, yes: true }, context), 0,
  )
  t.match(readFileSync(join(folder, '.mcp.json'), 'utf8'), '"--lock=customs.lock.json"')
  t.match(readFileSync(join(home, '.claude.json'), 'utf8'), `"--lock=${join(folder, 'customs.lock.json')}"`)
  t.match(
    JSON.parse(readFileSync(join(folder, 'customs.lock.json'), 'utf8')), { servers: { a: {}, own: {} } },
  )
  t.equal(await install({ ...none, client: 'claude-code', lock: true, yes: true }, context), 0)
  t.match(JSON.parse(readFileSync(join(home, '.claude.customs.lock.json'), 'utf8')), {
    servers: { a: { identity: { command: 'u' } } },
  })
  context.printed()
  t.equal(await check({ ...none, client: 'claude-code', project: folder, check: true }, context), 0)
  t.match(
    context.printed(),
    /a {2}wrapped, policy compat, locked \(1 tool\) .*\n[^]*own \(.*\) {2}wrapped, policy compat, locked \(1 tool\)/,
  )
})

t.test('two servers of one name cannot share a lock', async t => {
  const home = homeWith(t, {})
  writeFileSync(
    join(home, 'two.json'), '{"mcpServers": {"a": {"command": "b"}}, "servers": {"a": {"command": "c"}}}',
  )
  const context = at(home, undefined, offering())
  t.equal(await install({ ...none, client: join(home, 'two.json'), lock: true, yes: true }, context), 1)
  t.match(
    context.printed(),
    /a \(servers\) {2}cannot be asked: another server of this name is locked in .*two\.customs\.lock\.json: give one of them a lock of its own/,
  )
})

t.test('check tells whether a wrapped server would start with its lock', async t => {
  const home = homeWith(t, { [claude]: two })
  const context = at(home, undefined, offering())
  await install({ ...desktop, server: ['files'], lock: true, yes: true }, context)
  const lock = join(home, claudeLock)
  const written = readFileSync(lock, 'utf8')
  const states: readonly (readonly [string, string, RegExp])[] = [
    ['as it was accepted', written, /^ {2}files {2}wrapped, policy compat, locked \(1 tool\) {2}\S/m],
    [
      'tampered with', written.replace('Helps.', 'Harms.'),
      /files {2}wrapped, policy compat, locked {2}.*\n {4}wrong: .*it was changed after it was accepted/,
    ],
    [
      'without it', '{"version":2,"servers":{}}',
      /wrong: .*nothing was accepted of the server "files"; .* run: .* lock --client \S+config\.json --server files\n/,
    ],
    [
      'of another server', written.replace('/data', '/etc'),
      /wrong: .*"files" is not the server that was accepted/,
    ],
  ]
  for (const [name, text, line] of states) {
    writeFileSync(lock, text)
    context.printed()
    t.equal(
      await check({ ...desktop, server: ['files'], check: true }, context), text === written ? 0 : 1, name,
    )
    t.match(context.printed(), line, name)
  }
  rmSync(lock)
  context.printed()
  t.equal(await check({ ...desktop, server: ['files'], check: true }, context), 1)
  t.match(context.printed(), /wrong: .*there is no such lock file/)
})

const require = createRequire(import.meta.url)
const official = (name: string): string => require.resolve(`@modelcontextprotocol/${name}/dist/index.js`)

/** Wants a header, and speaks no more than the first words. */
const remoteServer = (t: { teardown(end: () => void): unknown }, key: string): Promise<string> =>
  serveBodies(t, (body, response, request) => {
    if (request.headers['x-key'] !== key) return response.writeHead(401).end()
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method } = JSON.parse(body) as { id?: number; method: string }
    if (method !== 'initialize') return response.writeHead(202).end()
    const result =
      { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'remote', version: '1' } }
    return answerJson(response, { jsonrpc: '2.0', id, result })
  })

const initialize = JSON.stringify({
  jsonrpc: '2.0', id: 1, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

t.test('each entry that the command has wrapped starts, and answers its client', {
  skip: isPassing(cli, []) && 'paths of this clone would not be written',
}, async t => {
  const home = homeWith(t, {})
  const key = 'k-0123456789'
  const servers = {
    everything: { command: process.execPath, args: [official('server-everything')] },
    memory: { command: process.execPath, args: [official('server-memory')], env: {
      MEMORY_FILE_PATH: join(home, 'a b.json'),
    } },
    files: { command: process.execPath, args: [official('server-filesystem'), home] },
    lying: { command: lying },
    remote: { url: await remoteServer(t, key), headers: { 'X-Key': key } },
  }
  // One that is started without arguments has to be a program by itself.
  const script = join(home, 'lying')
  writeFileSync(script, `#!/bin/sh\nexec "${process.execPath}" "${lying}"\n`, { mode: 0o755 })
  servers.lying.command = script
  const file = join(home, '.cursor/mcp.json')
  mkdirSync(dirname(file))
  writeFileSync(file, JSON.stringify({ mcpServers: servers }, undefined, 2))
  const env = { HOME: home, XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined, NO_COLOR: '1' }
  const installed = await run(t, ['install', '--client', 'cursor', '--yes'], env)
  t.match(installed, { code: 0, stderr: '' })
  t.notMatch(installed.stdout, key)
  const written = JSON.parse(
    readFileSync(file, 'utf8'),
  ) as { mcpServers: Record<string, { command: string; args: string[]; env?: Record<string, string> }> }
  for (const [name, { command, args, env: own }] of Object.entries(written.mcpServers)) {
    t.same(args.slice(0, 3), [cli, 'wrap', `--server=${name}`])
    t.notMatch(args.join(' '), key)
    const started = start(t, command, args, { ...env, ...own })
    started.send(initialize)
    t.match(JSON.parse(await started.responseTo('1')), { result: { serverInfo: { name: /./ } } }, name)
    await started.end()
    t.ok(readdirSync(join(home, '.local/state/mcp-customs'))
      .some(log => log.startsWith(`${name}.`)), 'the audit log has its name')
  }
  t.match(await run(t, ['install', '--check'], env), {
    code: 0, stdout: /^Cursor: .*\n( {2}\w+ +wrapped, policy compat, no lock {2}.*\n){5}$/,
  })
  t.match(await run(t, ['uninstall', '--client', 'cursor', '--yes'], env), { code: 0, stderr: '' })
  t.equal(readFileSync(file, 'utf8'), JSON.stringify({ mcpServers: servers }, undefined, 2))
})

t.test('flags that contradict each other are refused', async t => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['install', '--all', '--server', 'a'], /either --server or --all/],
    [['install', '--check', '--yes'], /--check changes nothing/],
    [['install', '--lock-file', 'a'], /--lock-file goes with --lock\n$/],
    [['install', '--', 'node', 'server.js'], /take no command/],
    [['uninstall', '--check'], /check/],
    [['wrap', '--header', 'A=b', '--', 'node'], /--header goes with a URL, not with a command/],
    [['wrap', '--header', 'secret', 'https://a.example/'], /^mcp-customs: --header: must be NAME=VALUE\n$/],
    [
      ['wrap', '--header', 'A={env:NOT_SET_AT_ALL}', 'https://a.example/'],
      /--header A: the environment variable NOT_SET_AT_ALL is not set/,
    ],
  ]
  for (const [words, message] of cases) {
    const { code, stdout, stderr } = await run(t, words)
    t.match([code, stdout, stderr], [2, '', message], words.join(' '))
  }
})
