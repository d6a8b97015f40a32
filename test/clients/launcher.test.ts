import t from 'tap'
import { isPassing, launcherFor, type Installation } from '#clients/own-command.js'

const linux: Installation = {
  platform: 'linux', version: '1.2.3', file: '/usr/lib/node_modules/mcp-customs/dist/cli.js',
  nodes: ['/usr/bin/node'], temporary: ['/var/scratch'],
}
const npx = ['npx', '-y', 'mcp-customs@1.2.3']

t.test('a client starts us in a way that goes on working', async t => {
  const cases: readonly (readonly [string, Partial<Installation>, boolean, readonly string[]])[] = [
    ['installed', {}, false, ['/usr/bin/node', linux.file]],
    [
      'in a clone', { file: '/home/a/mcp-customs/dist/cli.js' }, false,
      ['/usr/bin/node', '/home/a/mcp-customs/dist/cli.js'],
    ],
    ['in a file of a team', {}, true, npx],
    [
      'in the cache of npx', { file: '/home/a/.npm/_npx/3f2/node_modules/mcp-customs/dist/cli.js' }, false,
      npx,
    ],
    ['in a temporary folder of the system', { file: '/tmp/x/cli.js' }, false, npx],
    ['in one of this machine', { file: '/var/scratch/x/cli.js' }, false, npx],
    ['by a Node of a shell session', { nodes: ['/run/user/1/fnm_multishells/1/bin/node'] }, false, npx],
    [
      'by a Node with several paths',
      { nodes: ['/home/a/.local/state/fnm_multishells/1/bin/node', '/opt/node/bin/node'] }, false,
      ['/opt/node/bin/node', linux.file],
    ],
    ['on Windows', {
      platform: 'win32',
      file: 'C:\\Users\\a\\AppData\\Local\\npm-cache\\_npx\\1\\node_modules\\mcp-customs\\dist\\cli.js',
      nodes: ['C:\\Program Files\\nodejs\\node.exe'],
    }, false, ['cmd', '/c', ...npx]],
    ['on Windows, installed', {
      platform: 'win32', file: 'C:\\npm\\node_modules\\mcp-customs\\dist\\cli.js',
      nodes: ['C:\\Program Files\\nodejs\\node.exe'],
    }, false, ['C:\\Program Files\\nodejs\\node.exe', 'C:\\npm\\node_modules\\mcp-customs\\dist\\cli.js']],
  ]
  for (const [name, other, shared, words] of cases) {
    const launcher = launcherFor({ ...linux, ...other }, shared)
    t.same(launcher.words, words, name)
    t.not(launcher.reason, '', 'with a reason')
  }
})

t.test('a folder that is only called nearly like a temporary one stays', async t => {
  for (const path of ['/tmpfiles/a', '/var/scratch2/a', '/home/a/_npxx/b']) {
    t.equal(isPassing(path, ['/var/scratch/']), false, path)
  }
})
