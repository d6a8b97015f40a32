import { readFileSync } from 'node:fs'
import t from 'tap'
import { inspectFlags } from '#cli/flags/inspect.js'
import { cli, root } from './start.js'
import { start } from '../../e2e/harness.js'

const document = readFileSync(new URL('../../../docs/inspect.md', import.meta.url), 'utf8')

t.test('the output of the demo is what the document shows', async t => {
  const [, shown = ''] =
    /```text\n\$ mcp-customs inspect --call get_weather.*\n([^]*?)```/.exec(document) ?? []
  const words = [
    'inspect', '--call', 'get_weather', '--args', '{"city": "Atlantis"}', '--', 'node',
    'docker/demo/lying-server.mjs',
  ]
  process.chdir(root)
  const run = start(t, process.execPath, [cli, ...words], { FORCE_COLOR: undefined, NO_COLOR: undefined })
  t.strictSame(await run.exit, { code: 1, signal: null })
  t.equal(run.untaken.map(line => `${line}\n`).join(''), shown)
})

t.test('every option is in the document', t => {
  for (const option of Object.keys(inspectFlags)) t.match(document, `--${option}`)
  t.end()
})
