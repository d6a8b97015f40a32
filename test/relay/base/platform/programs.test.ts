import t from 'tap'
import {
  browserCommand, killTreeCommand, nameShell, programFor, serverStopMs, systemProgram,
} from '#relay/base/platform/programs.js'

t.test('programs of Windows are started by their full path, never from the working folder', async t => {
  t.equal(systemProgram('taskkill.exe', {}), 'C:\\Windows\\System32\\taskkill.exe')
  t.equal(systemProgram('taskkill.exe', { SystemRoot: 'D:\\Win' }), 'D:\\Win\\System32\\taskkill.exe')
  t.equal(systemProgram('taskkill.exe', { SYSTEMROOT: 'D:\\Win' }), 'D:\\Win\\System32\\taskkill.exe', 'spelt otherwise')
  t.strictSame(killTreeCommand(7, {}), ['C:\\Windows\\System32\\taskkill.exe', '/pid', '7', '/T', '/F'])
  t.strictSame(browserCommand({}, 'win32'), ['C:\\Windows\\System32\\rundll32.exe', 'url.dll,FileProtocolHandler'])
})

t.test('a shell is named where the client hands none on', async t => {
  const environment: NodeJS.ProcessEnv = { SystemRoot: 'C:\\Windows' }
  nameShell(environment)
  t.equal(environment['COMSPEC'], 'C:\\Windows\\System32\\cmd.exe')
  const own: NodeJS.ProcessEnv = { COMSPEC: 'C:\\shell.exe' }
  nameShell(own)
  t.equal(own['COMSPEC'], 'C:\\shell.exe')
})

t.test('a browser is the one that the user names, or else the system\'s', async t => {
  t.strictSame(browserCommand({ BROWSER: 'firefox --new-tab' }, 'win32'), ['firefox', '--new-tab'])
  for (const none of ['', 'none']) t.equal(browserCommand({ BROWSER: none }, 'darwin'), undefined)
  t.strictSame(browserCommand({}, 'darwin'), ['/usr/bin/open'])
  t.equal(browserCommand({}, 'linux'), undefined)
  t.strictSame(browserCommand({ DISPLAY: ':0' }, 'linux'), ['xdg-open'])
})

const environment = { Path: 'C:\\tools;;C:\\Program Files\\nodejs', PATHEXT: '.EXE;.CMD' }
const there = (...paths: readonly string[]) => (path: string) => paths.includes(path)
const npx = 'C:\\Program Files\\nodejs\\npx.CMD'

const cases = [
  ['a name stands for the program in PATH, not for one in the working folder', 'npx', [npx], npx],
  ['the first folder of PATH wins', 'npx', ['C:\\tools\\npx.EXE', npx], 'C:\\tools\\npx.EXE'],
  ['a name with its ending', 'npx.CMD', [npx], npx],
  ['a name that PATH lacks stays as it is', 'server', [npx], 'server'],
  ['a path stays as it is', '.\\npx', [npx], '.\\npx'],
  ['a path with slashes stays as it is', './npx', [npx], './npx'],
] as const

for (const [name, program, files, expected] of cases) {
  t.test(`Windows: ${name}`, async t => {
    t.equal(programFor(program, environment, 'win32', there(...files)), expected)
  })
}

t.test('other systems look names up themselves', async t => {
  t.equal(programFor('npx', { PATH: '/usr/bin' }, 'linux', () => true), 'npx')
})

t.test('a server has ended before the client kills the relay', async t => {
  t.ok(2 * serverStopMs('linux') < 4000)
  t.ok(2 * serverStopMs('win32') < 2000, 'two seconds on Windows')
})
