import { createServer, type RequestListener } from 'node:http'
import t from 'tap'
import { listen } from '#test/kit/http.js'
import { harmful } from '../desk/inspect/run.js'
import { demo, inspect, script } from '../desk/inspect/start.js'

t.test('an error is reported in one line, with exit code 2', async t => {
  const fails = script(
    'process.stderr.write("\\u001b[31mno database\\u009b2J\\r\\nmcp-customs: fine\\n"); process.exit(3)',
  )
  const silent = ['--timeout', '0.2', '--server', 'quiet', ...script('process.stdin.resume()')]
  const cases: [string, readonly string[], RegExp][] = [
    [
      'a command that is not there', ['--', 'no-such-command-here'],
      /^mcp-customs: cannot start "no-such-command-here": command not found\n$/,
    ],
    [
      'a server that exits', ['--server', 'broken', ...fails],
      /^the server wrote to stderr:\n {2}no database.*\n {2}mcp-customs: fine\nmcp-customs: broken: the server exited with code 3\n$/,
    ],
    [
      'a server that never answers', silent,
      /^mcp-customs: quiet: no answer within 0\.2 s; is it an MCP server\?.*\n$/,
    ],
    [
      'a URL where nobody is', ['http://127.0.0.1:9/mcp'],
      /^mcp-customs: http:\/\/127\.0\.0\.1:9\/mcp: the server refused the connection\n$/,
    ],
    ['no server', [], /^mcp-customs: which server\? .*\n$/],
    [
      'a tool that is not there', ['--call', 'nope', ...demo],
      /^mcp-customs: --call "nope": the server lists no such tool \(there is: echo, .*\)\n$/,
    ],
    ['arguments without a call', ['--args', '{}', ...demo], /^mcp-customs: --args needs --call TOOL\n$/],
    [
      'arguments that are no JSON', ['--call', 'echo', '--args', '{', ...demo],
      /^mcp-customs: --args is not JSON: .*\n$/,
    ],
    [
      'arguments that are no object', ['--call', 'echo', '--args', '[]', ...demo],
      /^mcp-customs: --args must be a JSON object.*\n$/,
    ],
    [
      'two formats', ['--json', '--sarif', ...demo],
      /^mcp-customs: give either --json or --sarif, not both\n$/,
    ],
    [
      'a timeout that is none', ['--timeout', '0', ...demo],
      /^mcp-customs: --timeout "0": must be a number of seconds above 0\n$/,
    ],
    ['a policy that is none', ['--policy', 'lax', ...demo], /^mcp-customs: --policy "lax": .*\n$/],
    ['a flag that is none', ['--sarf', ...demo], /^mcp-customs: .*sarf.*\n$/],
  ]
  for (const [name, args, line] of cases) {
    const { code, stdout, stderr } = await inspect(t, args)
    t.equal(code, 2, name)
    t.match(stderr, line, name)
    t.notMatch(stderr, harmful, name)
    t.equal(stdout, '', name)
  }
})

t.test('a URL without an MCP server, or that refuses us, is reported in one line', async t => {
  const cases: [string, RequestListener, RegExp][] = [
    [
      'a page', (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>'),
      /^mcp-customs: http:\/\/127\.0\.0\.1:\d+\/mcp: its answer cannot be used: wire\/http at \/: .*text\/html.*\n$/,
    ],
    [
      'a door', (_request, response) => response.writeHead(401).end(),
      /^mcp-customs: http:\/\/127\.0\.0\.1:\d+\/mcp: the server answered HTTP 401: it asks for credentials, to be given by --header Authorization=VALUE\n$/,
    ],
    ['nothing there', (
      _request, response,
    ) => response.writeHead(404).end(), /^mcp-customs: http:\/\/127\.0\.0\.1:\d+\/mcp: the server answered HTTP 404\n$/],
  ]
  for (const [name, answer, line] of cases) {
    const { code, stderr } = await inspect(t, [`${await listen(t, createServer(answer))}/mcp`])
    t.equal(code, 2, name)
    t.match(stderr, line, name)
  }
})

t.test('the stderr of a working server is shown on request', async t => {
  const chatty = (level: string) => ['--policy', 'observe', '--log-level', level, ...script(`
    console.error('\\u001b[1mwarming up')
    require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
      const { id, method } = JSON.parse(line)
      const result = method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'chatty', version: '1' } }
        : { tools: [] }
      const answer = method === 'server/discover' ? { error: { code: -32601, message: 'No' } } : { result }
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })`)]
  const quiet = await inspect(t, chatty('warn'))
  t.strictSame([quiet.code, quiet.stderr], [0, ''])
  const told = await inspect(t, chatty('debug'))
  t.strictSame([told.code, told.stderr], [0, 'the server wrote to stderr:\n  warming up\n'])
})

t.test('the help names every option', async t => {
  const { code, stdout } = await inspect(t, ['--help'])
  t.equal(code, 0)
  for (const option of ['call', 'args', 'json', 'sarif', 'timeout', 'policy', 'trust']) {
    t.match(stdout, `--${option}`)
  }
})
