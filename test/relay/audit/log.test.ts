import t from 'tap'
import { openLog } from '#relay/audit/log.js'
import { explained } from '#relay/rules/index.js'
import { called, entry } from './entries.js'

const terminal = () => {
  const lines: string[] = []
  return { lines, write: (text: string) => lines.push(...text.trimEnd().split('\n')) }
}

t.test('a terminal gets text: what was blocked, why, what it means and what to do', t => {
  const output = terminal()
  openLog('warn', explained, output).decision(called)
  t.strictSame(output.lines, [
    'mcp-customs: blocked: tools/call "get_weather" of weather',
    '  result/schema at /result/structuredContent/temperature: must be number',
    '  The tool\'s answer is not what the tool promises: a value is missing, or is of another kind.',
    '  → Let the tool work all the same: mcp-customs relax weather get_weather (without TOOL: all of the server\'s; of a ' +
      'gateway: with --config FILE)',
    '  → Report it to the author of the server: Return what the outputSchema declares, or declare what ' +
      'is returned',
    '  → More: mcp-customs explain result/schema',
  ])
  t.end()
})

t.test('a finding in a list names the tool', t => {
  const output = terminal()
  const findings = [{ rule: 'tool/duplicate' as const, path: '/result/tools/1', message: 'm', tool: 'add' }]
  openLog('info', explained, output).decision(entry({ event: 'tools/list', verdict: 'block', findings }))
  t.equal(output.lines[1], '  tool "add": tool/duplicate at /result/tools/1: m')
  t.end()
})

t.test('the most dangerous finding comes first, and noise is no block', t => {
  const output = terminal()
  const of = (rule: 'tool/name' | 'tool/drift') => ({ rule, path: '/x', message: 'm' })
  const log = openLog('info', explained, output)
  log.decision(entry({ event: 'tools/list', verdict: 'block', findings: [of('tool/name'), of('tool/drift')] }))
  t.match(output.lines, [/^mcp-customs: blocked/, /tool\/drift/, /tool\/name/, /changed this after it was accepted/])
  output.lines.length = 0
  log.decision(entry({ event: 'wire', verdict: 'block', reason: 'noise on stdout', findings: [of('tool/name')] }))
  t.strictSame(output.lines, [])
  t.end()
})

t.test('messages below the level are not printed, and no text controls the terminal', t => {
  const output = terminal()
  const log = openLog('warn', explained, output)
  log.info('not said')
  log.decision(entry())
  t.strictSame(output.lines, [])
  log.warn('a name with \u001b[2J in it')
  t.strictSame(output.lines, ['mcp-customs: a name with \\u001b[2J in it'])
  t.end()
})
