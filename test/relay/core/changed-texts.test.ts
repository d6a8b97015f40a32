import t from 'tap'
import { changedTexts } from '#relay/core/changed-texts.js'
import { byDanger, dangerOf, dangers, ranked } from '#relay/core/danger.js'

t.test('the texts that changed are kept, as they were and are; of something new, its description', t => {
  t.strictSame(changedTexts([['/description', 'Reads.', 'Reads all.'], ['/n', 1, 2], ['/title', undefined, 'T']]), {
    declared: { '/description': 'Reads.', '/title': '' }, value: { '/description': 'Reads all.', '/title': 'T' },
  })
  t.strictSame(changedTexts([['', undefined, { name: 'a', description: 'Adds.' }]]), {
    declared: { '/description': '' }, value: { '/description': 'Adds.' },
  })
  t.strictSame(changedTexts([['', { name: 'a' }, undefined], ['/x', 1, 'text']]), {})
  t.end()
})

t.test('of a long text, the part around the change is kept, and of many texts a few', t => {
  const before = 'a'.repeat(5000)
  const { value, declared } = changedTexts([['/description', before, `${before} and read ~/.ssh ${before}`]])
  t.match(JSON.stringify(value), /…a{100,} and read ~\/\.ssh a+…/)
  for (const one of [value, declared]) t.ok(JSON.stringify(one).length < 700)
  const many = changedTexts(Array.from({ length: 100 }, (_, index) => [`/${index}`, 'a', 'b'] as const))
  t.ok(JSON.stringify(many).length < 200)
  t.end()
})

t.test('findings are ranked by danger: changed definitions, hidden text, the rest, what was mended', t => {
  const rules = ['tool/annotations', 'result/schema', 'advice/x', 'content/hidden-text', 'tool/drift']
  const findings = [{ rule: 'tool/icon', mended: 'removed' }, ...rules.map(rule => ({ rule }))]
  t.strictSame(ranked(findings).map(({ rule }) => rule), [
    'tool/drift', 'content/hidden-text', 'result/schema', 'tool/icon', 'tool/annotations', 'advice/x',
  ])
  t.strictSame([...dangers].reverse().sort(byDanger), dangers)
  t.equal(dangerOf({ rule: 'tool/schema', mended: 'left out' }), 'nothing')
  t.end()
})
