import t from 'tap'
import { parseYaml as parse } from '../../dist/config/yaml-text.js'

const parseYaml = async (text: string) => (await parse(text)).data

t.test('YAML reads as plain data', async t => {
  t.strictSame(await parseYaml('a: [1, x]\nb: { c: yes, d: true, e: null }\nf: 127.0.0.1:7400\n__proto__: { g: 1 }\n'), {
    a: [1, 'x'],
    b: { c: 'yes', d: true, e: null },
    f: '127.0.0.1:7400',
    ['__proto__']: { g: 1 },
  })
  t.strictSame(await parseYaml('x: &shared { a: 1 }\ny: *shared\n'), { x: { a: 1 }, y: { a: 1 } }, 'anchors may be shared')
  t.strictSame(await parseYaml(`a:\n${'- \n'.repeat(500)}`), { a: Array(500).fill(null) }, 'a long list is not deep')
})

const bomb = `a: &a0 [x, x, x, x, x, x, x, x, x]\n${
  Array.from({ length: 8 }, (_, at) => `b${at}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(', ')}]\n`).join('')}`

const wrong = [
  ['a key that stands twice', 'a: 1\nb:\n  c: 1\n  c: 2\n', { line: 4, column: 3 }, /the key "c" stands here twice/],
  ['an indentation by tabs', 'a:\n\tb: 1\n', { line: 2, column: 1 }, /Tab/],
  ['a missing quote', 'a: "x\n', { line: 2, column: 1 }, /quote/],
  ['a second document', 'a: 1\n---\nb: 1\n', { line: 2, column: 1 }, /multiple documents/],
  ['an unknown tag', 'a: !shell rm\n', { line: 1, column: 4 }, /tag/],
  ['a key that is a list', '? [1]\n: 2\n', { line: 1, column: 3 }, /keys must be strings/],
  ['an alias of nothing', 'a: *nowhere\n', undefined, /nowhere/],
  ['a bomb of aliases', bomb, undefined, /alias/],
  ['a loop', 'a: &a [*a]\n', undefined, /JSON cannot say/],
  ['an infinity', 'a: .inf\n', undefined, /JSON cannot say/],
  ['a date', 'a: !!timestamp 2026-01-01\n', undefined, /JSON cannot say/],
  ['a tower of brackets', `a: ${'['.repeat(100_000)}`, undefined, /deeper than 200/],
  ['a tower of dashes', '- '.repeat(100_000), undefined, /deeper than 200/],
] as const

for (const [name, text, place, message] of wrong) {
  t.test(`${name} is refused`, async t => {
    const found: unknown = await parseYaml(text).catch((error: unknown) => error)
    t.match(found, { name: 'SyntaxProblem', message })
    t.strictSame((found as { place?: unknown }).place, place)
  })
}

t.test('very many keys take no time to speak of', async t => {
  const text = Array.from({ length: 20_000 }, (_, at) => `k${at}: 1\n`).join('')
  t.equal(Object.keys((await parseYaml(text)) as object).length, 20_000)
})
