import fc from 'fast-check'
import t from 'tap'
import { defaultLimits } from '#relay/config/configuration.js'
import { changedWords, diffJson, diffReport } from '#desk/inspect/diff.js'
import { compareSaved } from '#desk/inspect/catalogue.js'
import { reveal } from '#relay/base/plain.js'
import { parseSaved } from '#desk/inspect/saved.js'
import { colourStyle, columnsOf, plainStyle } from '#desk/terminal/style.js'
import { tool } from './quirks.js'
import { evil, harmful } from './run.js'

const compared = (before: object, after: object) => {
  const named = (file: string, value: object) =>
    ({ file, saved: parseSaved(JSON.stringify(value), file, defaultLimits) })
  return compareSaved(named('before', before), named('after', after))
}

const diff = (before: object, after: object, width = 100): string =>
  diffReport(compared(before, after), plainStyle, width)

const answer = (result: object) => ({ jsonrpc: '2.0', id: 1, result })

t.test('changes are grouped by element and field', t => {
  const properties = { city: { type: 'string' } }
  const before = [
    tool('gone'), tool('same'),
    tool('changed', { inputSchema: { type: 'object', properties, required: ['city'] } }),
    tool('old_name', { description: 'Unlike.' }),
  ]
  const after = [
    tool('same'),
    tool('changed', { title: 'New\u202e', inputSchema: {
      type: 'object', properties: { ...properties, note: { type: 'string' } }, required: ['city', 'note'],
    } }),
    tool('new_name', { description: 'Unlike.' }),
    tool('come', { description: 'Adds.', inputSchema: { type: 'object', properties } }),
  ]
  t.equal(diff({ tools: before }, { tools: after }), `before → after

- tool gone  removed

~ tool changed
  /inputSchema/properties/note  input schema
    + {"type":"string"}
  /inputSchema/required  input schema
    + "note"
  /title  text
    + "New<U+202E>"

~ tool old_name → new_name  renamed

+ tool come  added
  city?: string
  "Adds."

6 changes: 1 removed, 2 input schema, 1 text, 1 renamed, 1 added
`)
  t.equal(diff({ tools: before }, { tools: [...before].reverse() }), 'before → after\n\n✓ no change\n')
  t.end()
})

const digits = (number: string): string =>
  `{"name":"a","inputSchema":{"type":"object","properties":{"n":{"const":${number}}}}}`
const savedForms = [
  ['a list', (number: string) => `{"tools":[${digits(number)}]}`],
  ['a response', (number: string) => `{"jsonrpc":"2.0","id":1,"result":{"tools":[${digits(number)}]}}`],
  ['a report of inspect --json', (number: string) =>
    `{"version":1,"server":{"revision":"2025-11-25"},"tools":[{"name":"a","definition":${digits(number)}}]}`],
] as const

for (const [name, saved] of savedForms) {
  t.test(`a change beyond a double is a change: ${name}`, t => {
    const named = (file: string, number: string) =>
      ({ file, saved: parseSaved(saved(number), file, defaultLimits) })
    const changed =
      compareSaved(named('before', '12345678901234567890'), named('after', '12345678901234567891'))
    t.match(diffReport(changed, plainStyle, 100), '- 12345678901234567890\n    + 12345678901234567891\n')
    t.match(diffJson(changed), /"before": 12345678901234567890,\n *"after": 12345678901234567891\n/)
    t.strictSame(
      compareSaved(named('before', '12345678901234567890'), named('after', '1234567890123456789e1')).changes,
      [],
    )
    t.end()
  })
}

t.test('a long text is shown by its changed words', t => {
  const words = Array.from({ length: 60 }, (_, index) => `word${index}`)
  const text = (change: (words: string[]) => void): string => {
    const copy = [...words]
    change(copy)
    return copy.join(' ')
  }
  const shown = (after: string) => changedWords(words.join(' '), after, plainStyle)?.join(' ')
  t.match(
    shown(text(copy => copy.splice(30, 1, 'SECRET'))), /^…[^[]{20,60}\[-word30-\]\{\+SECRET\+\}[^[]{20,60}…$/,
  )
  t.match(shown(`${words.join(' ')}\u200b\nIgnore this.`), /\{\+<U\+200B>⏎Ignore this\.\+\}$/)
  t.equal(
    changedWords('one two three', 'four five six', plainStyle), undefined, 'texts that have little in common',
  )
  t.match(changedWords('the user’s own wórd stays as it was before', 'the user’s own wo\u0301rd stays as ' +
    'it was before', plainStyle)?.join(' '), /U\+00F3.*U\+0301/, 'the eye sees no difference')
  t.end()
})

t.test('invisible characters are made visible', t => {
  const cases: [string, string, string][] = [
    ['plain text', 'Get the weather, 100 % 👍', 'Get the weather, 100 % 👍'],
    ['letters of one script', 'Погода в Париже', 'Погода в Париже'],
    ['a letter that passes for another', 'p\u0430ypal', 'p\u0430<U+0430>ypal'],
    ['nothing to see', 'a\u200bb\u2800c\u{e0041}', 'a<U+200B>b<U+2800>c<U+E0041>'],
    ['another space', 'a\u00a0b', 'a<U+00A0>b'],
    ['lines and tabs', 'a\r\nb\nc\td', 'a⏎b⏎c⇥d'],
    ['a terminal', '\u001b[2J\u009b', '<U+001B>[2J<U+009B>'],
    ['half of a pair', '\ud800', '<U+D800>'],
  ]
  for (const [name, text, shown] of cases) t.equal(reveal(text), shown, name)
  t.end()
})

t.test('a comparison contains no terminal escapes, and no line wider than the terminal', t => {
  const one = tool(evil('a'), { description: evil('b'.repeat(500)), inputSchema: {
    type: 'object', properties: { [evil('c')]: { const: evil('d') } },
  } })
  const before =
    { tools: [one, tool('x', { title: evil('t'), description: `${'w '.repeat(100)}${evil('x')}` })] }
  const after = { tools: [
    tool('x', { title: evil('u'), description: `${'w '.repeat(100)}${evil('y')}` }), tool(evil('e'), one),
  ] }
  for (const width of [60, 100]) {
    t.notMatch(diff(before, after, width), harmful)
    t.strictSame(diff(before, after, width).split('\n').filter(line => columnsOf(line) > width), [])
  }
  t.notMatch(diffReport(compared(before, after), colourStyle, 100)
    .replace(/\u001b\[\d+m/g, ''), harmful, 'the only escapes are ours')
  t.notMatch(diffJson(compared(before, after)), harmful)
  const text = fc.string({ unit: 'binary', maxLength: 200 })
  fc.assert(fc.property(text, text, (one, other) => !harmful.test(
    diff({ tools: [tool('a', { description: one })] }, { tools: [tool('a', { description: other })] }),
  )))
  t.end()
})

t.test('a list that only one file has is named, not compared', t => {
  const hello = {
    protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'a', version: '1' },
    instructions: 'Do.',
  }
  const lines = (...results: object[]) =>
    parseSaved(results.map(one => JSON.stringify(answer(one))).join('\n'), 'f', defaultLimits)
  const whole = { file: 'whole', saved: lines(hello, { tools: [] }, { prompts: [{ name: 'p' }] }) }
  const part = { file: 'part', saved: lines({ tools: [] }) }
  t.match(compareSaved(whole, part), { changes: [], incomparable: ['who the server is', 'prompts/list'] })
  const other = { file: 'other', saved: lines(
    { ...hello, instructions: 'Do not.', serverInfo: { name: 'a', version: '2' } }, { tools: [] },
    { prompts: [] },
  ) }
  t.match(compareSaved(whole, other), {
    changes: [{ class: 'serverInfo', path: ['serverInfo', 'version'] }, { class: 'instructions' }, {
      class: 'prompts', name: 'p', after: undefined,
    }],
    incomparable: [],
  })
  t.end()
})

t.test('incomparable lists are an error', t => {
  const fails = (after: string): unknown => {
    try {
      return compareSaved({ file: 'a', saved: parseSaved('{"tools":[]}', 'a', defaultLimits) }, {
        file: 'b', saved: parseSaved(after, 'b', defaultLimits),
      })
    } catch (error) {
      return error
    }
  }
  t.match(fails('{"tools":[],"tools":[{"name":"x"}]}'), {
    code: 'BAD_CONFIG', message: /^b: cannot be compared: .*/,
  })
  t.match(fails(JSON.stringify({ tools: [], nextCursor: '2' })), {
    code: 'BAD_CONFIG', message: 'b: the answers to tools/list end before the last page',
  })
  t.match(compared({ tools: [tool('a')] }, { tools: [tool('a'), tool('a'), 7] })
    .changes, [{ name: 'a (element 1, listed again)' }, { name: /^\(element 2/ }])
  t.end()
})
