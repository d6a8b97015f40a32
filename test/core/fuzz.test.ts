import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const fuzz = fileURLToPath(new URL('../../bench/fuzz.mjs', import.meta.url))

t.test('whatever the frames, no exception leaves a flow, and what leaves is read alike by two readers', t => {
  for (const seed of ['1', '2']) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [fuzz, '--frames', '6000', '--seed', seed], { encoding: 'utf8' })
    t.equal(status, 0, stdout + stderr)
  }
  t.end()
})
