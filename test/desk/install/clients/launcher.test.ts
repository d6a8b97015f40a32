import t from 'tap'
import { isPassing, launcherFor, type Installation } from '#relay/base/own-command.js'

const linux: Installation = {
  platform: 'linux', version: '1.2.3', file: '/usr/lib/node_modules/mcp-customs/dist/cli.js',
  published: true, nodes: ['/usr/bin/node'], temporary: ['/var/scratch'],
}
const npx = ['npx', '-y', 'mcp-customs@1.2.3']
const inNpxCache = '/home/a/.npm/_npx/3f2/node_modules/mcp-customs/dist/cli.js'

t.test('a client starts us in a way that goes on working', async t => {
  const cases: readonly (readonly [string, Partial<Installation>, boolean, readonly string[]])[] = [
    ['installed', {}, false, ['/usr/bin/node', linux.file]],
    [
      'in a clone', { file: '/home/a/mcp-customs/dist/cli.js', published: false }, false,
      ['/usr/bin/node', '/home/a/mcp-customs/dist/cli.js'],
    ],
    ['in a file of a team', {}, true, npx],
    ['in the cache of npx', { file: inNpxCache }, false, npx],
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
    t.same('words' in launcher && launcher.words, words, name)
    t.match(launcher, { reason: /./ }, 'with a reason')
  }
})

t.test('a copy that did not come from the registry is never started by its name there', async t => {
  const cases: readonly (readonly [string, Partial<Installation>, boolean, RegExp])[] = [
    ['in a file of a team', {}, true, /^the file is shared, and paths .*: wrap the servers in a file of your own/],
    ['in the cache of npx', { file: inNpxCache }, false, /_npx.*copy it to a folder that stays/],
    ['in a temporary folder', { file: '/tmp/x/cli.js' }, false, /\/tmp\/x\/cli\.js\) is in a temporary folder or a cache/],
    [
      'by a Node of a shell session', { nodes: ['/run/user/1/fnm_multishells/1/bin/node'] }, false,
      /^the Node\.js that runs this is in a temporary folder .*: /,
    ],
  ]
  for (const platform of ['linux', 'win32', 'darwin'] as const) {
    for (const [name, other, shared, refusal] of cases) {
      const launcher = launcherFor({ ...linux, published: false, platform, ...other }, shared)
      t.match(launcher, { refusal }, `${platform}: ${name}`)
      t.notMatch(JSON.stringify(launcher), /npx |mcp-customs@|npm install/, `${platform}: ${name}`)
    }
  }
})

t.test('a folder that is only called nearly like a temporary one stays', async t => {
  for (const path of ['/tmpfiles/a', '/var/scratch2/a', '/home/a/_npxx/b']) {
    t.equal(isPassing(path, ['/var/scratch/']), false, path)
  }
})
