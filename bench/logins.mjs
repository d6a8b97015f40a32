// One login of many relays (docs/auth.md, one owner): real relays in front of an issuer whose refresh tokens are valid once, and which revokes
// all tokens of a login whose refresh token comes twice.
//   node bench/logins.mjs --five 100                      five relays at once with one expired token, so many times: one refresh each
//   node bench/logins.mjs [--relays 43] [--minutes 10]    access tokens of 2 s, owners killed at random, and killed or stopped
//                                                         for 8 s while they renew
// Needs `npm run build` and the compiled tests (node node_modules/typescript-7/bin/tsc -p test).
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: {
  five: { type: 'string' }, relays: { type: 'string', default: '43' }, minutes: { type: 'string', default: '10' },
} })
const path = name => fileURLToPath(new URL(`../${name}`, import.meta.url))
const { RotatingIssuer } = await import('../build/relay/auth/rotating.js')

const endings = []
const issuer = await RotatingIssuer.open({ teardown: end => endings.push(end) })
const state = mkdtempSync(join(tmpdir(), 'customs-logins-'))
const logins = join(state, 'mcp-customs', 'logins')
mkdirSync(logins, { recursive: true, mode: 0o700 })
const env = { ...process.env, XDG_STATE_HOME: state, BROWSER: `${process.execPath} ${path('test/fixtures/browser.mjs')}` }
const counts = { calls: 0, answered: 0, failed: 0, killed: 0, killedWhileRenewing: 0, stopped: 0, lost: 0 }
const failures = new Map()
let isOver = false

/** A relay and its client. */
class Relay {
  #waiting = new Map()
  #id = 0
  isDead = false

  constructor() {
    this.child = spawn(process.execPath, [path('dist/cli.js'), 'wrap', '--audit', 'none', issuer.url], { env })
    this.child.stdin.on('error', () => undefined)
    createInterface({ input: this.child.stdout }).on('line', line => {
      const message = JSON.parse(line)
      this.#waiting.get(message.id)?.(message)
    })
    this.child.on('exit', () => {
      this.isDead = true
      for (const answer of this.#waiting.values()) answer(undefined)
    })
  }

  ask(method, params = {}) {
    const id = ++this.#id
    return new Promise(resolve => {
      this.#waiting.set(id, answer => {
        this.#waiting.delete(id)
        resolve(answer)
      })
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
      if (this.isDead) resolve(undefined)
    })
  }

  async begin() {
    const info = { name: 'bench', version: '1' }
    await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info })
    await this.call()
  }

  /** A call is not counted when its relay was killed meanwhile. */
  async call() {
    counts.calls += 1
    const answer = await this.ask('tools/call', { name: 'honest', arguments: {} })
    if (answer?.result !== undefined) counts.answered += 1
    else if (answer !== undefined) {
      counts.failed += 1
      const message = answer.error?.message ?? 'no result'
      failures.set(message, (failures.get(message) ?? 0) + 1)
    }
  }

  kill() {
    counts.killed += 1
    this.child.kill('SIGKILL')
  }
}

const five = async times => {
  const relays = [1, 2, 3, 4, 5].map(() => new Relay())
  await Promise.all(relays.map(relay => relay.begin()))
  let wrong = 0
  for (let time = 0; time < times; time++) {
    const before = issuer.counts.refreshes
    issuer.expire()
    await Promise.all(relays.map(relay => relay.call()))
    if (issuer.counts.refreshes !== before + 1) wrong += 1
  }
  for (const relay of relays) relay.kill()
  return { times, roundsWithoutExactlyOneRefresh: wrong }
}

/** The process that renews now, by the claim beside the login. */
const owner = () => {
  const name = readdirSync(logins).find(each => each.endsWith('.json.lock'))
  return name === undefined ? undefined : JSON.parse(readFileSync(join(logins, name), 'utf8')).pid
}

const crowd = async (size, minutes) => {
  issuer.accessSeconds = 2
  const relays = new Set()
  const run = async () => {
    while (!isOver) {
      const relay = new Relay()
      relays.add(relay)
      await relay.begin()
      while (!relay.isDead && !isOver) {
        await relay.call()
        await pause(100 + Math.random() * 800)
      }
      relays.delete(relay)
    }
  }
  issuer.onRefresh = (_, answer) => {
    if (Math.random() < 0.9) return answer()
    const pid = owner()
    const victim = [...relays].find(({ child }) => child.pid === pid)
    if (victim === undefined) return answer()
    if (Math.random() < 0.2) {
      counts.stopped += 1
      counts.lost += 1
      victim.child.kill('SIGSTOP')
      setTimeout(() => victim.child.kill('SIGCONT'), 8000)
      return answer()
    }
    counts.killedWhileRenewing += 1
    // The issuer has used the token up, or not; in both cases nobody gets its answer.
    if (Math.random() < 0.5) {
      answer(true)
      counts.lost += 1
    }
    victim.kill()
  }
  const running = Promise.all(Array.from({ length: size }, run))
  const until = Date.now() + minutes * 60_000
  while (Date.now() < until) {
    await pause(500 + Math.random() * 2000)
    const all = [...relays]
    const one = all[Math.floor(Math.random() * all.length)]
    if (one?.child.pid === owner()) counts.lost += 1
    one?.kill()
  }
  isOver = true
  await Promise.race([running, pause(30_000)])
  for (const relay of relays) relay.kill()
  return { relays: size, minutes }
}

const result = values.five === undefined
  ? await crowd(Number(values.relays), Number(values.minutes)) : await five(Number(values.five))
const { logins: asked, refreshes, reuses } = issuer.counts
// A token whose answer was lost with its owner, or which waits for an owner that is stopped, is tried once more: the issuer counts that as a reuse.
const isGood = counts.failed === 0 && reuses <= counts.lost && asked <= 1 + counts.lost
  && (result.roundsWithoutExactlyOneRefresh ?? 0) === 0
console.log(JSON.stringify({ ...result, logins: asked, refreshes, reuses, ...counts, failures: Object.fromEntries(failures), isGood }, undefined, 2))
for (const end of endings) end()
rmSync(state, { recursive: true, force: true })
process.exit(isGood ? 0 : 1)
