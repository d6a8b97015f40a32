import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { run } from '../inspect/start.js'

const folder = fileURLToPath(new URL('../../../test/fixtures/captures/', import.meta.url))

// Sessions with the lying server, captured before the house had two wings: each decision stays as it was.
t.test('captures of real sessions replay without a difference', async t => {
  const files = readdirSync(folder)
  t.equal(files.length, 5)
  for (const file of files) {
    const { code, stdout } = await run(t, ['replay', folder + file])
    t.match(stdout, /^1 session, \d{2} messages, \d{2} decisions: nothing would change\n$/, file)
    t.equal(code, 0, file)
  }
})
