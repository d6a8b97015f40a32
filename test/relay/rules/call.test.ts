import t from 'tap'
import type { Call, Checked } from '#relay/core/vocabulary.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import { all, call, tool } from './ask.js'

const problems: Checked = (['mismatch', 'format', 'unchecked', 'schema', 'external-ref', 'cost'] as const)
  .map(kind => ({
    kind, path: `/params/arguments/${kind}`, message: kind,
  }))

const declaring = (schema: DataObject) => tool({ inputSchemas: [{ type: 'object', ...schema }] })

const cases: readonly (readonly [title: string, call: Call, found: readonly string[]])[] = [
  ['a call that matches', call(), []],
  ['a tool that is not listed', call({ tool: undefined }), ['call/unlisted /params/name']],
  ['a call without a name', call({ name: '', tool: undefined }), ['call/unlisted /params/name']],
  ['a denied tool', call({ denied: true }), ['call/denied /params/name']],
  [
    'a denied tool that is not listed either', call({ denied: true, tool: undefined }),
    ['call/denied /params/name'],
  ],
  ['a call over the limit', call({ rate: { perMinute: 2, waitMs: 1500 } }), ['call/rate /params/name']],
  ['no list', call({ tool: undefined, listed: false }), ['call/unchecked /params/arguments']],
  [
    'no list, but a denied tool', call({ tool: undefined, listed: false, denied: true }),
    ['call/denied /params/name'],
  ],
  ['headers that say something else', call({ mismatch: 'the header lies' }), ['wire/http ']],
  [
    'an argument that nobody declared',
    call({ arguments: { a: 1, 'b/c': 2 }, tool: declaring({ properties: { a: {} } }) }),
    ['call/undeclared /params/arguments/b~1c'],
  ],
  ['arguments where nothing is declared', call({ arguments: { a: 1 }, tool: declaring({}) }), []],
  [
    'an argument that another keyword speaks of',
    call({ arguments: { b: 1 }, tool: declaring({ properties: {}, patternProperties: {} }) }), [],
  ],
  [
    'an argument where more are forbidden, which is call/arguments',
    call({ arguments: { b: 1 }, tool: declaring({ properties: {}, additionalProperties: false }) }), [],
  ],
]

t.test('call/arguments, call/unchecked: the result of validating the arguments', t => {
  const found = (checked: Checked) => all.onArguments({ checked }).map(({ rule, path }) => `${rule} ${path}`)
  t.same(found([]), [])
  t.same(found(problems.filter(({ kind }) => kind === 'format')), [], 'only a format')
  t.same(found(problems), [
    'call/arguments /params/arguments/mismatch',
    'call/unchecked /params/arguments/unchecked',
    'call/unchecked /params/arguments/schema',
    'call/unchecked /params/arguments/external-ref',
    'call/unchecked /params/arguments/cost',
  ])
  t.end()
})

t.test('call/*: calls with a problem', t => {
  for (const [title, subject, found] of cases) {
    t.same(all.onCall(subject).map(({ rule, path }) => `${rule} ${path}`), found, title)
  }
  t.end()
})
