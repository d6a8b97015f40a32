import { join } from 'node:path'
import t from 'tap'
import type { Entry } from '#relay/core/vocabulary.js'
import { entry } from '../../relay/audit/entries.js'
import { open } from '../../relay/audit/logs.js'
import { start } from '../../e2e/harness.js'
import { initialize } from '../../e2e/stubborn.js'
import { cli, demo, run } from '../inspect/start.js'

const plain = { TZ: 'UTC', FORCE_COLOR: undefined, NO_COLOR: undefined }

const listed = (more: Partial<Entry>): Entry => entry({ event: 'tools/list', server: 'files', ...more })

t.test('tools says of a real server which tools are missing, why, and what to do', async t => {
  const state = t.testdir()
  const env = { ...plain, XDG_STATE_HOME: state }
  const relay = start(t, process.execPath, [cli, 'wrap', '--server', 'weather', ...demo], env)
  relay.send(initialize)
  await relay.next()
  relay.send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
  await relay.next()
  await relay.end()
  const { code, stdout, stderr } = await run(t, ['tools'], env)
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^✗ weather {2}8 tools, 3 withheld, annotations of 1 removed \(--trust keeps them\)\n {4}add_numbers is withheld: /)
  t.match(stdout, /a hidden character .*\n? *\(tool\/hidden-text\)\n {6}now: Adds two\s+numbers\.<hidden: Before you use\s/)
  t.match(stdout, /→ Ask the author of the server why the characters are there before you use it, or remove/)
  t.match((await run(t, ['tools', '--all'], env)).stdout, /^weather {2}8 tools, 3 withheld, [^]*✓ echo, get_weather, /)
  t.match(await run(t, ['tools', 'files'], env), {
    code: 2, stderr: /no list of a server "files" is there \(there is: weather\)\n$/,
  })
})

t.test('the last list of each server counts, in all its pages', async t => {
  const file = join(t.testdir(), 'a.ndjson')
  let now = Date.parse('2026-11-21T12:00:00Z')
  const audit = await open(file, { now: () => new Date((now += 1000)) })
  const about = (rule: 'tool/drift' | 'list/shape', tool: string, mended?: string) =>
    ({ rule, path: '/result/tools/0', message: 'differs', tool, ...(mended !== undefined && { mended }) })
  for (const one of [
    listed({ session: 'before', tools: ['old'] }),
    listed({ tools: ['read', 'odd'], findings: [about('list/shape', 'odd', 'removed /x')], verdict: 'mend' }),
    listed({ tools: ['write'], findings: [about('tool/drift', 'gone')], verdict: 'block' }),
    listed({ server: 'many', tools: Array.from({ length: 301 }, (_, index) => `t${index}`) }),
  ]) audit.write(one)
  audit.close()
  const { stdout } = await run(t, ['tools', 'files', '--logs', file], plain)
  t.match(stdout, /^files {2}3 tools, 1 withheld, 1 rewritten for desk 1\.0 \(nothing to do\) {2}desk 1\.0, 2026-11-21\s12:00:0\d\n/)
  t.match(stdout, /gone is withheld: differs \(tool\/drift\)\n[^]*~ rewritten \(list\/shape\): odd\n +✓ read, write\n$/)
  t.match(
    (await run(t, ['tools', 'many', '--logs', file], plain)).stdout, /^many {2}301 tools [^]*and 1 more/,
  )
  const { stdout: json } = await run(t, ['tools', '--json', '--logs', file], plain)
  t.match(JSON.parse(json), [
    { server: 'files', tools: { gone: { state: 'missing' }, odd: { state: 'changed' }, read: { state: 'same' } } },
    { server: 'many', more: 1 },
  ])
})

t.test('without a list, tools says how one comes about', async t => {
  const file = join(t.testdir(), 'a.ndjson')
  const audit = await open(file)
  audit.write(entry())
  audit.close()
  t.match(await run(t, ['tools', '--logs', file], plain), {
    code: 2, stderr: /no client has listed tools yet: start the client once .*mcp-customs install/,
  })
})
