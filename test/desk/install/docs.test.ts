import { readFileSync } from 'node:fs'
import { takesValue } from '#cli/context.js'
import t from 'tap'
import { clients } from '#desk/install/clients/known.js'
import type { Context } from '#desk/terminal/context.js'
import { readFlags, readTarget } from '#cli/flags/relay.js'
import { check } from '#desk/install/check.js'
import { installFlags } from '#cli/flags/install.js'
import { install } from '#desk/install/command.js'
import { lockFlags, readLockFlags } from '#cli/flags/lock.js'
import { lockCommand } from '#desk/lock/command.js'
import { isPassing } from '#relay/base/own-command.js'
import { plainStyle } from '#desk/terminal/style.js'
import { emptyOffer } from '#relay/lock/offer.js'

// The cache of npx on this machine is none of a test's.
process.env['npm_config_cache'] = t.testdir({})

const read = (name: string): string => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')

const servers = `{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/notes"]
    },
    "memory": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-memory"],
      "env": { "MEMORY_FILE_PATH": "/home/ada/memory.json" }
    }
  }
}
`

/** A tool each, so that it can be shown whole. */
const tools = new Map([
  ['files', {
    name: 'read_text_file', description: 'Read the complete contents of a file as text.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  }],
  ['memory', { name: 'read_graph', description: 'Read the entire knowledge graph', inputSchema: {
    type: 'object', properties: {},
  } }],
])

t.test('the document shows the output for two servers', {
  skip: isPassing(import.meta.dirname, []) && 'paths of this clone would not be written',
}, async t => {
  const home = t.testdir({
    '.config': { Claude: { 'claude_desktop_config.json': servers } },
    '.local': { bin: { node: '' } }, 'mcp-customs': { dist: { 'cli.js': '' } },
  })
  let screen = '$ mcp-customs install --client claude-desktop --lock\n'
  const context: Context = {
    machine: { platform: 'linux', environment: {}, home },
    takesValue,
    installation: {
      platform: 'linux', version: '0.1.0',
      file: `${home}/mcp-customs/dist/cli.js`, published: false, nodes: [`${home}/.local/bin/node`],
      temporary: [],
    },
    dialogue: {
      choose: async (_question, choices) => choices.map(({ value }) => value),
      confirm: async question => {
        screen += `${question} yes\n`
        return true
      },
    },
    style: plainStyle,
    width: 400,
    tell: line => void (screen += `mcp-customs: ${line}\n`),
    list: async ({ server }) => {
      const tool = tools.get(server.name)
      return { identity: { command: 'command' in server ? server.command.join(' ') : server.url }, offers: {
        legacy: { ...emptyOffer, tools: new Map(tool && [[tool.name, tool]]) },
      } }
    },
    print: async text => void (screen += text),
    versionOf: async () => ({ version: '0.1.0' }),
    newestVersion: async () => '2026.8.31',
  }
  const flags = {
    client: 'claude-desktop', server: [], all: false, project: undefined, yes: false, policy: undefined,
    lock: true, lockFile: undefined, timeoutMs: 30_000, verbose: false, pin: false, offline: false,
    check: false,
  }
  t.equal(await install(flags, context), 0)
  screen += '\n$ mcp-customs install --check\n'
  t.equal(await check({ ...flags, client: undefined, lock: false, check: true }, context), 0)
  screen += '\n$ mcp-customs lock --check --client claude-desktop\n'
  const given = new Map<string, string | boolean>([['check', true], ['client', 'claude-desktop']])
  const rest = { words: [], command: undefined }
  t.equal(
    await lockCommand(readFlags(lockFlags, given), readTarget(rest), readLockFlags(given, rest), context), 0,
  )
  const [, shown = ''] =
    /```console\n(\$ mcp-customs install [^]*?)```/.exec(read('docs/install.md')) ?? []
  t.equal(screen.replaceAll(home, '/home/ada'), shown)
  const [, short = ''] = /```console\n\$ mcp-customs install (.*\n[^]*?)```/.exec(read('README.md')) ?? []
  t.ok(short.split('\n').length > 4)
  for (const line of short.split('\n')) for (const part of line.split('…')) t.ok(shown.includes(part), part)
})

t.test('every option and every client is in the document', async t => {
  const document = read('docs/install.md')
  for (const option of Object.keys(installFlags)) t.match(document, `\`--${option}`)
  for (const { name, projectFile } of clients) {
    t.match(document, `| \`${name}\` |`)
    if (projectFile !== undefined) t.match(document, `\`${projectFile}\``)
  }
})
