import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const fuzz = fileURLToPath(new URL('../../../bench/fuzz.mjs', import.meta.url))

t.test('no frame makes a flow throw, and two parsers read every sent frame alike', t => {
  for (const seed of ['1', '2']) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath, [fuzz, '--frames', '6000', '--seed', seed], { encoding: 'utf8' },
    )
    t.equal(status, 0, stdout + stderr)
  }
  t.end()
})
