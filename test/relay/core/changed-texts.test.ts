import t from 'tap'
import { changedTexts, excerpt } from '#relay/core/changed-texts.js'
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

t.test('an excerpt of a long text has no part of a credential that begins before it', t => {
  const letters = (length: number): string =>
    Array.from({ length }, (_, index) => String.fromCharCode(97 + ((index * index + 3 * index) % 26))).join('')
  const filler = 'word '.repeat(200)
  const key = letters(1200)
  const forms: readonly ((secret: string) => string)[] = [
    secret => `Sends eyJhbGciOiJIUzI1NiJ9.${secret}.x . ${filler}`,
    secret => `${filler}-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----`,
    secret => `${filler}ghp_${secret} ${filler}`,
    secret => `Bearer ${secret} ${filler}`,
    secret => `${filler}password=${secret} ${filler}`,
    secret => `${filler}https://user:${secret}@host/ ${filler}`,
  ]
  for (const form of forms) {
    for (const at of [1, 200, 590, 1100]) {
      const changed = `${key.slice(0, at)}0${key.slice(at + 1)}`
      const record = JSON.stringify(changedTexts([['/description', form(key), form(changed)]]))
      const pieces = Array.from({ length: key.length - 12 }, (_, index) => key.slice(index, index + 12))
      t.notOk(pieces.some(piece => record.includes(piece)), `${form('…').trim().slice(0, 20)} at ${at}`)
      t.notOk(excerpt(form(key), form('').length + at).includes(key.slice(at, at + 12)))
    }
  }
  t.end()
})

t.test('the part around a change is found behind a credential that was taken out', t => {
  const text = (end: string) => `token=${'a'.repeat(3000)} ${'word '.repeat(300)}${end} ${'word '.repeat(300)}`
  const { value } = changedTexts([['/description', text('Reads.'), text('Sends.')]])
  t.match(JSON.stringify(value), /…[a-z ]+ Sends\. word/)
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
