import t from 'tap'
import type { RuleName } from '#relay/rules/index.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import { answer, listed, paths, ruleNamed, text, type Case } from './ask.js'

const table = (name: RuleName, cases: readonly Case<DataObject>[]) => {
  t.test(`${name}: what is advised against, and what is not`, t => {
    for (const [title, result, found] of cases) {
      t.same(paths(ruleNamed(name).onResult?.(answer(result))), found, title)
    }
    t.end()
  })
}

table('advice/json-in-text', [
  ['prose', { content: [text('It is 20 degrees.')] }, []],
  ['JSON beside structured content', { content: [text('{"a":1}')], structuredContent: { a: 1 } }, []],
  ['JSON in an error', { content: [text('{"a":1}')], isError: true }, []],
  ['JSON alone', { content: [text('ok'), text(' [1, 2]\n')] }, ['/result/content/1/text']],
])

table('advice/vague-error', [
  ['no error', { content: [text('Error')] }, []],
  ['a cause', { content: [text('Error: no file named a.txt')], isError: true }, []],
  ['a cause behind the error', { content: [text('Error'), text('the disk is full')], isError: true }, []],
  ...[
    '', 'Error', 'error.', 'Error: An unknown error occurred', 'Internal server error!',
    'Something went wrong', 'FAILED', 'Tool execution failed',
  ]
    .map(said => [`vague: ${said}`, { content: [text(said)], isError: true }, ['/result/content']] as const),
  ['nothing', { content: [], isError: true }, ['/result/content']],
])

const large = { rows: Array.from({ length: 1000 }, (_, row) => ({ row, name: `row ${row}` })) }
table('advice/duplicated-payload', [
  ['a large one told in prose', { content: [text('1000 rows')], structuredContent: large }, []],
  ['a small one twice', { content: [text('{"a":1}')], structuredContent: { a: 1 } }, []],
  [
    'a large one and another',
    { content: [text(JSON.stringify({ ...large, more: 1 }))], structuredContent: large }, [],
  ],
  [
    'a large one twice', { content: [text('rows:'), text(JSON.stringify(large))], structuredContent: large },
    ['/result/content/1/text'],
  ],
])

const base64 = Buffer.from(Array.from({ length: 900 }, (_, place) => (place * 7919) % 256)).toString('base64')
table('advice/binary-in-text', [
  ['prose', { content: [text('word '.repeat(1000))] }, []],
  ['one endless word', { content: [text('a'.repeat(5000))] }, []],
  [
    'a digest',
    { content: [text('sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08')] }, [],
  ],
  ['a data URI', { content: [text('see data:image/png;base64,iVBORw0KGgo=')] }, ['/result/content/0/text']],
  ['base64', { content: [text(`the file: ${base64}`)] }, ['/result/content/0/text']],
])

const files = Array.from({ length: 30 }, (_, file) => `src/part${file % 3}/file${file}.ts`)
table('advice/flat-list', [
  ['few', { content: [], structuredContent: { files: files.slice(0, 5) } }, []],
  [
    'one folder', { content: [], structuredContent: { files: files.map((_, file) => `src/file${file}.ts`) } },
    [],
  ],
  ['no paths', { content: [], structuredContent: { files: files.map(file => `see ${file} for more`) } }, []],
  [
    'a folder for each',
    { content: [], structuredContent: { files: files.map((_, file) => `src/${file}/x`) } }, [],
  ],
  ['a tree, flat', { content: [], structuredContent: { files } }, ['/result/structuredContent']],
  ['a tree, flat, in a text', { content: [text(JSON.stringify(files))] }, ['/result/content/0/text']],
])

t.test('advice/no-output-schema: where the revision has one', t => {
  const rule = ruleNamed('advice/no-output-schema')
  t.same(paths(rule.onTool?.(listed({ name: 'a' }))), ['/result/tools/0'])
  t.same(paths(rule.onTool?.(listed({ name: 'a', outputSchema: {} }))), [])
  t.same(paths(rule.onTool?.(listed({ name: 'a' }, { revision: '2025-03-26' }))), [])
  t.end()
})

t.test('advice/no-description: missing, blank, or no text', t => {
  const rule = ruleNamed('advice/no-description')
  for (const definition of [{}, { description: ' \n' }, { description: 1 }]) {
    t.same(paths(rule.onTool?.(listed(definition))), ['/result/tools/0'])
  }
  t.same(paths(rule.onTool?.(listed({ description: 'Tells the weather.' }))), [])
  t.end()
})
