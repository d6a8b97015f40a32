import { readFileSync } from 'node:fs'
import t from 'tap'
import { clients } from '../../dist/clients/known.js'
import { check } from '../../dist/commands/install-check.js'
import { installFlags } from '../../dist/commands/install-flags.js'
import { install } from '../../dist/commands/install.js'
import { plainStyle } from '../../dist/inspect/style.js'
import { nothingAccepted } from '../../dist/lock/accept.js'

const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

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

t.test('what the README shows is what a person with two servers sees', async t => {
  const home = t.testdir({ '.config': { Claude: { 'claude_desktop_config.json': servers } } })
  let screen = '$ npx mcp-customs install --client claude-desktop\n'
  const context = {
    machine: { platform: 'linux' as const, environment: {}, home },
    installation: { platform: 'linux' as const, version: '0.1.0', file: `${home}/.npm/_npx/7a05fe5e/node_modules/mcp-customs/dist/cli.js`, nodes: ['/usr/bin/node'], temporary: [] },
    dialogue: {
      choose: async <Choice>(_question: string, choices: readonly { readonly value: Choice }[]) => choices.map(({ value }) => value),
      confirm: async (question: string) => {
        screen += `${question} yes\n`
        return true
      },
    },
    style: plainStyle,
    width: 100,
    tell: () => {},
    list: async () => nothingAccepted,
    print: async (text: string) => void (screen += text),
  }
  const flags = { client: 'claude-desktop', servers: [], all: false, project: undefined, yes: false, policy: undefined, lock: false, lockFile: undefined, timeoutMs: 30_000, check: false }
  t.equal(await install(flags, context), 0)
  screen += '\n$ npx mcp-customs install --check\n'
  t.equal(await check({ ...flags, client: undefined, check: true }, context), 0)
  const [, shown = ''] = /```\n(\$ npx mcp-customs install [^]*?)```/.exec(read('README.md')) ?? []
  t.equal(screen.replaceAll(home, '/home/ada'), shown)
})

t.test('every option and every client is in the document', async t => {
  const document = read('docs/install.md')
  for (const option of Object.keys(installFlags)) t.match(document, `\`--${option}`)
  for (const { name, projectFile } of clients) {
    t.match(document, `| \`${name}\` |`)
    if (projectFile !== undefined) t.match(document, `\`${projectFile}\``)
  }
})
