import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { start, urlOf } from '../../e2e/harness.js'
import { harmful } from './run.js'
import { demo, inspect, lying, root, script } from './start.js'

interface Report {
  readonly version: number
  readonly server: object
  readonly tools: readonly {
    readonly name: string
    readonly verdict: string
    readonly outputSchema: boolean
    readonly annotations: object | null
    readonly arguments: readonly object[]
  }[]
  readonly prompts: readonly object[]
  readonly resources: readonly object[]
  readonly resourceTemplates: readonly object[]
  readonly problems: readonly object[]
  readonly call: object | null
  readonly findings: readonly {
    readonly rule: string; readonly action: string; readonly tool?: string; readonly path: string
  }[]
  readonly verdict: string
}

const parsed = async (
  t: Parameters<typeof inspect>[0], args: readonly string[],
): Promise<{ code: number | null; report: unknown }> => {
  const { code, stdout, stderr } = await inspect(t, args)
  if (stdout === '') throw new Error(stderr)
  return { code, report: JSON.parse(stdout) }
}

const json = async (t: Parameters<typeof inspect>[0], args: readonly string[]) =>
  (await parsed(t, ['--json', ...args])) as { code: number | null; report: Report }

const rulesOf = ({ findings }: Report): string[] => [...new Set(findings.map(({ rule }) => rule))]

t.test('each lie of the demo is found at its tool', async t => {
  const { code, report } = await json(t, demo)
  t.equal(code, 1)
  t.equal(report.verdict, 'block')
  t.equal(report.version, 1)
  t.strictSame(Object.keys(report), [
    'version', 'server', 'tools', 'prompts', 'resources', 'resourceTemplates', 'problems', 'call', 'findings',
    'more', 'verdict',
  ])
  t.match(report.server, {
    name: 'lying-server', trusted: false, revision: '2026-07-28', serverInfo: { name: 'lying-server' },
    supportedVersions: ['2026-07-28'],
  })
  t.strictSame(report.findings.filter(({ action }) => action === 'block')
    .map(({ tool, rule }) => [tool, rule]), [
    ['add_numbers', 'tool/hidden-text'],
    ['get_anything', 'tool/schema'],
    ['get_file', 'tool/external-ref'],
  ])
  t.match(report.findings.find(({ rule }) => rule === 'tool/hidden-text'), {
    path: /^\/result\/tools\/\d+\/description$/,
  })
  t.equal(report.tools.find(({ name }) => name === 'echo')?.verdict, 'log', 'advice is of action log')
  t.equal(report.tools.find(({ name }) => name === 'get_weather')?.verdict, 'pass')
})

t.test('the text report shows the server, its tools and the findings', async t => {
  const { code, stdout, stderr } =
    await inspect(t, ['--call', 'get_weather', '--args', '{"city":"Atlantis"}', ...demo])
  t.equal(code, 1)
  t.equal(stderr, '', 'no sign of life in a pipe')
  t.match(
    stdout,
    /says it is +lying-server 1\.0\.0\n +revision +2026-07-28\n +capabilities +tools\n +annotations +on 1 tool, removed by a relay: not trusted/,
  )
  t.match(stdout, /^ {2}get_weather +city: string\n +output schema$/m)
  t.match(stdout, /^ {2}delete_everything +no arguments\n +"Look around"; claims read-only$/m)
  t.match(stdout, /✗ tool\/external-ref \(block\)\n.*\n +get_file \/outputSchema\/properties\/file\/\$ref/)
  t.match(
    stdout, /Call of get_weather \{"city":"Atlantis"\}\n +structuredContent\n +\{\n +"temperature": "hot"/,
  )
  t.match(stdout, /^11 tools, 0 prompts, 0 resources: ✗ 4 findings of action block, 6 pieces of advice$/m)
  t.notMatch(stdout, harmful)
})

t.test('the policy decides the exit code', async t => {
  t.equal((await inspect(t, ['--policy', 'observe', ...demo])).code, 0)
  const off = ['hidden-text', 'schema', 'external-ref'].flatMap(rule => ['--rule', `tool/${rule}=off`])
  t.equal((await inspect(t, ['--rule', 'advice/no-output-schema=block', ...off, ...demo])).code, 1)
  const { code, report } = await json(t, [...off, '--rule', 'advice/no-output-schema=off', ...demo])
  t.equal(code, 0)
  t.strictSame(report.findings, [])
  t.equal(report.verdict, 'pass')
})

t.test('the official servers are listed in full', async t => {
  const bin = (name: string) =>
    join(root, 'node_modules', '@modelcontextprotocol', `server-${name}`, 'dist', 'index.js')
  const everything = await json(t, ['--', process.execPath, bin('everything')])
  t.equal(everything.code, 0)
  t.match(everything.report.server, { revision: '2025-11-25' })
  const { tools, prompts, resources, resourceTemplates } = everything.report
  t.strictSame([tools.length, prompts.length, resources.length, resourceTemplates.length], [13, 4, 7, 2])
  t.strictSame(rulesOf(everything.report), ['advice/no-output-schema'])

  const files = await json(t, ['--', process.execPath, bin('filesystem'), tmpdir()])
  t.equal(files.code, 0, 'to have annotations is no fault')
  t.strictSame(rulesOf(files.report), [])
  t.match(files.report.server, { trusted: false, annotations: { tools: 14, kept: false } })
  t.strictSame(files.report.tools.find(({ name }) => name === 'move_file')?.arguments, [
    { name: 'source', type: 'string', required: true },
    { name: 'destination', type: 'string', required: true },
  ])
  t.ok(files.report.tools.every(({ outputSchema }) => outputSchema))

  const memory = await inspect(t, ['--', process.execPath, bin('memory')])
  t.equal(memory.code, 0)
  t.match(memory.stdout, /Tools \(9\)/)
  t.match(
    memory.stdout,
    /^ {2}create_entities +entities: object\[\]\n +claims writes, not destructive, closed world; output schema$/m,
  )
  t.match(memory.stdout, /^9 tools, 0 prompts, 1 resource: ✓ nothing that the policy blocks$/m)
})

t.test('colours are used in a pipe when requested', async t => {
  t.match((await inspect(t, demo, { FORCE_COLOR: '1' })).stdout, '\u001b[31m✗ tool/hidden-text\u001b[39m')
})

t.test('SARIF has the fields that code scanning needs', async t => {
  const sarif = async () => (await parsed(t, ['--sarif', ...demo])).report as Sarif
  const log = await sarif()
  t.equal(log.version, '2.1.0')
  t.match(log.$schema, 'sarif-2.1.0')
  t.equal(log.runs.length, 1)
  const [run] = log.runs
  const rules = run?.tool.driver.rules ?? []
  t.equal(run?.tool.driver.name, 'mcp-customs')
  for (const rule of rules) {
    t.ok(
      rule.shortDescription.text !== '' && rule.fullDescription.text !== '' && rule.help.text !== '', rule.id,
    )
  }
  const results = run?.results ?? []
  t.equal(results.length, 9)
  for (const { ruleId, ruleIndex, level, message, locations } of results) {
    t.equal(rules[ruleIndex]?.id, ruleId)
    t.equal(level, ruleId.startsWith('advice/') ? 'note' : 'error')
    t.ok(message.text !== '')
    t.match(locations, [{ physicalLocation: {
      artifactLocation: { uri: 'docker/demo/lying-server.mjs' }, region: { startLine: 1 },
    } }])
  }
  const prints = results.map(({ partialFingerprints }) => partialFingerprints.primaryLocationLineHash)
  t.equal(new Set(prints).size, prints.length, 'each is told from the others')
  t.strictSame((await sarif()).runs[0]?.results, results, 'and found again')
})

interface Sarif {
  readonly $schema: string
  readonly version: string
  readonly runs: readonly {
    readonly tool: { readonly driver: { readonly name: string; readonly rules: readonly SarifRule[] } }
    readonly results: readonly {
      readonly ruleId: string
      readonly ruleIndex: number
      readonly level: string
      readonly message: { readonly text: string }
      readonly locations: readonly object[]
      readonly partialFingerprints: { readonly primaryLocationLineHash: string }
    }[]
  }[]
}

interface SarifRule {
  readonly id: string
  readonly shortDescription: { readonly text: string }
  readonly fullDescription: { readonly text: string }
  readonly help: { readonly text: string }
}

t.test('a server over HTTP is inspected like any other', async t => {
  const server = start(t, process.execPath, [lying, '--http', '0'])
  const url = await urlOf(server)
  const { code, report } = await json(t, ['--call', 'get_weather', '--args', '{"city":"Atlantis"}', url])
  t.equal(code, 1)
  t.match(report.server, { name: '127.0.0.1', target: url, revision: '2026-07-28' })
  t.equal(report.tools.length, 11)
  t.match(report.call, { verdict: 'block' })
})

t.test('servers of the configuration are inspected with their settings', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'customs-inspect-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'customs.json')
  const audit = join(directory, 'audit.ndjson')
  writeFileSync(file, JSON.stringify({
    version: 1,
    policy: 'observe',
    servers: {
      demo: {
        command: [process.execPath, lying],
        rules: { 'result/schema': 'block' },
        tools: {
          echo: { annotations: { readOnlyHint: true } },
          draw: 'deny',
          get_weather: { outputSchema: { type: 'object', required: ['wind'] } },
        },
      },
    },
    audit: { file: join(directory, 'relay.ndjson') },
  }))
  const { code, report } =
    await json(t, ['--config', file, '--audit', audit, '--call', 'get_weather', '--args', '{"city":"Paris"}'])
  t.equal(code, 1, 'by the operator\'s own schema')
  t.match(report, { server: { name: 'demo' }, call: { verdict: 'block' } })
  t.match(report.tools.find(({ name }) => name === 'draw'), { denied: true })
  t.equal(report.tools.find(({ name }) => name === 'echo')
    ?.annotations, null, 'what the server claims, not what the operator says')
  t.match(readFileSync(audit, 'utf8'), '"event":"tools/call"')
  t.throws(
    () => readFileSync(join(directory, 'relay.ndjson')), { code: 'ENOENT' },
    'the log of the relay is left alone',
  )
})

t.test('an interrupted inspection leaves no server behind', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'customs-inspect-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'pid')
  // It interrupts whoever started it, as a Ctrl-C does, and ends for no closed stdin.
  const server = `
    require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid))
    setInterval(() => {}, 1000)
    process.kill(process.ppid, 'SIGINT')`
  const { code, stdout, stderr } = await inspect(t, script(server))
  t.strictSame([code, stdout, stderr], [130, '', ''])
  t.throws(() => process.kill(Number(readFileSync(file, 'utf8')), 0), { code: 'ESRCH' })
})
