// Measures of the house: files, lines, imports, words, and the files and functions that a warm call passes.
// `node scripts/house.mjs`, after `npm run build`. `--static` leaves the call out.
import { spawn, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, existsSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { sources } from './imports.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n').filter(existsSync)
const textOf = file => readFileSync(file, 'utf8')
const median = numbers => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
const matches = (text, pattern) => text.match(pattern)?.length ?? 0

/** Figures of TypeScript files. */
const measured = files => {
  const texts = files.map(textOf)
  const lines = texts.map(text => text.split('\n').length - 1)
  const all = texts.join('\n')
  const exports = texts.map(text => matches(text, /^export /gm))
  return {
    files: files.length,
    lines: lines.reduce((sum, count) => sum + count, 0),
    'median lines of a file': median(lines),
    'files of 30 lines or fewer': lines.filter(count => count <= 30).length,
    'files over 250 lines': lines.filter(count => count > 250).length,
    'lines over 110 columns': all.split('\n').filter(line => line.length > 110).length,
    'imports that climb one floor': matches(all, /from '\.\.\/[^.]/g),
    'imports that climb more': matches(all, /from '\.\.\/\.\.\//g),
    'exports of a file': (exports.reduce((sum, count) => sum + count, 0) / files.length).toFixed(2),
  }
}

const words = files => files.reduce((sum, file) => sum + textOf(file).split(/\s+/).filter(Boolean).length, 0)
const isTypeScript = file => /\.tsx?$/.test(file)

for (const folder of ['src', 'test']) {
  console.log(`\n${folder}`)
  console.table(measured(tracked.filter(file => file.startsWith(`${folder}/`) && isTypeScript(file))))
}
// ---- The drawing: arrows between files, also those of types.

const arrows = new Map(sources.map(({ file, imports }) => [file, imports.filter(({ isLazy }) => !isLazy).map(({ to }) => to)]))

/** Files from which a way of imports leads back to them (Tarjan). */
const circles = () => {
  const [numbers, lows, stack, found] = [new Map(), new Map(), [], []]
  const visit = file => {
    numbers.set(file, numbers.size)
    lows.set(file, numbers.get(file))
    stack.push(file)
    for (const next of arrows.get(file)) {
      if (!numbers.has(next)) visit(next)
      if (stack.includes(next)) lows.set(file, Math.min(lows.get(file), lows.get(next)))
    }
    if (lows.get(file) !== numbers.get(file)) return
    const circle = stack.splice(stack.indexOf(file))
    if (circle.length > 1) found.push(circle)
  }
  for (const { file } of sources) if (!numbers.has(file)) visit(file)
  return found
}

const declared = new Map()
for (const { file, text } of sources) {
  for (const [, name] of text.matchAll(/^export (?:abstract )?(?:const|function\*?|class|interface|type) (\w+)/gm)) {
    declared.set(name, (declared.get(name) ?? new Set()).add(file))
  }
}
const wingOf = file => file.split('/')[0]
console.log('\ndrawing')
console.table({
  'circles (files in them)': `${circles().length} (${circles().flat().length})`,
  'imports from relay to desk': [...arrows].filter(([file]) => wingOf(file) === 'relay').flatMap(([, to]) => to).filter(file => wingOf(file) === 'desk').length,
  // What other programs import has the names that they know.
  'exported names declared more than once': [...declared.values()].filter(files => [...files].filter(file => wingOf(file) !== 'library').length > 1).length,
  ...Object.fromEntries(['minRevision', 'timeoutMs', 'listMs'].map(name =>
    [`files that name ${name}`, sources.filter(({ text }) => new RegExp(`\\b${name}\\b`).test(text)).length])),
})

console.log('\nwords')
console.table({
  'README.md': words(['README.md']),
  docs: words(tracked.filter(file => /^docs\/.*\.md$/.test(file))),
})

// ---- The way of a warm call, by V8's coverage of the modules as tsc made them: a bundle is one file.

/** Counts from the first SIGWINCH on; at the second it writes what was called, and says so on stderr. */
const probe = `
  import { Session } from 'node:inspector'
  import { writeFileSync } from 'node:fs'
  const session = new Session()
  session.connect()
  const post = (method, parameters) => new Promise(resolve => session.post(method, parameters, (_, result) => resolve(result)))
  let counting = false
  process.on('SIGWINCH', async () => {
    if (counting) writeFileSync(process.env.PROBE, JSON.stringify((await post('Profiler.takePreciseCoverage')).result))
    else {
      await post('Profiler.enable')
      await post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    }
    counting = true
    process.stderr.write('probe\\n')
  })`

const work = mkdtempSync(join(tmpdir(), 'house-'))
const entry = join('dist', 'unbundled.js')
const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

/** Starts the unbundled command under the probe. @return the process, and how to count */
const start = async (parameters, file) => {
  const environment = { ...process.env, PROBE: file }
  const load = `data:text/javascript,${encodeURIComponent(probe)}`
  const child = spawn(process.execPath, ['--import', load, entry, ...parameters], { env: environment, stdio: ['pipe', 'pipe', 'pipe'] })
  const said = createInterface({ input: child.stderr })
  const until = async pattern => {
    for (;;) {
      const [line] = await once(said, 'line')
      if (pattern.test(line)) return line
    }
  }
  const toggle = async () => {
    const heard = until(/^probe$/)
    child.kill('SIGWINCH')
    await heard
  }
  return { child, until, toggle }
}

const passed = file => {
  const scripts = JSON.parse(textOf(file)).filter(({ url }) => url.startsWith(pathToFileURL('dist').href))
  const rows = scripts.map(({ url, functions }) => ({
    room: url.split('/dist/')[1].split('/').slice(0, /\/dist\/(?:relay|desk)\//.test(url) ? 2 : 1).join('/'),
    functions: functions.filter(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0).length,
  })).filter(({ functions }) => functions > 0)
  const rooms = {}
  for (const { room } of rows) rooms[room] = (rooms[room] ?? 0) + 1
  return { files: rows.length, functions: rows.reduce((sum, row) => sum + row.functions, 0), ...rooms }
}

const rpc = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', ...(id !== undefined && { id }), method, params })
const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'house', version: '1' } }
const echo = { name: 'echo', arguments: { message: 'hello' } }

/** @param ask sends a message, and gives its answer */
const warmCall = async (ask, toggle) => {
  await ask(rpc(0, 'initialize', hello), 0)
  await ask(rpc(undefined, 'notifications/initialized'))
  await ask(rpc(1, 'tools/list', {}), 1)
  for (let id = 2; id < 40; id++) await ask(rpc(id, 'tools/call', echo), id)
  await toggle()
  await ask(rpc(40, 'tools/call', echo), 40)
  await toggle()
}

const overStdio = async () => {
  const file = join(work, 'stdio.json')
  const { child, toggle } = await start(['wrap', '--audit', join(work, 'a.ndjson'), '--', process.execPath, everything, 'stdio'], file)
  const lines = createInterface({ input: child.stdout })
  const ask = async (message, id) => {
    child.stdin.write(`${message}\n`)
    while (id !== undefined) {
      const [line] = await once(lines, 'line')
      if (JSON.parse(line).id === id) return
    }
  }
  await warmCall(ask, toggle)
  child.stdin.end()
  await once(child, 'exit')
  return passed(file)
}

const overHttp = async () => {
  const file = join(work, 'http.json')
  const server = spawn(process.execPath, [everything, 'streamableHttp'], { env: { ...process.env, PORT: '39417' }, stdio: ['ignore', 'ignore', 'pipe'] })
  await once(server.stderr, 'data')
  const relay = await start(['serve', '--listen', '127.0.0.1:0', '--audit', join(work, 'b.ndjson'), 'http://127.0.0.1:39417/mcp'], file)
  const url = `${/listening on (\S+?)(?:\/mcp)?$/.exec(await relay.until(/listening on /))[1]}/mcp`
  let session
  const ask = async message => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...(session && { 'mcp-session-id': session }) }
    const response = await fetch(url, { method: 'POST', headers, body: message })
    session ??= response.headers.get('mcp-session-id')
    await response.text()
  }
  await warmCall(ask, relay.toggle)
  relay.child.kill('SIGTERM')
  server.kill()
  await once(relay.child, 'exit')
  return passed(file)
}

if (!process.argv.includes('--static')) {
  buildSync({ entryPoints: ['src/cli.ts'], outfile: entry, format: 'esm', platform: 'node', logLevel: 'error' })
  try {
    console.log('\nfiles that a warm call passes, request and answer, by room')
    console.table({ stdio: await overStdio(), HTTP: await overHttp() })
  } finally {
    rmSync(entry, { force: true })
    rmSync(work, { recursive: true, force: true })
  }
}
