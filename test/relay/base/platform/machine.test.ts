import t from 'tap'
import {
  formerStateFolders, isSamePath, stateFolder, withSlashes, type Environment, type Machine,
} from '#relay/base/platform/machine.js'
import { recordFile } from '#desk/install/clients/record.js'

const homes = { linux: '/home/a', darwin: '/Users/a', win32: 'C:\\Users\\a' }
const on = (platform: keyof typeof homes, environment: Environment = {}): Machine =>
  ({ platform, environment, home: homes[platform] })

const folders = [
  ['the folder that the environment names', on('linux', { XDG_STATE_HOME: '/var/state' }), '/var/state/mcp-customs'],
  ['no relative folder', on('linux', { XDG_STATE_HOME: 'state' }), '/home/a/.local/state/mcp-customs'],
  ['the one of a Mac', on('darwin'), '/Users/a/.local/state/mcp-customs'],
  ['the one of Windows, which no packaged client redirects', on('win32', { LOCALAPPDATA: 'C:\\Users\\a\\AppData\\Local' }),
    'C:\\Users\\a\\.local\\state\\mcp-customs'],
  ['on Windows, the folder that the environment names', on('win32', { XDG_STATE_HOME: 'D:\\state' }),
    'D:\\state\\mcp-customs'],
  ['on Windows, no folder of another system', on('win32', { XDG_STATE_HOME: 'state' }),
    'C:\\Users\\a\\.local\\state\\mcp-customs'],
] as const

for (const [name, machine, expected] of folders) {
  t.test(`the state folder: ${name}`, async t => {
    t.equal(stateFolder(machine), expected)
  })
}

t.test('the record of install lies in the state folder, on every system', async t => {
  for (const [, machine, folder] of folders) {
    t.equal(recordFile(machine), `${folder}${machine.platform === 'win32' ? '\\' : '/'}installed.json`)
  }
})

t.test('logs that were written below LOCALAPPDATA are found, also where a packaged client redirected them', async t => {
  t.strictSame(formerStateFolders(on('win32', { LOCALAPPDATA: 'D:\\Local' })), [
    'D:\\Local\\mcp-customs', 'D:\\Local\\Packages\\*\\LocalCache\\Local\\mcp-customs',
  ])
  t.strictSame(formerStateFolders(on('win32'))[0], 'C:\\Users\\a\\AppData\\Local\\mcp-customs')
  t.strictSame(formerStateFolders(on('linux')), [])
})

const pairs = [
  ['win32', 'C:\\Work\\A.json', 'c:/work/a.json', true],
  ['win32', 'C:\\Work\\', 'C:\\work', true],
  ['win32', 'C:\\', 'c:/', true],
  ['win32', 'C:\\Work\\..\\x', 'C:\\x', true],
  ['win32', '\\\\Host\\Share\\x', '//host/share/X', true],
  ['win32', 'C:\\a', 'D:\\a', false],
  ['darwin', '/Users/Ada/caf\u00e9', '/users/ada/cafe\u0301', true],
  ['darwin', '/Users/a\\b', '/Users/a/b', false],
  ['linux', '/home/A', '/home/a', false],
  ['linux', '/home/caf\u00e9', '/home/cafe\u0301', false],
  ['linux', '/home/a', '/home/a', true],
] as const

for (const [platform, one, other, expected] of pairs) {
  t.test(`${one} and ${other} are ${expected ? 'one file' : 'two files'} on ${platform}`, async t => {
    t.equal(isSamePath(one, other, platform), expected)
    t.equal(isSamePath(other, one, platform), expected)
  })
}

t.test('a path in a shared file is spelt for every system', async t => {
  t.equal(withSlashes('locks\\a.lock.json', 'win32'), 'locks/a.lock.json')
  t.equal(withSlashes('locks\\a.lock.json', 'linux'), 'locks\\a.lock.json')
})
