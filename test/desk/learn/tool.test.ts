import t from 'tap'
import { defaultLimits } from '#relay/config/configuration.js'
import { LearntTool, type Contract } from '#desk/learn/tool.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import { createSchemaChecker } from '#relay/schema/index.js'

const checker = createSchemaChecker(defaultLimits)
t.teardown(() => checker.close())

const block = (text: string) => ({ type: 'text', text })
const says = (...texts: readonly string[]): DataObject => ({ content: texts.map(block) })
const png = { type: 'image', data: 'aGk=', mimeType: 'image/png' }
const many = (count: number, make: (index: number) => DataObject): readonly DataObject[] =>
  Array.from({ length: count }, (_, index) => make(index))

const contractOf = (results: readonly DataObject[]): Contract | undefined => {
  const tool = new LearntTool()
  for (const result of results) tool.see(result)
  return tool.contract({ strict: false })
}

const breaks = async (contract: Contract | undefined, result: DataObject) =>
  (await checker.check({ kind: 'value', schema: contract?.resultSchema ?? false, value: result, path: '' }))
    .length > 0

t.test('the source of a contract', t => {
  const data = { a: 1 }
  const cases = [
    ['structured content', many(5, () => ({ ...says('x'), structuredContent: data })), 'structured', true],
    ['JSON in the one text block', many(5, () => says('{"a":1}')), 'from-text', true],
    ['JSON beside a picture', many(5, () => ({ content: [block('{"a":1}'), png] })), 'from-text', true],
    ['JSON beside prose', many(5, () => says('{"a":1}', 'x')), 'from-text', true],
    ['JSON in two text blocks', many(5, () => says('{"a":1}', '{"a":2}')), 'prose', false],
    ['JSON now and then', [...many(5, () => says('{"a":1}')), says('none')], 'prose', false],
    [
      'a list, which no legacy client takes for structured content', many(5, () => says('[1]')), 'prose',
      false,
    ],
    ['too few calls to block by', many(4, () => says('{"a":1}')), 'from-text', false],
  ] as const
  for (const [name, results, source, hasOutputSchema] of cases) {
    const contract = contractOf(results)
    t.equal(contract?.source, source, name)
    t.equal(contract?.outputSchema !== undefined, hasOutputSchema, name)
  }
  t.equal(contractOf([{ ...says('failed'), isError: true }]), undefined, 'errors have nothing in common')
  t.end()
})

t.test('how sure it is', t => {
  const growing = (index: number) => says(JSON.stringify({ [index < 19 ? 'a' : 'b']: 1 }))
  t.equal(contractOf(many(4, () => says('x')))?.sureness, 'few')
  t.equal(contractOf(many(19, () => says('x')))?.sureness, 'fair')
  t.equal(contractOf(many(20, () => says('x')))?.sureness, 'good')
  t.equal(contractOf(many(20, growing))?.sureness, 'fair')
  t.end()
})

t.test('blocks, their order, their media types and sizes', async t => {
  const picture = contractOf(many(20, () => ({ content: [block('Here it is.'), png] })))
  t.notOk(await breaks(picture, { content: [block('There it is.'), png] }))
  t.notOk(await breaks(
    picture, { ...says('It failed, for a long reason that nobody has seen before.'), isError: true },
  ), 'errors are told apart')
  for (const result of [
    { content: [png, block('Here it is.')] },
    { content: [block('Here it is.')] },
    { content: [block('Here it is.'), png, png] },
    { content: [block('Here it is.'), { ...png, mimeType: 'image/svg+xml' }] },
    { content: [block('Here it is. '.repeat(10)), png] },
    { content: [{ type: 'text' }, png] },
    {},
  ]) t.ok(await breaks(picture, result), JSON.stringify(result))
  const list = contractOf(many(40, index => says(...many(1 + (index % 10), () => ({})).map(() => 'row'))))
  t.notOk(await breaks(list, says(...many(15, () => ({})).map(() => 'row'))), 'a list has room to grow')
  t.ok(await breaks(list, says(...many(99, () => ({})).map(() => 'row'))))
})
