// 1,000 connections of strangers at each endpoint, one after the other, beside a client with a token: how long its calls take, with and without them.
//   node bench/strangers.mjs [SECONDS of each] [CONNECTIONS]
// Linux: strangers come from 127.0.0.2. Needs `npm run build`. A line for each endpoint: p50 and p99 of the client's calls in ms, and just before the
// strangers came; how many answers they got in a second, and how much of a core the relay used. On a busy machine only the last counts.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'

const [seconds, connections] = [Number(process.argv[2] ?? 10), Number(process.argv[3] ?? 1000)]
const post = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
const bearer = token => ({ ...post, authorization: `Bearer ${token}` })

/** What strangers ask, by a name. */
const endpoints = relay => ({
  '/mcp without a token': ['POST', `${relay}/mcp`, post, ping],
  '/mcp with a bad token': ['POST', `${relay}/mcp`, bearer('made-up'), ping],
  '/mcp with a bad JWT': ['POST', `${relay}/mcp`, bearer(`${Buffer.from('{"alg":"RS256","kid":"a"}').toString('base64url')}.e30.AAAA`), ping],
  '/.well-known': ['GET', `${relay}/.well-known/oauth-protected-resource/mcp`, {}],
  '/nowhere': ['GET', `${relay}/nowhere`, {}],
  '/register': ['POST', `${relay}/register`, { 'content-type': 'application/json' }, JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'] })],
  '/authorize': ['GET', `${relay}/authorize?client_id=a&response_type=code&redirect_uri=http://127.0.0.1/`, {}],
  '/callback': ['GET', `${relay}/callback?state=a&code=b`, {}],
  '/consent': ['POST', `${relay}/consent`, form, 'request=a&answer=allow'],
  '/token': ['POST', `${relay}/token`, form, 'grant_type=refresh_token&refresh_token=a&client_id=b'],
  '/revoke': ['POST', `${relay}/revoke`, form, 'token=a&client_id=b'],
})

if (process.argv[4] !== undefined) {
  // The strangers' process.
  const [method, url, headers, body] = JSON.parse(process.argv[4])
  const agent = new Agent({ connections, pipelining: 1, connect: { localAddress: '127.0.0.2' }, headersTimeout: 60_000 })
  let answers = 0
  const ask = async () => {
    for (;;) {
      await request(url, { method, headers, body, dispatcher: agent }).then(one => one.body.dump()).then(() => (answers += 1), () => pause(100))
    }
  }
  for (let number = 0; number < connections; number++) void ask()
  process.on('SIGTERM', () => process.stdout.write(`${answers}\n`, () => process.exit(0)))
} else {
  const folder = mkdtempSync(join(tmpdir(), 'customs-strangers-'))
  // An issuer that takes its time over each question.
  const issuer = createServer((asked, answer) => setTimeout(() => answer.writeHead(200, { 'content-type': 'application/json' }).end('{"active":false}'), 200))
  await new Promise(resolve => issuer.listen(0, '127.0.0.1', resolve))
  const upstream = createServer((asked, answer) => {
    if (asked.url !== '/mcp') return void answer.writeHead(404).end()
    asked.resume().on('end', () => answer.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}'))
  })
  await new Promise(resolve => upstream.listen(0, '127.0.0.1', resolve))
  const issuerUrl = `http://127.0.0.1:${issuer.address().port}`
  const introspection = { url: `${issuerUrl}/introspect`, clientId: 'a', clientSecret: 'b' }
  const one = { servers: { one: { url: `http://127.0.0.1:${upstream.address().port}/mcp` } }, audit: { file: 'none' } }
  const start = async (name, auth) => {
    const [config, port] = [join(folder, `${name}.json`), name === 'inward' ? 17401 : 17402]
    writeFileSync(config, JSON.stringify({ version: 1, auth: { ...auth, tokens: { known: 'a-token-of-the-known-client' } }, ...one }))
    const child = spawn(process.execPath, [fileURLToPath(new URL('../dist/cli.js', import.meta.url)), 'serve', '--config', config, '--listen', `127.0.0.1:${port}`, '--log-level', 'error'],
      { env: { ...process.env, XDG_STATE_HOME: folder }, stdio: ['ignore', 'ignore', 'pipe'] })
    await new Promise(resolve => child.stderr.on('data', chunk => String(chunk).includes('listening') && resolve()))
    return { child, url: `http://127.0.0.1:${port}` }
  }
  const relays = {
    inward: await start('inward', { issuer: issuerUrl, audience: 'http://127.0.0.1:17401', introspection }), facade: await start('facade', { facade: true }),
  }
  /** The times of the known client's calls, in order of length. */
  const timesOf = async url => {
    const agent = new Agent({ connections: 1 })
    const times = []
    const until = performance.now() + seconds * 1000
    while (performance.now() < until) {
      const begun = performance.now()
      const { statusCode, body } = await request(`${url}/mcp`, { method: 'POST', headers: bearer('a-token-of-the-known-client'), body: ping, dispatcher: agent })
      await body.dump()
      if (statusCode !== 200) throw new Error(`the client got ${statusCode}`)
      times.push(performance.now() - begun)
      await pause(5)
    }
    await agent.close()
    return times.sort((a, b) => a - b)
  }
  /** Seconds of CPU that the process has used. */
  const cpuOf = pid => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).reduce((sum, ticks) => sum + Number(ticks) / 100, 0)
  const at = (times, part) => times[Math.floor(times.length * part)] ?? NaN
  for (const [name, relay] of Object.entries(relays)) {
    await timesOf(relay.url)
    for (const [endpoint, what] of Object.entries(endpoints(relay.url))) {
      if ((name === 'facade') !== /^\/(?:register|authorize|callback|consent|token|revoke)/.test(endpoint)) continue
      const alone = await timesOf(relay.url)
      const strangers = spawn(process.execPath, [fileURLToPath(import.meta.url), String(seconds), String(connections), JSON.stringify(what)], { stdio: ['ignore', 'pipe', 'inherit'] })
      await pause(2000)
      const [before, begun] = [cpuOf(relay.child.pid), performance.now()]
      const beside = await timesOf(relay.url)
      const took = (performance.now() - begun) / 1000
      const used = (cpuOf(relay.child.pid) - before) / took
      const answers = new Promise(resolve => strangers.stdout.once('data', resolve))
      strangers.kill('SIGTERM')
      console.log(`${endpoint.padEnd(24)} p50 ${at(beside, 0.5).toFixed(1)} (${at(alone, 0.5).toFixed(1)}), p99 ${at(beside, 0.99).toFixed(1)} (${at(alone, 0.99).toFixed(1)}), `
        + `${(Number(await answers) / (took + 2)).toFixed(0)} answers a second, ${(100 * used).toFixed(0)} % of a core`)
    }
  }
  for (const { child } of Object.values(relays)) child.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
  process.exit(0)
}
