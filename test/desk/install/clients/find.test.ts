import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import {
  fileProblem, everyFile, clientFilesOf, projectFileAt, projectFilesOf, findFile,
} from '#desk/install/clients/find.js'
import { clients, type KnownClient } from '#desk/install/clients/known.js'
import type { Machine } from '#relay/base/platform/machine.js'

const clientOf = (name: string): KnownClient => {
  const client = clients.find(one => one.name === name)
  if (client === undefined) throw new Error(name)
  return client
}

const mac: Machine = { platform: 'darwin', environment: {}, home: '/Users/a' }
const linux: Machine = { platform: 'linux', environment: {}, home: '/home/a' }
const windows: Machine = {
  platform: 'win32',
  environment: { APPDATA: 'C:\\Users\\a\\AppData\\Roaming', LOCALAPPDATA: 'C:\\Users\\a\\AppData\\Local' },
  home: 'C:\\Users\\a',
}

t.test('each client keeps its servers where its documentation says, on each system', async t => {
  const cases: readonly (readonly [string, Machine, readonly string[]])[] = [
    ['claude-desktop', mac, ['/Users/a/Library/Application Support/Claude/claude_desktop_config.json']],
    ['claude-desktop', linux, ['/home/a/.config/Claude/claude_desktop_config.json']],
    ['claude-desktop', windows, [
      'C:\\Users\\a\\AppData\\Local\\Packages\\Claude_*\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json',
      'C:\\Users\\a\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
    ]],
    ['claude-code', linux, ['/home/a/.claude.json']],
    ['cursor', mac, ['/Users/a/.cursor/mcp.json']],
    ['vscode', mac, [
      '/Users/a/Library/Application Support/Code/User/mcp.json',
      '/Users/a/Library/Application Support/Code - Insiders/User/mcp.json',
    ]],
    [
      'vscode', linux,
      [
        '/home/a/.config/Code/User/mcp.json', '/home/a/.config/Code - Insiders/User/mcp.json',
        '/home/a/.var/app/com.visualstudio.code/config/Code/User/mcp.json',
      ],
    ],
    ['vscode', { ...mac, environment: { VSCODE_PORTABLE: '/Volumes/stick/data' } }, [
      '/Users/a/Library/Application Support/Code/User/mcp.json',
      '/Users/a/Library/Application Support/Code - Insiders/User/mcp.json',
      '/Volumes/stick/data/user-data/User/mcp.json',
    ]],
    ['zed', linux, [
      '/home/a/.config/zed/settings.json', '/home/a/.var/app/dev.zed.Zed/config/zed/settings.json',
    ]],
    ['vscode', windows, [
      'C:\\Users\\a\\AppData\\Roaming\\Code\\User\\mcp.json',
      'C:\\Users\\a\\AppData\\Roaming\\Code - Insiders\\User\\mcp.json',
    ]],
    ['windsurf', linux, ['/home/a/.codeium/windsurf/mcp_config.json']],
    ['zed', mac, ['/Users/a/.config/zed/settings.json']],
    ['zed', windows, ['C:\\Users\\a\\AppData\\Roaming\\Zed\\settings.json']],
    ['gemini', linux, ['/home/a/.gemini/settings.json']],
    ['codex', windows, ['C:\\Users\\a\\.codex\\config.toml']],
    ['codex', { ...linux, environment: { CODEX_HOME: '/srv/codex' } }, ['/srv/codex/config.toml']],
    ['codex', { ...linux, environment: { CODEX_HOME: 'relative' } }, ['/home/a/.codex/config.toml']],
    ['junie', linux, ['/home/a/.junie/mcp/mcp.json']],
    ['lmstudio', mac, ['/Users/a/.lmstudio/mcp.json']],
    ['copilot', mac, ['/Users/a/.copilot/mcp-config.json']],
  ]
  for (const [name, machine, files] of cases) {
    t.same(clientOf(name).files(machine), files, `${name} on ${machine.platform}`)
  }
  t.match(
    clientOf('cline').files(mac)[0],
    /Code\/User\/globalStorage\/saoudrizwan\.claude-dev\/settings\/cline_mcp_settings\.json$/,
  )
})

/** A home in which some files are. */
const homeWith = (
  t: { testdir(content: Record<string, string>): string }, ...files: readonly string[]
): Machine => {
  const home = t.testdir({})
  for (const file of files) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), '{}')
  }
  return { platform: 'linux', environment: {}, home }
}

t.test('the files that are there are found, and a folder that is called like one is none', async t => {
  const machine = homeWith(t, '.cursor/mcp.json', '.config/zed/settings.json')
  mkdirSync(join(machine.home, '.lmstudio/mcp.json'), { recursive: true })
  t.same((await everyFile(machine)).map(({ client }) => client?.name), ['cursor', 'zed'])
})

t.test('a client without a file, and one with two, is asked about and not guessed', async t => {
  const machine =
    homeWith(t, '.config/Code/User/mcp.json', '.config/Code - Insiders/User/mcp.json', '.cursor/mcp.json')
  t.match(
    await findFile(clientOf('cursor'), machine),
    { file: { file: join(machine.home, '.cursor/mcp.json') } },
  )
  t.match(
    await findFile(clientOf('zed'), machine),
    { problem: /^Zed has no configuration file here \(looked for .*settings\.json\)$/ },
  )
  t.match(
    await findFile(clientOf('vscode'), machine),
    { problem: /^VS Code may mean several files: .*Code\/User\/mcp\.json, .*Insiders/ },
  )
  for (const found of await clientFilesOf(clientOf('vscode'), machine)) {
    t.match(await fileProblem(found, machine), /several files/)
  }
})

t.test('the file of a packaged Claude Desktop is not that of an older installation', async t => {
  const inPackage = 'Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json'
  const older = 'Roaming/Claude/claude_desktop_config.json'
  const cases: readonly (readonly [string, readonly string[], object])[] = [
    ['the package alone', [inPackage], { file: { exists: true } }],
    ['the older one alone', [older], { file: { exists: true } }],
    ['both', [inPackage, older], { problem: /several files: .*Packages.*, .*Roaming/ }],
    [
      'a package without a file, and an older one', ['Packages/Claude_pzs8sxrjxfjjc/x', older],
      { problem: /Packages.*\(not there yet, but the one that the installed package reads\), .*Roaming/ },
    ],
    ['another package', ['Packages/Other_1/x', older], { file: { exists: true } }],
  ]
  for (const [name, files, expected] of cases) {
    const { home } = homeWith(t, ...files)
    // The paths of this system, in the places of the other one.
    const client = { ...clientOf('claude-desktop'), files: () => [
      join(home, 'Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json'), join(home, older),
    ] }
    t.match(await findFile(client, { platform: 'linux', environment: {}, home }), expected, name)
  }
})

t.test('a project has a file of its team, and for one client servers in the file of the user', async t => {
  const machine = homeWith(t, 'work/.mcp.json', 'work/.vscode/mcp.json', '.claude.json')
  const folder = join(machine.home, 'work')
  t.match(await projectFilesOf(clientOf('claude-code'), folder, machine), [
    { file: join(folder, '.mcp.json'), project: { folder, shared: true } },
    { file: join(machine.home, '.claude.json'), project: { folder, shared: false } },
  ])
  t.match(
    await projectFilesOf(clientOf('vscode'), folder, machine),
    [{ file: join(folder, '.vscode/mcp.json'), project: { shared: true } }],
  )
  await t.rejects(
    projectFilesOf(clientOf('cursor'), folder, machine),
    { code: 'BAD_USAGE', message: /no configuration file in this project/ },
  )
  await t.rejects(
    projectFilesOf(clientOf('zed'), folder, machine),
    { code: 'BAD_USAGE', message: /keeps no servers in a project/ },
  )
  t.match(
    projectFileAt(join(folder, '.mcp.json'), machine),
    { client: { name: 'claude-code' }, project: { folder, shared: true } },
  )
  t.equal(projectFileAt(join(folder, 'mcp.json'), machine), undefined)
})
