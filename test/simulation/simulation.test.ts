import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'

// The simulation replaces the timers of its process, and tap's loader makes each import asynchronous: the
// histories are played in processes of their own.
const cli = fileURLToPath(new URL('./cli.js', import.meta.url))

const simulate = async (...words: readonly string[]) => {
  const child = spawn(process.execPath, [cli, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = await text(child.stdout)
  return { output, code: child.exitCode }
}

/** How many histories are played, and the most seconds that they may take on a slow machine. */
const [histories, seconds] = ['2000', '20']

t.test('no history breaks an invariant', async t => {
  const { output, code } = await simulate('--count', histories, '--for', seconds)
  t.match(output, /^\d+ histories in/m)
  t.equal(code, 0, output)
})

t.test('a history is the same whenever it is played', async t => {
  for (const world of ['gateway', 'session']) {
    const played = await Promise.all([1, 2].map(() => simulate('77', '--world', world)))
    const [one, other] = played.map(({ output }) => output)
    t.match(one, /\d+ steps/)
    t.equal(other, one, world)
  }
})
