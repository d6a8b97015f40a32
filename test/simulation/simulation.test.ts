import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'

// Beside the files of other rooms, since it takes long.
t.jobs = 1

const cli = fileURLToPath(new URL('cli.js', import.meta.url))

/** Without the loader of tap, with which an import takes time that the simulated clock does not know. */
const simulate = async (...given: readonly string[]) => {
  const command = ['-u', 'NODE_OPTIONS', process.execPath, cli, ...given]
  const child = spawn('env', command, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => void (said += chunk.toString()))
  const [code] = await once(child, 'close') as [number]
  return { code, said }
}

const skip = process.platform === 'win32'

t.test('no history breaks an invariant', { skip }, async t => {
  // By time and not by number on a slow machine.
  const { code, said } = await simulate('--for', '20', '--count', '2000')
  t.equal(code, 0, said)
  t.comment(said)
})

t.test('a history is the same whenever it is played', { skip }, async t => {
  for (const world of ['gateway', 'merge', 'session', 'translated', 'wrap']) {
    const [one, other] = await Promise.all([simulate('77', '--world', world), simulate('77', '--world', world)])
    t.equal(one.said, other.said)
  }
})
