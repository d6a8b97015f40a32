import t from 'tap'
import { demo, run } from '../desk/inspect/start.js'

t.test('an invalid command line is reported in one line, with exit code 2', async t => {
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['no command', ['frob'], /^mcp-customs: Unknown command: frob \(see mcp-customs --help\)\n$/],
    [
      'nearly a command', ['wrpa', ...demo],
      /^mcp-customs: Unknown command: wrpa; did you mean "wrap"\? .*\n$/,
    ],
    ['a name from a prototype', ['constructor'], /^mcp-customs: Unknown command: constructor .*\n$/],
    ['a flag that is none', ['wrap', '--adit', 'none', ...demo], /^mcp-customs: .*adit.*\n$/],
    ['a flag without its value', ['wrap', '--audit'], /^mcp-customs: .*audit.*\n$/],
    [
      'a flag twice', ['wrap', '--audit', 'a', '--audit', 'b', ...demo],
      /^mcp-customs: --audit was given more than once \(see mcp-customs wrap --help\)\n$/,
    ],
    ['no server', ['wrap'], /^mcp-customs: which server\? .*\n$/],
    [
      'two servers', ['wrap', 'https://a.example/', 'https://b.example/'],
      /^mcp-customs: usage: mcp-customs wrap .*\n$/,
    ],
    [
      'a command that is not there', ['serve', '--listen', '127.0.0.1:0', 'no-such-command-here'],
      /^mcp-customs: cannot start "no-such-command-here": command not found\n$/,
    ],
    [
      'a log that cannot be', ['wrap', '--audit', '/dev/null/a/b', ...demo],
      /^mcp-customs: the audit log \/dev\/null\/a\/b cannot be written: .*\(ENOTDIR\); name another file \(--audit FILE\), or none .*\n$/,
    ],
    [
      'an audit log that is not there', ['audit', 'verify', '/nowhere/a.ndjson'],
      /^mcp-customs: .*\/nowhere\/a\.ndjson.*\n$/,
    ],
  ]
  for (const [name, words, line] of cases) {
    const { code, stdout, stderr } = await run(t, words)
    t.match(stderr, line, name)
    t.equal(code, 2, name)
    t.equal(stdout, '', name)
  }
})

t.test('help and version are no errors', async t => {
  for (const words of [['--help'], ['wrap', '--help'], ['serve', '-h']]) {
    const { code, stdout, stderr } = await run(t, words)
    t.match(stdout, /^mcp-customs /)
    t.same([code, stderr], [0, ''], words.join(' '))
  }
  t.match(await run(t, ['--version']), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/, stderr: '' })
})

t.test('a valid command line is read without yargs, which takes long to load', async t => {
  const resolve = 'export const resolve = (name, context, next) => { if (name === "yargs") throw new ' +
    'Error("yargs was loaded"); return next(name, context) }'
  const hook = `import { register } from 'node:module'; ` +
    `register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(resolve)}`)})`
  // Node 26 deprecates `register`, and Node 20 has nothing else.
  const options = ['--no-deprecation', '--import', `data:text/javascript,${encodeURIComponent(hook)}`]
  t.match(
    await run(t, ['wrap', '--audit', 'none', '--', process.execPath, '-e', 'process.exit(7)'], {}, options),
    { code: 7, stderr: '' },
  )
  t.match(await run(t, ['wrap', '--help'], {}, options), { code: 70, stderr: /yargs was loaded/ })
})
