import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { Finding } from '#relay/core/vocabulary.js'
import {
  isList, isRecord, isString, field, type Data, type DataObject,
} from '#relay/protocol/unmetered.js'
import { nearest, type Revision } from '#relay/protocol/revisions/index.js'
import { all, answer, listed, reading, tool } from './ask.js'

// What real servers sent lies beside the repository; where it does not, there is nothing to judge.
const corpus = new URL('../../../../shared/corpus/', import.meta.url)
const skip = existsSync(corpus) ? false : 'the corpus is not here'

const parsed = (text: string): DataObject => {
  const value: unknown = JSON.parse(text)
  return isRecord(value) ? value : {}
}

const text = (server: string, file: string): string => {
  const url = new URL(`${encodeURIComponent(server)}/${file}`, corpus)
  return existsSync(url) ? readFileSync(url, 'utf8') : ''
}

const lines = (server: string, file: string): readonly DataObject[] =>
  text(server, file).split('\n').filter(Boolean).map(parsed)

const object = (value: Data | undefined): DataObject => (isRecord(value) ? value : {})
const string = (value: Data | undefined): string => (isString(value) ? value : '')

/**
 * Every finding on what one server sent, were it not trusted; the schemas are left to the tests of `schema/`.
 */
const findingsOn = (server: string, revision: Revision): readonly Finding[] => {
  const definitions = lines(server, 'tools-list.jsonl').flatMap(page => {
    const tools = field(object(field(page, 'result')), 'tools')
    return isList(tools) ? tools.map(object) : []
  })
  const declared = new Map(definitions.map(definition => [field(definition, 'name'), definition]))
  return [
    ...definitions.flatMap(definition => all.onTool(listed(definition, { revision }))),
    ...lines(server, 'calls.jsonl').flatMap(call => {
      const result = field(parsed(string(field(call, 'response'))), 'result')
      if (!isRecord(result) || field(result, 'task') !== undefined) return []
      const outputSchema =
        field(declared.get(field(object(field(call, 'params')), 'name')), 'outputSchema')
      return all.onResult(
        answer(
          result, { revision, tool: tool({ outputSchemas: isRecord(outputSchema) ? [outputSchema] : [] }) },
        ),
      )
    }),
    ...all.onReading(reading(
      'initialize', object(field(parsed(text(server, 'initialize.json')), 'result')), { revision },
    )),
  ]
}

// Each of these was looked at: it is what the rule says. None of them blocks under the standard policy.
const real =
  new Set(['tool/input-type', 'tool/dialect', 'result/undeclared', 'result/no-text', 'content/hidden-text'])

t.test('nothing that real servers sent is blocked, but for annotations', { skip }, t => {
  const found = readdirSync(corpus).flatMap(server => {
    const revision = nearest(string(field(parsed(text(server, 'meta.json')), 'negotiated')))
    return findingsOn(server, revision)
  })
  const unexpected =
    found.filter(({ rule }) => rule !== 'tool/annotations' && !rule.startsWith('advice/') && !real.has(rule))
  t.same(unexpected, [])
  t.ok(found.filter(({ rule }) => rule === 'tool/annotations').length > 1000)
  t.end()
})
