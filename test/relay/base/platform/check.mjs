// Every command once, and what only Windows shows, through the installed program: with each Node (.ci/nodes), in wine
// (.ci/windows), on a Windows or a Mac by hand.
//   node check.mjs PATH-OF-CLI.JS FOLDER-OF-THE-DEMO
// Each check prints one line; the last line counts them. Exits with 1 when one has failed.
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, openSync, closeSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [cli, demo] = process.argv.slice(2).map(path => resolve(path))
const folder = join(tmpdir(), `customs-check-${process.pid}`)
const home = join(folder, 'home')
const isWindows = process.platform === 'win32'
const roaming = {
  win32: join(home, 'AppData', 'Roaming'), darwin: join(home, 'Library', 'Application Support'),
}[process.platform] ?? join(home, '.config')
const server = [process.execPath, join(demo, 'lying-server.mjs')]
mkdirSync(roaming, { recursive: true })

const environment = {
  ...process.env, NO_COLOR: '1', HOME: home, XDG_STATE_HOME: undefined, XDG_CONFIG_HOME: undefined,
  USERPROFILE: home, APPDATA: roaming, LOCALAPPDATA: join(home, 'AppData', 'Local'),
}

/** Runs a program to its end. */
const run = (words, { input = '', env = {}, cwd = folder, started } = {}) => new Promise((resolve, reject) => {
  const [program, ...args] = words
  const child = spawn(program, args, { env: { ...environment, ...env }, cwd, stdio: 'pipe' })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', text => (stdout += text))
  child.stderr.on('data', text => (stderr += text))
  child.on('error', reject)
  child.on('close', code => resolve({ code, stdout, stderr }))
  child.stdin.on('error', () => undefined)
  if (started === undefined) child.stdin.end(input)
  else started(child)
})
const customs = (args, options) => run([process.execPath, cli, ...args], options)

const frame = message => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
const initialize = frame({
  id: 1, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'check', version: '1' } },
})
const list = frame({ method: 'notifications/initialized' }) + frame({ id: 2, method: 'tools/list' })
const call = id => frame({ id, method: 'tools/call', params: { name: 'get_weather', arguments: { city: 'Paris' } } })

/** Once the program has printed where it listens. */
const onUrl = (child, stream, act) => {
  const late = setTimeout(() => child.kill(), 60_000)
  child.on('close', () => clearTimeout(late))
  let [text, isKnown] = ['', false]
  stream.on('data', chunk => {
    text += chunk
    const [url] = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(text) ?? []
    if (url === undefined || isKnown) return
    isKnown = true
    act(url)
  })
}

let [passed, failed] = [0, 0]
const onWindows = (name, act) => isWindows && check(name, act)
const check = async (name, act) => {
  const begun = Date.now()
  try {
    await act()
    passed += 1
    console.log(`ok: ${name}, ${Date.now() - begun} ms`)
  } catch (error) {
    failed += 1
    console.log(`FAILED: ${name}: ${error.message}`)
  }
}
const expect = (condition, what) => {
  if (!condition) throw new Error(String(what).slice(0, 1500))
}

await check('it prints its version and its help', async () => {
  const [{ stdout: version }, { stdout: help }] = [await customs(['--version']), await customs(['--help'])]
  expect(/^\d+\.\d+\.\d+/.test(version) && help.includes('mcp-customs wrap'), version + help)
})

await check('the demo: a result for Paris, an error for Atlantis', async () => {
  const { stdout, stderr } = await run([process.execPath, join(demo, 'ask.mjs'), process.execPath, cli, 'wrap', '--', ...server])
  expect(/Paris: a result[\s\S]*Atlantis: an error/.test(stdout), stdout + stderr)
})

await check('logs lie below the profile, where a packaged client does not redirect them', async () => {
  const state = join(home, '.local', 'state', 'mcp-customs')
  expect(readdirSync(state).some(name => name.endsWith('.ndjson')), 'no log')
  const { code, stdout, stderr } = await customs(['audit', 'show'])
  expect(code === 0 && stdout.includes('get_weather'), stdout + stderr)
})

await onWindows('logs that a packaged client redirected are read', async () => {
  const redirected = join(environment.LOCALAPPDATA, 'Packages', 'Claude_x', 'LocalCache', 'Local', 'mcp-customs')
  mkdirSync(redirected, { recursive: true })
  await customs(['wrap', '--server', 'elsewhere', '--audit', join(redirected, 'elsewhere.ndjson'), '--', ...server], { input: initialize + list + call(3) })
  const { stdout, stderr } = await customs(['audit', 'show'])
  rmSync(join(environment.LOCALAPPDATA, 'Packages'), { recursive: true })
  expect(stdout.includes('elsewhere'), stdout + stderr)
})

// The cmd.exe of wine does not read an escaped space in a path.
const stubborn = join(folder, 'stubborn.mjs')
writeFileSync(stubborn, 'process.stdin.resume(); setInterval(() => {}, 1000)')

const spaced = join(folder, process.env.WINEPREFIX === undefined ? 'tools with spaces' : 'tools')
mkdirSync(spaced)
writeFileSync(join(spaced, 'server.cmd'), `@"${server[0]}" "${server[1]}" %*\r\n`)

await onWindows('a .cmd file by its path', async () => {
  const { stdout, stderr } = await customs(['wrap', '--', join(spaced, 'server.cmd')], { input: initialize + list })
  expect(stdout.includes('get_weather'), stdout + stderr)
})

await onWindows('a .cmd file by its name, from PATH', async () => {
  const PATH = `${spaced};${process.env.PATH ?? process.env.Path}`
  const { stdout, stderr } = await customs(['wrap', '--', 'server'], { input: initialize + list, env: { PATH, Path: PATH } })
  expect(stdout.includes('get_weather'), stdout + stderr)
})

await check('arguments arrive as they were given', async () => {
  const words = ['a b', 'say "hi"', 'tail\\', '%PATH%', 'a&b', '^', 'ü', '']
  const echo = join(folder, 'echo.mjs')
  writeFileSync(echo, 'process.stderr.write(JSON.stringify(process.argv.slice(2)) + "\\n")')
  const { stderr } = await customs(['wrap', '--', process.execPath, echo, ...words], { input: initialize })
  expect(stderr.includes(JSON.stringify(words)), stderr)
})

await onWindows('no program of the working folder is run', async () => {
  const cwd = join(folder, 'repository')
  mkdirSync(cwd)
  const mark = join(folder, 'planted')
  for (const name of ['taskkill.exe', 'cmd.exe', 'rundll32.exe']) copyFileSync(process.execPath, join(cwd, name))
  writeFileSync(join(cwd, 'server.cmd'), `@echo planted > "${mark}"\r\n`)
  const marker = join(folder, 'marker.mjs')
  writeFileSync(marker, `import { appendFileSync } from 'node:fs'
if (!/node\\.exe$/i.test(process.execPath)) appendFileSync(${JSON.stringify(mark)}, process.execPath)`)
  const PATH = `${spaced};${process.env.PATH ?? process.env.Path}`
  const env = { NODE_OPTIONS: `--import ${pathToFileURL(marker).href}`, PATH, Path: PATH, COMSPEC: undefined, ComSpec: undefined }
  await customs(['wrap', '--', process.execPath, stubborn], { cwd, env })
  const { stdout } = await customs(['wrap', '--', 'server'], { cwd, env, input: initialize + list })
  expect(!existsSync(mark), existsSync(mark) && readFileSync(mark, 'utf8'))
  expect(stdout.includes('get_weather'), 'the server of PATH did not run')
})

await check('a server that does not end is gone in time', async () => {
  const begun = Date.now()
  await customs(['wrap', '--', process.execPath, stubborn])
  expect(Date.now() - begun < 10_000, `${Date.now() - begun} ms`)
})

const configuration = join(roaming, 'Claude', 'claude_desktop_config.json')
await check('install, install --check and uninstall keep every byte of a client\'s file', async () => {
  const mcpServers = Object.fromEntries(Array.from({ length: 8 }, (_, index) =>
    [`s${index}`, { command: process.execPath, args: [server[1], `C:\\data\\ü ${index}`] }]))
  const text = `\ufeff${JSON.stringify({ mcpServers }, undefined, 2).replaceAll('\n', '\r\n')}\r\n`
  mkdirSync(join(roaming, 'Claude'), { recursive: true })
  writeFileSync(configuration, text)
  const installed = await customs(['install', '--client', 'claude-desktop', '--yes'])
  expect(installed.code === 0 && readFileSync(configuration, 'utf8').includes('wrap'), installed.stdout + installed.stderr)
  const checked = await customs(['install', '--check', '--client', 'claude-desktop'])
  expect(checked.stdout.match(/^ +s\d +wrapped/gm)?.length === 8, checked.stdout + checked.stderr)
  const removed = await customs(['uninstall', '--client', 'claude-desktop', '--yes'])
  expect(readFileSync(configuration, 'utf8') === text, removed.stdout + removed.stderr)
})

const lock = join(folder, 'customs.lock.json')
const locked = ['--policy', 'observe', '--lock', lock, '--', ...server]
await check('lock --yes and lock --check', async () => {
  const written = await customs(['lock', '--yes', ...locked])
  expect(written.code === 0 && existsSync(lock), written.stdout + written.stderr)
  const checked = await customs(['lock', '--check', ...locked])
  expect(checked.code === 0, checked.stdout + checked.stderr)
})

await onWindows('a lock that another program has open is replaced when it is closed', async () => {
  writeFileSync(lock, readFileSync(lock, 'utf8').replace(/"acceptedBy": "[^"]*"/, '"acceptedBy": "person"'))
  const before = readFileSync(lock, 'utf8')
  const descriptor = openSync(lock, 'r')
  setTimeout(() => closeSync(descriptor), 2500)
  const { code, stdout, stderr } = await customs(['lock', '--yes', '--policy', 'observe', '--lock', lock, '--', server[0], server[1], '--case', 'result/schema'])
  expect(code === 0 && readFileSync(lock, 'utf8') !== before, stdout + stderr)
})

await check('a log is rotated while it is read, and verifies', async () => {
  const log = join(folder, 'rotated.ndjson')
  const config = join(folder, 'rotated.json')
  writeFileSync(config, JSON.stringify({ version: 1, audit: { file: log, maxBytes: 4096, keep: 20 }, servers: { weather: { command: server } } }))
  const input = initialize + list + Array.from({ length: 60 }, (_, index) => call(3 + index)).join('')
  const { code, stderr } = await customs(['wrap', '--config', config], { input })
  expect(code === 0, stderr)
  const files = readdirSync(folder).filter(name => name.startsWith('rotated.') && name.endsWith('.ndjson'))
  expect(files.length > 2, files)
  const verified = await customs(['audit', 'verify', log])
  expect(verified.code === 0, verified.stdout + verified.stderr)
})

await onWindows('Ctrl+Break ends a relay without an internal error', async () => {
  const breaker = join(folder, 'break.mjs')
  writeFileSync(breaker, `if (process.argv.includes('wrap')) setTimeout(() => process.emit('SIGBREAK', 'SIGBREAK'), 1500)`)
  const { code, stderr } = await customs(['wrap', '--', ...server], {
    env: { NODE_OPTIONS: `--import ${pathToFileURL(breaker).href}` }, started: child => child.stdin.write(initialize),
  })
  expect(code !== 70 && !stderr.includes('internal'), `${code} ${stderr}`)
})

await onWindows('a drive that is not there is an error in one line', async () => {
  const { code, stderr } = await customs(['wrap', '--audit', 'Q:\\logs\\a.ndjson', '--', ...server], { input: initialize })
  expect(code !== 0 && /Q:/.test(stderr) && !stderr.includes('unknown reason'), `${code} ${stderr}`)
})

await check('inspect reports what a server offers, and judges it', async () => {
  const { stdout, stderr } = await customs(['inspect', '--audit', 'none', '--', ...server])
  expect(stdout.includes('get_weather') && stdout.includes('tool/hidden-text'), stdout + stderr)
})

await check('a capture is replayed, and learned from', async () => {
  const capture = join(folder, 'capture.ndjson')
  const config = join(folder, 'capture.json')
  writeFileSync(config, JSON.stringify({ version: 1, audit: { file: 'none', payloads: 'full' }, servers: { weather: { command: server } } }))
  const input = initialize + list + call(3) + call(4) + call(5)
  const { code, stderr } = await customs(['wrap', '--config', config, '--capture', capture], { input })
  expect(code === 0 && existsSync(capture), stderr)
  const replayed = await customs(['replay', '--policy', 'strict', capture])
  expect([0, 1].includes(replayed.code) && replayed.stderr === '', replayed.stdout + replayed.stderr)
  const learned = await customs(['learn', '-o', join(folder, 'contracts'), capture])
  expect([0, 1].includes(learned.code), learned.stdout + learned.stderr)
})

await check('audit report, audit verify, tools, login --status and completion answer', async () => {
  const report = join(folder, 'report.html')
  for (const words of [
    ['audit', 'report', '--output', report], ['audit', 'verify', join(home, '.local', 'state', 'mcp-customs')], ['tools'], ['login', '--status'], ['completion'],
  ]) {
    const { code, stdout, stderr } = await customs(words, { env: { SHELL: '/bin/bash' } })
    expect(code === 0, `${words.join(' ')}: ${code} ${stdout} ${stderr}`)
  }
})

await check('the live page answers', async () => {
  let status
  await customs(['ui'], {
    started: child => onUrl(child, child.stdout, url => request(url, response => {
      status = response.statusCode
      response.resume().on('close', () => child.kill())
    }).end()),
  })
  expect(status === 200, `status ${status}`)
})

await check('a program that is not there is named', async () => {
  const { stdout, stderr } = await customs(['wrap', '--', join(folder, 'no', 'such.exe')], { input: initialize })
  expect((stdout + stderr).includes('such.exe'), stdout + stderr)
})

await check('a gateway answers through its relay process', async () => {
  const config = join(folder, 'gateway.json')
  writeFileSync(config, JSON.stringify({ version: 1, servers: { one: { command: server }, two: { command: server } } }))
  let answer = ''
  const ask = (url, child) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const asked = request(new URL('/one/mcp', url), { method: 'POST', headers }, response => {
      response.on('data', text => (answer += text)).on('close', () => child.kill())
    })
    asked.on('error', () => child.kill()).end(initialize)
  }
  const { stderr } = await customs(['serve', '--config', config, '--listen', '127.0.0.1:0'], {
    started: child => onUrl(child, child.stderr, url => ask(url, child)),
  })
  expect(answer.includes('lying-server'), answer + stderr)
})

try {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
} catch {
  // A process that is ending may have a file open.
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
