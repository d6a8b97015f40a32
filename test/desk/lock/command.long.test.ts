import { spawnSync } from 'node:child_process'
import {
  existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync,
  writeFileSync,
} from 'node:fs'
import { hash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { takesValue } from '#cli/context.js'
import t, { type Test } from 'tap'
import { canonical } from '#relay/base/canonical.js'
import { acceptedOf } from '#relay/lock/accepted.js'
import { readCommandLine } from '#cli/command-line.js'
import type { Context } from '#desk/terminal/context.js'
import { readFlags, readTarget } from '#cli/flags/relay.js'
import { identityOf } from '#relay/lock/identity.js'
import { lockFlags, readLockFlags } from '#cli/flags/lock.js'
import { lockCommand } from '#desk/lock/command.js'
import { listAll } from '#desk/lock/servers.js'
import { type LockSetting, type ProcessServer, usual } from '#relay/config/configuration.js'
import { CustomsError } from '#relay/base/errors.js'
import { plainStyle } from '#desk/terminal/style.js'
import { emptyOffer } from '#relay/lock/offer.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import { cli, run } from '../inspect/start.js'
import { plainSetup } from '../../relay/host/plain-setup.js'

const folder = mkdtempSync(join(tmpdir(), 'customs-lock-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const offers = join(folder, 'offers.json')
const program = join(folder, 'mail.cjs')
const lock = join(folder, 'lock.json')

const tool = {
  name: 'send', description: 'Sends mail to somebody.',
  inputSchema: { type: 'object', properties: { to: { type: 'string' } } }, _meta: { build: 1 },
}
const other = { name: 'other', inputSchema: { type: 'object' } }

/** What the server of the tests offers from now on. */
const offer = (...tools: readonly object[]): void => writeFileSync(offers, JSON.stringify(tools))
const offered = () => JSON.parse(readFileSync(offers, 'utf8')) as (DataObject & { name: string })[]

writeFileSync(program, `
  const tools = require('node:fs').readFileSync(${JSON.stringify(offers)}, 'utf8')
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method } = JSON.parse(line)
    const result = method === 'initialize'
      ? '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"mail","version":"1"}}'
      : '{"tools":' + tools + '}'
    const answer = method === 'server/discover' ? '"error":{"code":-32601,"message":"No"}' : '"result":' + result
    if (id !== undefined) console.log('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',' + answer + '}')
  })`)

const server = ['--', process.execPath, program]
const unreachable = new Set<string>()

/** Runs `lock` in this process, with servers that answer as they were told to. */
const locking = async (
  words: readonly string[], to = server, confirm?: (question: string) => boolean,
  into: readonly string[] = ['--lock', lock],
) => {
  let [stdout, stderr] = ['', '']
  const context: Context = {
    machine: { platform: 'linux', environment: {}, home: folder },
    takesValue,
    installation: {
      platform: 'linux', version: '0.1.0', file: cli, published: false, nodes: [process.execPath],
      temporary: [],
    },
    dialogue: confirm && { choose: async () => undefined, confirm: async question => confirm(question) },
    style: plainStyle,
    width: 100,
    versionOf: async () => ({ version: '' }),
    newestVersion: async () => undefined,
    print: async text => void (stdout += text),
    tell: line => void (stderr += `mcp-customs: ${line}\n`),
    list: async ({ server }) => {
      if (unreachable.has(server.name)) throw new CustomsError('CANNOT_REACH', `${server.name}: no answer`)
      return { identity: await identityOf(server), offers: {
        legacy: { ...emptyOffer, tools: new Map(offered().map(one => [one.name, one])) },
      } }
    },
  }
  try {
    const asked =
      await readCommandLine(['lock', ...(words.includes('--client') ? words : [...into, ...words]), ...to])
    if ('print' in asked) throw new Error(asked.print)
    const { given, rest } = asked
    return { code: await lockCommand(
      readFlags(lockFlags, given), readTarget(rest), readLockFlags(given, rest), context,
    ), stdout, stderr }
  } catch (error) {
    if (!(error instanceof CustomsError)) throw error
    return { code: error.exitCode, stdout, stderr: `${stderr}mcp-customs: ${error.message}\n` }
  }
}

/** Each begins without a lock, and with two tools. */
const test = (name: string, body: (t: Test) => Promise<void>) =>
  t.test(name, t => {
    rmSync(lock, { force: true })
    unreachable.clear()
    offer(tool, other)
    return body(t)
  })

test('nothing is accepted without a word from somebody', async t => {
  const { code, stdout, stderr } = await locking([])
  t.equal(code, 1)
  t.match(stdout, /^\+ tool send {2}added\n {2}to\?: string\n {2}"Sends mail to somebody\."$/m)
  t.match(
    stderr, /was not written: nobody is there to ask \(--yes accepts all of it, --accept TOOL a part\)\n$/,
  )
  t.match(await locking([], server, () => false), { code: 1, stderr: '' })
  t.notOk(existsSync(lock))
  t.match(await locking([], server, question => question === `Accept this, and write it to ${lock}?`), {
    code: 0, stderr: /wrote /,
  })
  t.ok(existsSync(lock))
})

test('what is accepted is written, and an unchanged server changes no byte', async t => {
  t.match(await locking(['--yes']), { code: 0, stderr: /wrote .*lock\.json: it holds when .* started again\n$/ })
  const written = readFileSync(lock, 'utf8')
  t.match(JSON.parse(written), { version: 2, servers: { mail: {
    acceptedBy: '--yes', identity: { sha256: /^[0-9a-f]{64}$/ },
    tools: { send: { definition: tool, digest: /^sha256-/ } },
  } } })
  offer(other, Object.fromEntries(Object.entries(tool).reverse()))
  t.match(await locking(['--yes']), { code: 0, stdout: /✓ no change/, stderr: '' })
  t.equal(readFileSync(lock, 'utf8'), written)
  t.match(await locking(['--check']), { code: 0, stdout: /✓ no change/ })
  t.strictSame(readdirSync(folder).filter(name => name.endsWith('.tmp')), [])
})

test('a rug that was pulled is found on every day, until it is accepted', async t => {
  await locking(['--yes'])
  const written = readFileSync(lock, 'utf8')
  offer({ ...tool, description: 'Sends mail to somebody.\u200b And to me.', _meta: { build: 2 } }, other)
  for (const day of ['second', 'third']) {
    const { code, stdout } = await locking(['--check'])
    t.equal(code, 1, day)
    t.match(stdout, /~ tool send\n[^]*\n {2}\/description {2}text\n.*\n.*somebody\.<U\+200B>/, day)
  }
  const json = await locking(['--check', '--json'])
  t.equal(json.code, 1)
  t.match(JSON.parse(json.stdout), { version: 1, servers: [{
    action: 'block', classes: ['text', 'meta'],
    changes: [{ of: 'tool', name: 'send', class: 'meta' }, { class: 'text' }],
  }] })
  t.equal(readFileSync(lock, 'utf8'), written, 'a listing changes nothing')
  offer(tool, other)
  t.match(await locking(['--check']), { code: 0 }, 'back to what was accepted')
})

test('for code scanning, a change stands at the line where it is written what was accepted', async t => {
  await locking(['--yes'])
  offer({ ...tool, description: 'Sends mail to me.', icons: [] }, { name: 'added', inputSchema: {} })
  const { code, stdout } = await locking(['--check', '--sarif'])
  t.equal(code, 1)
  const lines = readFileSync(lock, 'utf8').split('\n')
  const [run] = (JSON.parse(
    stdout,
  ) as { runs: { automationDetails: object; results: {
    level: string; message: object; locations: [{ physicalLocation: { region: { startLine: number } } }];
    properties: { class: string }
  }[] }[] }).runs
  t.match(run, {
    automationDetails: { id: 'mcp-customs/lock/mail/' }, tool: { driver: { rules: [{ id: 'tool/drift' }] } },
  })
  const told = run?.results.map(({ level, properties, locations: [{ physicalLocation: { region } }] }) => [
    properties.class, level, lines[region.startLine - 1]?.trim(),
  ])
  t.strictSame(told, [
    ['removed', 'warning', '"other": {'], ['text', 'error', '"send": {'], ['icons', 'warning', '"send": {'],
    ['added', 'error', '"mail": {'],
  ])
  t.match(run?.results[1]?.message, { text: 'tool send at /description: text: is not what was accepted ' +
    '(mcp-customs lock shows it, and accepts it)' })
  offer(tool, other)
  t.match(
    JSON.parse((await locking(['--check', '--sarif'])).stdout), { version: '2.1.0', runs: [{ results: [] }] },
  )
})

test('of what --yes accepted, a person is shown what differs, and all of it only when asked', async t => {
  await locking(['--yes'])
  offer({ ...tool, description: 'Sends mail to me.' }, other)
  const seen = await locking([], server, () => true)
  t.match(seen, { code: 0, stdout: /~ tool send\n[^]*1 change: 1 text\n/ })
  t.notMatch(seen.stdout, /\+ tool/, 'what was accepted before is not new')
  const byWhom = () => {
    const { servers } = JSON.parse(readFileSync(lock, 'utf8')) as { servers: { mail: DataObject } }
    return servers.mail['acceptedBy']
  }
  t.equal(byWhom(), '--yes', 'nobody has read the rest')
  t.match(await locking([], server, () => true), { code: 0, stdout: /\+ tool send/ }, 'without a change, all of it')
  t.equal(byWhom(), 'person')
})

test('a part of what changed is accepted', async t => {
  await locking(['--yes'])
  offer({ ...tool, title: 'Send' }, { ...other, title: 'Other' })
  t.match(await locking(['--accept', 'send']), { code: 0, stdout: /1 change: 1 text\n$/ })
  const rest = await locking(['--check'])
  t.equal(rest.code, 1)
  t.match(rest.stdout, /~ tool other/)
  t.notMatch(rest.stdout, /tool send/)
  t.match(await locking(['--accept', 'nope']), {
    code: 2, stderr: /--accept "nope": nothing changed of any such tool\n$/,
  })
})

test('a tool is accepted with the digest that was reviewed, and with no other', async t => {
  await locking(['--yes'])
  const changed = { ...tool, title: 'Send' }
  offer(changed, other)
  const { servers: [{ digests }] } =
    JSON.parse((await locking(['--check', '--json'])).stdout) as { servers: [{ digests: DataObject }] }
  const digest = `sha256-${hash('sha256', canonical(changed))}`
  t.strictSame(digests, { send: [digest] })
  const written = readFileSync(lock, 'utf8')
  const wrong = `sha256-${'0'.repeat(64)}`
  const refused = await locking(['--accept', 'send', '--expect', wrong])
  t.equal(refused.code, 1)
  t.match(refused.stderr, `"send" was not accepted: expected ${wrong}, but the server lists ${digest}`)
  t.match(await locking(['--accept', 'gone', '--expect', wrong]), {
    code: 1, stderr: /"gone" was not accepted: .*, but the server does not list it/,
  })
  t.equal(readFileSync(lock, 'utf8'), written)
  t.match((await locking(['--accept', 'send', '--expect', digest.slice(7).toUpperCase(), '--verbose'])), {
    code: 0, stdout: new RegExp(`digests of these tools:\\n {2}send {2}${digest}\\n`),
  })
  t.match(await locking(['--check']), { code: 0 })
})

test('another program under the same name is another version of the server', async t => {
  await locking(['--yes'])
  const before = readFileSync(program)
  writeFileSync(program, `${before.toString()}\n// changed`)
  t.teardown(() => writeFileSync(program, before))
  t.match(await locking(['--check']), { code: 1, stdout: /~ server\n {2}\/sha256 {2}version/ })
})

test('every server of a file is locked, each under its name; of one that cannot be asked, the others do ' +
  'not suffer', async t => {
  const file = join(folder, 'customs.json')
  const command = [process.execPath, program]
  writeFileSync(file, JSON.stringify({
    version: 1, servers: { one: { command }, two: { command: [...command, '--token=sk-1234567890abcdef'] } },
  }))
  t.match(await locking(['--yes', '--config', file], []), { code: 0 })
  const written = readFileSync(lock, 'utf8')
  t.match(JSON.parse(written), { servers: { one: {}, two: {} } })
  t.notMatch(written, /sk-1234567890abcdef/, 'no secret goes into version control')
  offer(tool)
  t.match(await locking(['--yes', '--config', file, '--server', 'two'], []), { code: 0 })
  t.match(await locking(['--check', '--config', file, '--server', 'two'], []), { code: 0 })
  t.match(await locking(['--check', '--config', file], []), { code: 1, stdout: /- tool other {2}removed/ })
  unreachable.add('two')
  t.match(await locking(['--yes', '--config', file], []), {
    code: 2, stdout: /→ one[^]*- tool other/, stderr: /^mcp-customs: two: no answer\nmcp-customs: wrote /,
  })
  unreachable.clear()
  t.match(await locking(['--check', '--config', file], []), { code: 0 })
})

test('several servers are summed up, and a person is asked for each that changed', async t => {
  const file = join(folder, 'several.json')
  const named = (name: string) => {
    const copy = join(folder, `${name}.cjs`)
    writeFileSync(copy, readFileSync(program))
    return { command: [process.execPath, copy] }
  }
  const write = (...names: readonly string[]) => writeFileSync(file, JSON.stringify({
    version: 1, servers: Object.fromEntries(names.map(name => [name, named(name)])),
  }))
  write('one', 'two')
  const several = (confirm?: (question: string) => boolean, ...words: readonly string[]) =>
    locking([...words, '--config', file], [], confirm)
  t.match(await several(() => true), {
    code: 0, stdout: `2 servers: 2 new
  one  new: 2 tools (send, other)
  two  new: 2 tools (send, other)
(--verbose shows all that new servers offer)\n\n`,
  })
  const unchanged = '2 servers: 2 unchanged\n  one  unchanged\n  two  unchanged\n\n'
  t.match(await several(), { code: 0, stdout: unchanged })
  write('one', 'two', 'three')
  offer({ ...tool, description: 'Steals mail.' }, other, { ...other, name: 'fourth' })
  const questions: string[] = []
  const answer = (question: string) => questions.push(question) === 2
  const { code, stdout } = await several(answer)
  t.equal(code, 1, 'not all was accepted')
  t.match(stdout, `3 servers: 1 new, 1 changed description, 1 new tool
  one    1 changed description, 1 new tool
  two    1 changed description, 1 new tool
  three  new: 3 tools (send, other, fourth)
`)
  t.match(stdout, /→ one [^]*Steals mail[^]*→ two [^]*Steals mail/, 'changes are shown whole')
  t.notMatch(stdout, '→ three')
  const questionOf = (name: string) => `Accept this of ${name}, and write it to ${lock}?`
  t.strictSame(questions, ['one', 'two', 'three'].map(questionOf))
  t.match(await several(undefined, '--check'), {
    code: 1, stdout: /\n {2}one .*tool\n {2}two {4}unchanged\n {2}three {2}new/,
  })
  t.match(await several(undefined, '--verbose'), { code: 1, stdout: /→ three [^]*"Steals mail\."/ })
})

test('servers are asked side by side, those of one package in turn', async t => {
  const command = (name: string): ProcessServer['command'] => ['npx', '-y', name]
  const setups = [command('a'), command('b'), command('a'), command('c')].map((words, index) => ({
    configuration: usual, setup: plainSetup({
      name: String(index), command: words, env: new Map(), inheritEnv: undefined, cwd: undefined,
      policy: undefined, rules: new Map(), tools: new Map(), lock: undefined,
    }),
  }))
  const begun: string[] = []
  let go = () => {}
  const allBegun = new Promise<void>(resolve => (go = resolve))
  const list: Context['list'] = async ({ server: { name } }) => {
    begun.push(name)
    if (begun.length === 3) go()
    await allBegun
    if (name === '1') throw new CustomsError('CANNOT_REACH', 'no answer')
    return { identity: { command: name }, offers: {} }
  }
  const results = await listAll(setups, { audit: undefined, logLevel: 'warn', timeoutMs: 1 }, { list })
  t.strictSame(begun, ['0', '1', '3', '2'])
  t.match(results.map(({ listed }) => listed), [
    { identity: { command: '0' } }, { message: 'no answer' }, { identity: { command: '2' } },
    { identity: { command: '3' } },
  ])
})

test('without --lock, a server of a file is locked where the file says that its lock is', async t => {
  const [file, own, shared] =
    [join(folder, 'with-locks.json'), join(folder, 'own.json'), join(folder, 'shared.json')]
  const command = [process.execPath, program]
  const servers = { one: { command, lock: own }, two: { command } }
  writeFileSync(file, JSON.stringify({ version: 1, lock: shared, servers }))
  const words = ['--config', file]
  t.match(await locking(['--yes', ...words], [], undefined, []), { code: 0 })
  const lockedIn = (name: string) =>
    Object.keys((JSON.parse(readFileSync(name, 'utf8')) as { servers: object }).servers)
  t.strictSame([own, shared].map(lockedIn), [['one'], ['two']])
  offer(tool)
  t.match(
    await locking(['--check', ...words], [], undefined, []), { code: 1, stdout: /- tool other {2}removed/ },
  )
})

test('the servers of a client are locked, under mcp-customs or not', async t => {
  const file = join(folder, 'mcp.json')
  const locked = join(folder, 'mcp.customs.lock.json')
  const elsewhere = join(folder, 'elsewhere.json')
  t.teardown(() => [file, locked, elsewhere].forEach(one => rmSync(one, { force: true })))
  const plain = { command: process.execPath, args: [program] }
  const wrapped = (name: string, ...options: readonly string[]) => ({ command: process.execPath, args: [
    cli, 'wrap', `--server=${name}`, ...options, '--', process.execPath, program,
  ] })
  const servers = {
    plain, wrapped: wrapped('other-name'), held: wrapped('held', `--lock=${elsewhere}`),
    off: { ...plain, disabled: true }, strange: {}, remote: { url: 'https://a.example/mcp?key=s3cret' },
  }
  writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  t.match(await locking(['--client', file, '--yes'], []), {
    code: 0,
    stderr: /^mcp-customs: off is left out: is disabled\nmcp-customs: strange is left out: has neither a command nor a URL\n(?:mcp-customs: wrote .*\n){2}$/,
  })
  const keys = (path: string) =>
    Object.keys((JSON.parse(readFileSync(path, 'utf8')) as { servers: object }).servers)
  t.same([keys(locked), keys(elsewhere)], [['other-name', 'plain', 'remote'], ['held']])
  t.notMatch(readFileSync(locked, 'utf8'), 's3cret')
  offer(tool)
  t.match(await locking(['--client', file, '--check', '--server', 'plain'], []), {
    code: 1, stdout: /^.* → plain \([^]*- tool other/,
  })
  t.match(await locking(['--client', file, '--yes', '--server', 'plain', '--lock', lock], []), { code: 0 })
  t.same(keys(lock), ['plain'])
  const ofClient = join(folder, '.cursor', 'mcp.json')
  mkdirSync(join(folder, '.cursor'))
  writeFileSync(ofClient, JSON.stringify({ mcpServers: { plain, held: servers.held } }))
  t.teardown(() => rmSync(join(folder, '.cursor'), { recursive: true }))
  const byName = (name: string) => locking(['--yes', '--server', name], [], undefined, [])
  t.match(
    await byName('held'), { code: 0, stderr: /wrote .*elsewhere\.json/ },
    'without --client, the server is found in the files of all clients',
  )
  t.match(await byName('plain'), { code: 2, stderr: /no such server \(there is: held\)/ }, 'it has no lock')
  const cases: [readonly string[], RegExp][] = [
    [['--client', file, '--server', 'plane'], /--server "plane": no such server; did you mean "plain"\?/],
    [['--client', file, '--server', 'strange'], /has neither a command nor a URL\n$/],
    [['--client', file, '--config', 'a'], /--client says which servers: leave --config out/],
    [['--project', folder], /--project goes with --client\n$/],
    [['--client', 'cursr'], /no such client; did you mean "cursor"/],
  ]
  for (const [words, line] of cases) {
    t.match(await locking(words, []), { code: 2, stderr: line }, words.join(' '))
  }
  t.match(await locking(['--client', file]), { code: 2, stderr: /leave a command or URL out/ })
})

test('what cannot be relied on is an error', async t => {
  await locking(['--yes'])
  const written = readFileSync(lock, 'utf8')
  const cases: [string, string | undefined, readonly string[], RegExp][] = [
    [
      'a lock that was tampered with', written.replace('Sends mail', 'Steals mail'), ['--check'],
      /lock\.json: "mail": tools: "send": the definition is not what its digest says: .*\n$/,
    ],
    [
      'also when it is to be written', written.replace('Sends mail', 'Steals mail'), ['--yes'],
      /is not what its digest says/,
    ],
    [
      'a merge that was not finished', written.replace('{', '<<<<<<< HEAD\n{'), ['--check'],
      /lock\.json:1:1: .*\n$/,
    ],
    [
      'a server that stands there twice', written.replace('"servers": {', '"servers": { "mail": {},'),
      ['--check'], /lock\.json:\d+:\d+: the key "mail" stands here twice\n$/,
    ],
    ['no lock', undefined, ['--check'], /there is no such lock file/],
    ['a check that accepts', written, ['--check', '--yes'], /--check writes nothing/],
    ['digests without tools', written, ['--expect', '0'.repeat(64)], /--expect goes with --accept/],
    ['no digest', written, ['--accept', 'send', '--expect', 'abc'], /--expect must be a digest/],
    ['all and a part', written, ['--accept', 'send', '--yes'], /give either --yes or --accept, not both\n$/],
    ['JSON without a check', written, ['--json'], /--json needs --check\n$/],
    ['two formats', written, ['--check', '--json', '--sarif'], /give either --json or --sarif/],
  ]
  for (const [name, content, words, line] of cases) {
    if (content === undefined) rmSync(lock, { force: true })
    else writeFileSync(lock, content)
    const { code, stdout, stderr } = await locking(words)
    t.strictSame([code, stdout], [2, ''], name)
    t.match(stderr, line, name)
  }
  writeFileSync(lock, written.replaceAll('\n', '\r\n').replaceAll('  ', '\t'))
  t.match(await locking(['--check']), { code: 0 }, 'white space is none of it')
})

test('whatever stands where a lock should, it is read as that lock or not at all', async t => {
  await locking(['--yes'])
  const written = readFileSync(lock)
  const cases: readonly (readonly [string, () => void, RegExp | undefined])[] = [
    ['nothing in it', () => writeFileSync(lock, ''), /^\S+: /],
    [
      'its first half', () => writeFileSync(lock, written.subarray(0, written.length / 2)),
      /lock\.json:\d+:\d+: /,
    ],
    [
      'a newer one', () => writeFileSync(lock, written.toString().replace('"version": 2', '"version": 3')),
      /was written by a newer mcp-customs/,
    ],
    [
      'other bytes than text', () => writeFileSync(lock, Buffer.concat([written, Buffer.from([0xff])])),
      /it is not UTF-8/,
    ],
    ['a folder', () => mkdirSync(lock), /it is no file/],
    ['a pipe', () => spawnSync('mkfifo', [lock]), /it is no file/],
    [
      '100 MB', () => (writeFileSync(lock, written), truncateSync(lock, 100_000_000)),
      /it is longer than 67108864 bytes/,
    ],
    ['a link to nothing', () => symlinkSync(join(folder, 'none.json'), lock), /there is no such lock file/],
    ['a link to it', () => (writeFileSync(
      join(folder, 'linked.json'), written,
    ), symlinkSync(join(folder, 'linked.json'), lock)), undefined],
    ['a mark of the order of bytes', () => writeFileSync(lock, `\ufeff${written.toString()}`), undefined],
    [
      'ends of lines of Windows', () => writeFileSync(lock, written.toString().replaceAll('\n', '\r\n')),
      undefined,
    ],
  ]
  for (const [name, put, message] of cases) {
    rmSync(lock, { recursive: true, force: true })
    put()
    if (message === undefined) t.equal((await accepted()).legacy.definitions.tools.size, 2, name)
    else await t.rejects(accepted(), { code: 'BAD_CONFIG', message }, name)
  }
  rmSync(lock)
  symlinkSync(join(folder, 'linked.json'), lock)
  offer(tool)
  t.match(await locking(['--yes']), { code: 0 })
  t.ok(lstatSync(lock).isSymbolicLink(), 'a link stays one')
  rmSync(join(folder, 'linked.json'))
  t.match(await locking(['--yes']), { code: 0 })
  t.ok(lstatSync(lock).isSymbolicLink() && existsSync(join(folder, 'linked.json')), 'also one to no file yet')
  t.equal((await accepted()).legacy.definitions.tools.size, 1)
})

test('a lock that somebody else writes meanwhile is left to them', async t => {
  await locking(['--yes'])
  offer(tool)
  const { code, stderr } = await locking([], server, () => {
    writeFileSync(lock, 'theirs')
    return true
  })
  t.match([code, stderr], [2, /has changed since it was read: nothing was written, run the command again\n$/])
  t.equal(readFileSync(lock, 'utf8'), 'theirs')
})

/** What `wrap` would be told of the server. */
const accepted = (name = 'mail', actions: LockSetting['actions'] = {}) => {
  const command: ProcessServer['command'] = [process.execPath, program]
  return acceptedOf({
    name, command, env: new Map(), inheritEnv: undefined, cwd: undefined, policy: undefined, rules: new Map(),
    tools: new Map(), lock: undefined,
  }, { file: lock, isFrozen: false, trustAccepted: false, actions }, { file: undefined, servers: new Map() })
}

test('a lock that cannot be used is an error for who starts the server', async t => {
  await t.rejects(accepted(), { code: 'BAD_CONFIG', message: /there is no such lock file/ })
  await locking(['--yes'])
  const written = readFileSync(lock, 'utf8')
  t.equal((await accepted()).legacy.definitions.tools.size, 2)
  await t.rejects(
    accepted('post'), { code: 'NOT_ACCEPTED', message: /nothing was accepted of the server "post"/ },
  )
  writeFileSync(lock, written.replace('Sends mail', 'Sends mails'))
  await t.rejects(accepted(), { code: 'BAD_CONFIG', message: /it was changed after it was accepted/ })
  writeFileSync(lock, written.replace(/"sha256": "[0-9a-f]/, '"sha256": "x'))
  t.match((await accepted()).program, { classes: 'version', isMinor: true })
  await t.rejects(accepted('mail', { version: 'block' }), {
    code: 'NOT_ACCEPTED',
    message: /is not the server that was accepted \(sha256\); to see it and accept it, run: /,
  })
})

/** What a client gets through `wrap`, answer by answer, with what the relay says on stderr. */
const wrapped = (words: readonly string[], ...asked: readonly object[]) => {
  const messages = [{ id: 0, method: 'initialize', params: {
    protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' },
  } }, ...asked]
  const input = messages.map(message => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')
  const { stdout, stderr, status } = spawnSync(
    process.execPath, [cli, 'wrap', '--audit', 'none', ...words, ...server], { input, encoding: 'utf8' },
  )
  const answers = new Map(stdout.split('\n').filter(line => line !== '')
    .map(line => JSON.parse(line) as { id: number }).map(answer => [answer.id, answer]))
  return { answers, stderr, status }
}

const list = { id: 1, method: 'tools/list' }

test('wrap holds a server to its lock: across processes, on the second day and on the third', async t => {
  t.match(await run(t, ['lock', '--lock', lock, '--yes', ...server]), {
    code: 0, stdout: /\+ tool send/, stderr: /wrote /,
  })
  t.match(wrapped(['--lock', lock], list).answers.get(1), {
    result: { tools: [{ name: 'send' }, { name: 'other' }] },
  })
  offer({ ...tool, description: 'Sends mail to somebody, and to me.' }, { ...other, _meta: { build: 2 } }, {
    ...tool, name: 'sendmail',
  })
  for (const day of ['second', 'third']) {
    const { answers, stderr } = wrapped(['--lock', lock], list, {
      id: 2, method: 'tools/call', params: { name: 'send', arguments: { to: 'x' } },
    })
    t.same(
      (answers.get(1) as unknown as { result: { tools: object[] } }).result.tools, [other], `the ${day} day`,
    )
    t.match(answers.get(2), { error: { message: /not what was accepted any more/ } })
    t.match(stderr, /tool\/drift/)
  }
  const file = join(folder, 'customs.json')
  writeFileSync(file, JSON.stringify({ lock: { file: 'lock.json', text: 'log' } }))
  offer({ ...tool, description: 'Sends mails.' }, other)
  t.match(
    wrapped(['--config', file], list).answers.get(1),
    { result: { tools: [{ name: 'send', description: tool.description }, { name: 'other' }] } },
    'a class of change has the action that the configuration gives it',
  )
})

test('without a lock that can be used wrap does not start, and says in one line what to do', async t => {
  const { answers, status, stderr } = wrapped(['--lock', lock])
  t.match([status, stderr], [2, /^mcp-customs: [^\n]*there is no such lock file; [^\n]*\n$/])
  const { error } = answers.get(0) as unknown as { error: { code: number; message: string } }
  t.equal(error.code, -31000)
  t.equal(
    error.message.replace(/^mcp-customs did not start the server: /, 'mcp-customs: '), stderr.trimEnd(),
    'the client is told the same',
  )
  const [, said = ''] = /run: (.*)$/.exec(error.message) ?? []
  const yes = said.replace(' lock ', ' lock --yes ')
  t.match(spawnSync(yes, { shell: true }), { status: 0 }, 'the command does what it says')
  const second = wrapped(['--lock', lock], list)
  t.match([second.answers.get(1), second.status], [{ result: { tools: [{ name: 'send' }, {}] } }, 0])
  t.match(wrapped(['--frozen']), { status: 2, stderr: /^mcp-customs: [^\n]*--frozen needs a lock[^\n]*\n$/ })
})

test('a frozen lock needs no list', async t => {
  await locking(['--yes'])
  const { answers } = wrapped(
    ['--lock', lock, '--frozen'], { id: 1, method: 'tools/call', params: { name: 'nowhere', arguments: {} } },
  )
  t.match(answers.get(1), { error: { code: -32602 } })
})

test('a list that can be read in two ways cannot be locked', async t => {
  writeFileSync(offers, `[{"name":"a","name":"b","inputSchema":{"type":"object"}}]`)
  t.match(await run(t, ['lock', '--lock', lock, '--yes', ...server]), {
    code: 2, stderr: /mail: what it lists can be read in two ways: /,
  })
  t.notOk(existsSync(lock))
})
