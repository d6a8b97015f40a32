import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { cli, scratch } from './bridge.js'
import { start } from './harness.js'

const flood = fileURLToPath(new URL('../../test/fixtures/lying/flood.mjs', import.meta.url))

const skip = existsSync('/proc/self/status') ? false : 'the peak of a process can be read under Linux only'

const most = 200 * 1024 * 1024

/** The most that a process ever held in memory, in bytes. */
const peakOf = (pid: number): number => {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) * 1024
}

const ask = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

t.test('a line that does not end is not held', { skip }, async t => {
  const relay = start(
    t, process.execPath,
    [cli, 'wrap', '--audit', 'none', '--', process.execPath, flood, 'line', String(300 << 20)],
  )
  relay.send(ask)
  t.match(await relay.responseTo('1'), '"result":{}', 'what follows it is heard')
  t.ok(peakOf(relay.pid) < most, `at most ${peakOf(relay.pid) >> 20} MB`)
  await relay.end()
})

t.test('half a gigabyte for a client that does not read it is not held', {
  skip, timeout: 120_000,
}, async t => {
  const total = 1 << 29
  const progress = join(scratch(t), 'progress')
  const relay = spawn(process.execPath, [
    cli, 'wrap', '--audit', 'none', '--', process.execPath, flood, 'frames', String(total), progress,
  ], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const { pid } = relay
  if (pid === undefined) throw new Error('the relay did not start')
  t.teardown(() => {
    if (relay.exitCode === null) process.kill(-pid, 'SIGKILL')
  })
  relay.stdin.write(ask + '\n')

  await untilStill(progress)
  t.ok(Number(readFileSync(progress, 'utf8')) < total / 2, 'the server has to wait for the client')
  t.ok(peakOf(pid) < most, `${peakOf(pid) >> 20} MB while nobody reads`)

  // The client reads at last, and takes a breath now and then.
  let taken = 0
  let chunks = 0
  let tail = ''
  for await (const chunk of relay.stdout as AsyncIterable<Buffer>) {
    taken += chunk.length
    tail = (tail + chunk.toString('latin1')).slice(-100)
    if (tail.endsWith('{"jsonrpc":"2.0","id":1,"result":{}}\n')) break
    if (++chunks % 1000 === 0) await pause(1)
  }
  t.equal(
    taken, Number(readFileSync(progress, 'utf8')) + '{"jsonrpc":"2.0","id":1,"result":{}}\n'.length,
    'every byte arrives',
  )
  t.ok(peakOf(pid) < most, `${peakOf(pid) >> 20} MB in the end`)
  relay.stdin.end()
  if (relay.exitCode === null) await once(relay, 'exit')
})

/** Waits until the number in a file no longer grows: its writer is held back. */
const untilStill = async (file: string): Promise<void> => {
  const read = () => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  for (let last = '', still = 0; still < 10;) {
    await pause(50)
    const now = read()
    still = now !== '' && now === last ? still + 1 : 0
    last = now
  }
}
