import t from 'tap'
import type { Call } from '../../dist/core/rule.js'
import type { Checked } from '../../dist/core/check.js'
import { all, call, tool } from './ask.js'

const problems: Checked = (['mismatch', 'format', 'unchecked', 'schema', 'external-ref', 'cost'] as const).map(kind => ({
  kind, path: `/params/arguments/${kind}`, message: kind,
}))

const cases: readonly (readonly [title: string, call: Call, found: readonly string[]])[] = [
  ['a call that matches', call(), []],
  ['a tool that is not listed', call({ tool: undefined, checked: undefined }), ['call/unlisted /params/name']],
  ['a call without a name', call({ name: '', tool: undefined }), ['call/unlisted /params/name']],
  ['a denied tool', call({ denied: true, checked: undefined }), ['call/denied /params/name']],
  ['a denied tool that is not listed either', call({ denied: true, tool: undefined }), ['call/denied /params/name']],
  ['no list', call({ tool: undefined, listed: false, checked: undefined }), ['call/unchecked /params/arguments']],
  ['no list, but a denied tool', call({ tool: undefined, listed: false, denied: true }), ['call/denied /params/name']],
  ['arguments that break only a format', call({ checked: problems.filter(({ kind }) => kind === 'format') }), []],
  ['every kind of problem', call({ tool: tool(), checked: problems }), [
    'call/arguments /params/arguments/mismatch',
    'call/unchecked /params/arguments/unchecked',
    'call/unchecked /params/arguments/schema',
    'call/unchecked /params/arguments/external-ref',
    'call/unchecked /params/arguments/cost',
  ]],
]

t.test('call/*: what is wrong with a call', t => {
  for (const [title, subject, found] of cases) {
    t.same(all.onCall(subject).map(({ rule, path }) => `${rule} ${path}`), found, title)
  }
  t.end()
})
