import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const initialize = {
  jsonrpc: '2.0', id: 'first', method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
}

const server = ['--', process.execPath, '-e', 'process.stdin.resume()']
const config = file('customs.yaml', 'version: 1\nservers: { shop: { command: [node, shop.js] } }\n')
const cases: readonly (readonly [what: string, words: readonly string[], said: RegExp])[] = [
  ['an option that is none', ['--polcy', 'strict', ...server], /polcy/],
  ['a value that is none', ['--log-level', 'loud', ...server], /--log-level "loud": must be/],
  ['an option without its value', ['--rule', '', ...server], /--rule needs a value/],
  ['a rule that is none', ['--rule', 'result/shema=log', ...server], /result\/shema.*result\/schema/],
  ['a profile that is none', ['--profile', 'claud', ...server], /--profile "claud": must be .*claude-desktop/],
  ['no command', [], /which server\?/],
  ['a server that the file does not have', ['--config', config, '--server', 'shp'], /shp.*shop/],
  ['a file with a mistake', ['--config', file('wrong.yaml', 'version: 1\nservrs: {}\n')], /servrs.*servers/],
  ['a lock that is none', ['--lock', file('lock.json', 'no'), ...server], /lock\.json/],
  ['one server merged', ['--merge', ...server], /--merge takes all servers of a file/],
  ['a merged file with a mistake', ['--merge', '--config', join(folder, 'wrong.yaml')], /servrs/],
  ['a log that cannot be written', ['--audit', folder, ...server], /it is a folder/],
]

for (const [what, words, said] of cases) {
  t.test(`wrap answers initialize with the reason, and ends with 2: ${what}`, t => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'wrap', ...words], {
      encoding: 'utf8', input: `${JSON.stringify(initialize)}\n`,
      env: { ...process.env, XDG_STATE_HOME: folder },
    })
    t.equal(status, 2)
    const [, reason = ''] = /^mcp-customs: (.*)\n$/.exec(stderr) ?? []
    t.match(reason, said)
    t.strictSame(stdout === '' ? {} : JSON.parse(stdout), {
      jsonrpc: '2.0', id: 'first',
      error: { code: -31000, message: `mcp-customs did not start the server: ${reason}` },
    })
    t.end()
  })
}
