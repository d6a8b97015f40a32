import t from 'tap'
import type { Entry } from '#relay/core/vocabulary.js'
import { MergeNews } from '#relay/host/merge/endpoint.js'
import { type MergedFindings, recorderOfMerge } from '#relay/host/merge/findings.js'
import { presetPolicy } from '#relay/rules/index.js'
import { countingMetrics } from '#relay/telemetry/metrics.js'

const policies = new Map((['standard', 'strict', 'observe'] as const).map(preset =>
  [preset, presetPolicy(preset, { purpose: 'relay', locked: false })] as const))

/** What is written for servers that have the names of their policies. */
const written = (all: Parameters<ReturnType<typeof recorderOfMerge>>[0], fails = false) => {
  const entries: Entry[] = []
  const warnings: string[] = []
  const metrics = countingMetrics()
  const write = (entry: Entry) => {
    if (fails) throw new Error('the disk is full')
    entries.push(entry)
  }
  const log = { warn: (text: string) => warnings.push(text) }
  recorderOfMerge(
    { audits: { of: () => ({ write }) as never }, log: log as never, metrics },
    server => [...policies].find(([name]) => name === server)?.[1],
  )(all)
  return { entries, warnings, counted: metrics.registry.snapshot() }
}

t.test('what a merged list leaves out is one record for each server, by its own policy', t => {
  const rule = 'resource/duplicate'
  const { entries, counted } = written({ kind: 'templates', found: [
    { server: 'standard', rule, name: 'x://{a}', message: 'm' }, { server: 'strict', rule, name: 'x://{a}', message: 'm' },
    { server: 'standard', rule, name: 'x://{b}', message: 'm' }, { server: 'gone', rule, name: 'x://{b}', message: 'm' },
  ] })
  const finding = (resource: string) => ({ rule, path: '/result/resourceTemplates', message: 'm', resource })
  t.match(entries, [
    { event: 'resources/templates/list', from: 'relay', server: 'standard', verdict: 'log', findings: [finding('x://{a}'), finding('x://{b}')] },
    { server: 'strict', verdict: 'block', findings: [finding('x://{a}')] },
  ])
  t.equal(entries.length, 2)
  t.strictSame(
    counted.filter(({ metric }) => metric.endsWith('findings_total')).map(({ labels, value }) => [...labels, value]),
    [['standard', rule, 'log', 2], ['strict', rule, 'block', 1]],
  )
  t.end()
})

t.test('names of tools and prompts are findings about them', t => {
  const rule = 'tool/duplicate'
  const of = (kind: 'tools' | 'prompts') =>
    written({ kind, found: [{ server: 'standard', rule, name: 'n', message: 'm' }] }).entries[0]
  t.match(of('tools'), { event: 'tools/list', verdict: 'block', findings: [{ path: '/result/tools', tool: 'n' }] })
  t.match(of('prompts'), { event: 'prompts/list', verdict: 'block', findings: [{ path: '/result/prompts', prompt: 'n' }] })
  t.end()
})

t.test('a record that cannot be written is counted, and the list goes on', t => {
  const { warnings, counted } = written({ kind: 'tools', found: [{ server: 'observe', rule: 'tool/duplicate', name: 'n', message: 'm' }] }, true)
  t.strictSame(warnings, ['the disk is full'])
  t.match(counted.find(({ metric }) => metric.endsWith('audit_failures_total')), { value: 1 })
  t.end()
})

t.test('a finding is written and logged once, again when it differs or after a reload', t => {
  const records: MergedFindings[] = []
  const warnings: string[] = []
  const log = { warn: (text: string) => warnings.push(text), info: () => undefined }
  const news = new MergeNews(log, record => records.push(record))
  const finding = (message: string) => ({ server: 'a', rule: 'tool/duplicate', name: 'n', message } as const)
  for (let times = 0; times < 100; times += 1) news.found({ kind: 'tools', found: [finding('m')] })
  t.strictSame([records.length, warnings], [1, ['a: tool/duplicate: "n" m']])
  news.found({ kind: 'tools', found: [finding('m'), finding('other')] })
  t.strictSame(records.at(-1), { kind: 'tools', found: [finding('other')] }, 'what is new alone')
  news.found({ kind: 'prompts', found: [finding('m')] })
  t.equal(records.length, 3, 'a prompt is no tool')
  news.renew()
  news.found({ kind: 'tools', found: [finding('m')] })
  t.equal(records.length, 4)
  for (let number = 0; number < 2000; number += 1) news.found({ kind: 'tools', found: [finding(`m${number}`)] })
  t.strictSame([records.length, warnings.length], [2004, 1000], 'all are written, and the log is no flood')
  news.found({ kind: 'tools', found: [finding('m1999')] })
  t.equal(records.length, 2004)
  t.end()
})
