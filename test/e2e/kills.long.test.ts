import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const script = fileURLToPath(new URL('../../bench/kills.mjs', import.meta.url))

t.test('of a gateway that is killed at random no process is left, and every session has its end on record', {
  skip: process.platform !== 'linux' && 'reads /proc',
}, async t => {
  const child = spawn(process.execPath, [script, '3'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = await text(child.stdout)
  t.match(said, /^3 kills: /m)
  t.equal(child.exitCode ?? (await new Promise(resolve => child.on('exit', resolve))), 0, said)
})
