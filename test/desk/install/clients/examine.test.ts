import t from 'tap'
import { entryProblems } from '#desk/install/clients/examine.js'
import { readEntries } from '#desk/install/clients/steps.js'
import { recognizer, program } from './wanted.js'

const there = [
  '/usr/bin/node', program, '/usr/bin/server', '/home/a/policy.yaml', '/tmp/x/mcp-customs/dist/cli.js',
]

const problems = (server: unknown) => {
  const text = JSON.stringify({ mcpServers: { one: server } })
  const [entry] = readEntries({ file: 'a.json', real: 'a.json', text, client: undefined }, recognizer)
  return entry && entryProblems(entry, {
    machine: { platform: 'linux', environment: {}, home: '/home/a' }, exists: path => there.includes(path),
    temporary: [],
  })
}

const wrapped =
  (...args: readonly string[]) => ({ command: '/usr/bin/node', args: [program, 'wrap', ...args] })

t.test('the problems of an entry are named', async t => {
  const cases: readonly (readonly [string, unknown, readonly RegExp[]])[] = [
    ['nothing', wrapped('--policy=strict', '--', '/usr/bin/server'), []],
    ['a server that is found by its name', wrapped('--', 'server'), []],
    ['nothing, not wrapped', { command: '/usr/bin/server' }, []],
    ['a server that is gone', { command: '/usr/bin/none' }, [/^its command \/usr\/bin\/none is not there$/]],
    [
      'a wrapped server that is gone', wrapped('--', '/usr/bin/none'),
      [/^its command \/usr\/bin\/none is not there$/],
    ],
    [
      'a Node that is gone', { ...wrapped('--', 'a'), command: '/usr/bin/none/node' },
      [/none\/node is not there any more: run install again$/],
    ],
    ['a program that is gone', {
      command: '/usr/bin/node', args: ['/gone/mcp-customs/dist/cli.js', 'wrap', '--', 'a'],
    }, [/gone.*run install again/]],
    ['a program that will be gone', {
      command: '/usr/bin/node', args: ['/tmp/x/mcp-customs/dist/cli.js', 'wrap', '--', 'a'],
    }, [/which is emptied/]],
    ['wrapped twice', wrapped('--', 'mcp-customs', 'wrap', '--', 'a'), [/^wrapped twice/]],
    ['a policy that is there', wrapped('--policy', '/home/a/policy.yaml', '--', 'a'), []],
    [
      'a policy that is gone', wrapped('--policy=/home/a/none.yaml', '--', 'a'),
      [/--policy, \/home\/a\/none\.yaml, is not there/],
    ],
    ['a configuration that is gone', wrapped('--config', '/home/a/none.yaml', '--', 'a'), [/--config/]],
    ['a header without its variable', wrapped(
      '--header', 'A={env:MCP_CUSTOMS_HEADER_A}', 'https://a.example/',
    ), [/its header A is read from MCP_CUSTOMS_HEADER_A, which its env does not have/]],
    ['a header with its variable', {
      ...wrapped('--header', 'A={env:MCP_CUSTOMS_HEADER_A}', 'https://a.example/'),
      env: { MCP_CUSTOMS_HEADER_A: 'b' },
    }, []],
  ]
  for (const [name, server, expected] of cases) {
    const found = problems(server) ?? []
    t.equal(found.length, expected.length, `${name}: ${found.join('; ')}`)
    t.match(found, expected, name)
  }
})
