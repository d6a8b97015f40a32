import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { difference, edit, type Edit } from '#relay/protocol/edit.js'
import { Meter } from '#relay/protocol/json.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { onOneLine, slice, onlyContainer, type Path } from '#relay/protocol/scan.js'
import { equal, isRecord, parseData, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { model, picks, valueOf, write, type Model } from './json-text.js'

const cut = (text: string, ...path: Path): string | undefined =>
  slice({ bytes: Buffer.from(text), message: { kind: 'unusable', keys: [] }, faults: [] }, path)?.toString()
const change = (text: string, ...edits: readonly Edit[]): string => edit(Buffer.from(text), edits).toString()
const remove = (...path: Path): Edit => ({ path, remove: true })
const replace = (replacement: string | Buffer, ...path: Path): Edit => ({ path, replace: replacement })

t.test('a slice is the raw text of the value', async t => {
  const text = ' { "a" : [ 1.0 , { "b\\u0063" : "x\\"}" } , [ ] ] , "d":-1e5,"e" :"é😀", "d": true }\r'
  const cases = [
    [['a'], '[ 1.0 , { "b\\u0063" : "x\\"}" } , [ ] ]'],
    [['a', 0], '1.0'],
    [['a', 1], '{ "b\\u0063" : "x\\"}" }'],
    [['a', 1, 'bc'], '"x\\"}"'],
    [['a', 2], '[ ]'],
    [['e'], '"é😀"'],
    [[], text.trim()],
    [['d'], 'true'],
    [['a', 3], undefined],
    [['a', '0'], undefined],
    [['a', 'length'], undefined],
    [[0], undefined],
    [['e', 0], undefined],
    [['constructor'], undefined],
    [['a', 1, 'bc', 'x'], undefined],
  ] as const
  for (const [path, expected] of cases) t.equal(cut(text, ...path), expected, path.join('/'))
})

t.test('a removal also removes one comma and its white space', async t => {
  const cases = [
    ['{"a":1,"b":2,"c":3}', [remove('a')], '{"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', [remove('b')], '{"a":1,"c":3}'],
    ['{"a":1,"b":2,"c":3}', [remove('c')], '{"a":1,"b":2}'],
    ['{"a":1,"b":2,"c":3}', [remove('a'), remove('b')], '{"c":3}'],
    ['{"a":1,"b":2,"c":3}', [remove('c'), remove('a')], '{"b":2}'],
    ['{"a":1,"b":2,"c":3}', [remove('b'), remove('c')], '{"a":1}'],
    ['{"a":1,"b":2,"c":3}', [remove('a'), remove('b'), remove('c')], '{}'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', [remove('a')], '{ "b" : 2 , "c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', [remove('b')], '{ "a" : 1 , "c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', [remove('c')], '{ "a" : 1 , "b" : 2 }'],
    ['{\n  "a": 1,\n  "b": 2\n}\n', [remove('b')], '{\n  "a": 1\n}\n'],
    ['[1,[2,3],{"a":4}]', [remove(1)], '[1,{"a":4}]'],
    ['[1,[2,3],{"a":4}]', [remove(0), remove(2), remove(1, 0)], '[[3]]'],
    ['[1,2]', [remove(2)], '[1,2]'],
    ['{"a":1,"b":2,"a":3}', [remove('a')], '{"b":2}'],
    ['{"\\u0061":1,"b":"}"}', [remove('a')], '{"b":"}"}'],
    ['{"a":1}', [remove('b')], '{"a":1}'],
    ['{"a":1}', [remove('a', 'b')], '{"a":1}'],
    ['{"a":{"b":1,"c":2},"d":3}', [remove('a', 'b'), remove('d')], '{"a":{"c":2}}'],
    ['{"a":{"b":1}}', [remove('a'), remove('a', 'b')], '{}'],
  ] as const
  for (const [text, edits, expected] of cases) {
    t.equal(change(text, ...edits), expected, `${text} ${JSON.stringify(edits)}`)
  }
})

t.test('an array that keeps its first elements loses the others with the commas before them', async t => {
  const keep = (length: number, ...path: Path): Edit => ({ path, length })
  const cases = [
    ['{"a":[1, 2 , 3 ],"b":4}', [keep(2, 'a')], '{"a":[1, 2],"b":4}'],
    ['{"a":[1, 2 , 3 ],"b":4}', [keep(0, 'a')], '{"a":[],"b":4}'],
    ['{"a":[1,2]}', [keep(2, 'a')], '{"a":[1,2]}'],
    ['{"a":[1,2]}', [keep(7, 'a')], '{"a":[1,2]}'],
    ['{"a":[1,2,3,4]}', [keep(3, 'a'), remove('a', 0), replace('9', 'a', 1)], '{"a":[9,3]}'],
    ['{"a":[1,2,3]}', [remove('a', 0), keep(1, 'a')], '{"a":[]}'],
    ['[[1,[2,3]],4]', [keep(1, 0, 1), keep(1)], '[[1,[2]]]'],
  ] as const
  for (const [text, edits, expected] of cases) {
    t.equal(change(text, ...edits), expected, `${text} ${JSON.stringify(edits)}`)
  }
})

t.test('a replacement stands in the place of the value, or at the end', async t => {
  const cases = [
    ['{"a" : 1 , "b":2}', [replace('[ ]', 'a')], '{"a" : [ ] , "b":2}'],
    ['{"a":1,"a":2}', [replace('3', 'a')], '{"a":3,"a":3}'],
    ['{"a":{"b":[0,1]}}', [replace(Buffer.from('"é"'), 'a', 'b', 1)], '{"a":{"b":[0,"é"]}}'],
    ['{"a":1}', [replace('2', 'b')], '{"a":1,"b":2}'],
    ['{}', [replace('2', 'b\n')], '{"b\\n":2}'],
    [' { } ', [replace('2', 'b')], ' {"b":2 } '],
    ['{"a":1}', [replace('2', 'b'), remove('a')], '{"b":2}'],
    ['{ "a" : 1 }', [remove('a'), replace('2', 'b'), replace('3', 'c')], '{ "b":2,"c":3 }'],
    ['{"a":1,"z":0}', [replace('2', 'b'), remove('z')], '{"a":1,"b":2}'],
    ['[1]', [replace('2', 1), replace('3', 2)], '[1,2,3]'],
    ['[]', [replace('2', 0)], '[2]'],
    ['[1]', [replace('2', 5), replace('2', 'a')], '[1]'],
    ['{"a":1}', [replace('2', 0)], '{"a":1}'],
    ['{"a":1}', [replace('2', 'b', 'c')], '{"a":1}'],
    ['{"a":1}', [replace('2', 'a'), replace('3', 'a')], '{"a":3}'],
    ['{"a":1}', [remove('a'), replace('3', 'a')], '{"a":3}'],
    ['{"a":{"b":1}}', [replace('2', 'a', 'b'), replace('{"c":0}', 'a')], '{"a":{"c":0}}'],
    [' 1 ', [replace('2')], ' 2 '],
    ['{"a":1}', [], '{"a":1}'],
  ] as const
  for (const [text, edits, expected] of cases) {
    t.equal(change(text, ...edits), expected, `${text} ${JSON.stringify(edits)}`)
  }
})

t.test('line ends between tokens become spaces', async t => {
  t.equal(onOneLine(Buffer.from('{\r\n "a\\n": [1,\n2]\r}')).toString(), '{   "a\\n": [1, 2] }')
  t.equal(
    onOneLine(Buffer.from('{"a":\r1}\r')).toString(), '{"a": 1}\r', 'but for a carriage return at the end',
  )
  for (const text of ['{"a":1}', '{"a":1}\r']) {
    const bytes = Buffer.from(text)
    t.equal(onOneLine(bytes), bytes, 'nothing is copied where there is none')
  }
})

t.test('the result of a message that was read is cut out from both ends, and is the same', async t => {
  const filler = 'x'.repeat(5000)
  const tricky = `{"id":7,"a":"\\\\","b":"\\",\\"id\\":8}","c":[{"id":9}],"d":"${filler}"}`
  const cases = [
    [`{"jsonrpc":"2.0","id":1,"result":${tricky}}`, 'result'],
    [`{"jsonrpc":"2.0","id":1,"result": ${tricky} } \r`, 'result'],
    [`{"result":${tricky},"jsonrpc":"2.0","id":1}`, 'result'],
    [`{"result":${tricky} , "jsonrpc" : "2.0" , "id" : "a\\"}b\\\\" }`, 'result'],
    [`{"result":${tricky},"x":true,"y":null,"jsonrpc":"2.0","id":-1.5e1}`, 'result'],
    [`{"id":1,"result":${tricky},"jsonrpc":"2.0","x":"${'y'.repeat(3000)}"}`, 'result'],
    [`{"id":1,"result":${tricky},"jsonrpc":"2.0","x":{"result":1}}`, 'result'],
    [`{"jsonrpc":"2.0","method":"m","params":${tricky},"id":1}`, 'params'],
    [`{"jsonrpc":"2.0","m\\u0065thod":"m","p\\u0061rams":${tricky}}`, 'params'],
  ] as const
  for (const [text, key] of cases) {
    const frame = parseFrame(Buffer.from(text), { messageBytes: 1e6, depth: 10 })
    t.same(frame.faults, [])
    t.equal(slice(frame, [key])?.toString(), tricky)
    t.equal(slice(frame, [key, 'c', 0, 'id'])?.toString(), '9')
    t.equal(slice(frame, ['jsonrpc'])?.toString(), '"2.0"')
    t.equal(slice(frame, ['error']), undefined)
  }
  const twice = parseFrame(
    Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"${filler}"},"result":{}}`),
    { messageBytes: 1e6, depth: 10 },
  )
  t.equal(slice(twice, ['result'])?.toString(), '{}', 'of two results the one that was read')
})

/** Every path into a model. */
const paths = (value: Model, at: Path = []): readonly Path[] => {
  const below =
    value.kind === 'array'
      ? value.elements.flatMap((one, index) => paths(one, [...at, index]))
      : value.kind === 'object'
        ? value.members.flatMap(([key, one]) => paths(one, [...at, key]))
        : []
  return [at, ...below]
}

/** The same change, made on the model. */
const changed = (value: Model, edits: ReadonlyMap<string, Edit>, at: Path = []): Model | undefined => {
  const mine = edits.get(JSON.stringify(at))
  if (mine !== undefined) return 'remove' in mine ? undefined : { kind: 'string', value: 'new' }
  if (value.kind === 'array') {
    const elements = value.elements.map((one, index) => changed(one, edits, [...at, index]))
    return { kind: 'array', elements: elements.filter(one => one !== undefined) }
  }
  if (value.kind !== 'object') return value
  const members = value.members.map(([key, one]) => [key, changed(one, edits, [...at, key])] as const)
  return {
    kind: 'object',
    members: members.flatMap(([key, one]) => (one === undefined ? [] : [[key, one] as const])),
  }
}

/** The JSON text without white space between tokens: what no edit but its own may touch. */
const tokens = (text: string): string => (text.match(/"(?:[^"\\]|\\.)*"|[^\s"]+/gs) ?? []).join('')

t.test('an edit changes the text as it changes the value, and all other tokens keep their bytes', async () => {
  fc.assert(
    fc.property(model, picks, fc.array(
      fc.tuple(fc.nat(), fc.boolean()), { maxLength: 4 },
    ), (value, from, chosen) => {
      const text = write(value, from())
      const all = paths(value)
      const edits = new Map(
        chosen.map(([at, gone]): [string, Edit] => {
          const path = all[at % all.length] ?? []
          return [JSON.stringify(path), gone && path.length > 0 ? remove(...path) : replace('"new"', ...path)]
        }),
      )
      const after = change(text, ...edits.values())
      const expected = changed(value, edits)
      assert.ok(expected)
      assert.equal(JSON.stringify(JSON.parse(after)), JSON.stringify(valueOf(expected)))
      for (const path of all) {
        const whole = JSON.stringify(valueOf(value)) === JSON.stringify(valueOf(expected))
        if (whole) assert.equal(tokens(cut(after, ...path) ?? ''), tokens(cut(text, ...path) ?? ''))
      }
    }),
    { numRuns: 500 },
  )
})

t.test('a value replaced by itself leaves every byte as it was, and every slice is what JSON.parse reads', async () => {
  fc.assert(
    fc.property(model, picks, (value, from) => {
      const text = write(value, from())
      for (const path of paths(value)) {
        const raw = cut(text, ...path)
        assert.ok(raw !== undefined)
        assert.equal(change(text, replace(raw, ...path)), text)
        const there = path.reduce<Model | undefined>(
          (one, step) =>
            one?.kind === 'object'
              ? one.members.find(([key]) => key === step)?.[1]
              : one?.kind === 'array' ? one.elements[Number(step)] : one,
          value,
        )
        assert.ok(there)
        assert.equal(JSON.stringify(JSON.parse(raw)), JSON.stringify(valueOf(there)))
      }
    }),
    { numRuns: 300 },
  )
})

t.test('a message that was read is cut as any other text is', async () => {
  const string = (value: string): Model => ({ kind: 'string', value })
  const small = model.filter(({ kind }) => kind === 'scalar' || kind === 'string')
  const others = fc.uniqueArray(
    fc.tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), small),
    { selector: ([name]) => name, maxLength: 4 },
  )
  const inner = fc.oneof(
    fc.constant<Model>({ kind: 'object', members: [] }), model.filter(({ kind }) => kind === 'object'),
  )
  let cutFromBothEnds = 0
  fc.assert(
    fc.property(inner, others, fc.boolean(), fc.nat(6), picks, (result, more, last, place, from) => {
      const usual: (readonly [string, Model])[] = [
        ['jsonrpc', string('2.0')], ['id', { kind: 'scalar', value: 7 }],
      ]
      const rest = [
        ...usual, ...more.filter(([name]) => !['jsonrpc', 'id', 'method', 'result', 'error'].includes(name)),
      ]
      const at = last ? rest.length : place % (rest.length + 1)
      const message: Model = {
        kind: 'object', members: [...rest.slice(0, at), ['result', result], ...rest.slice(at)],
      }
      const text = write(message, from())
      const frame = parseFrame(Buffer.from(text), { messageBytes: 1e6, depth: 100 })
      if (onlyContainer(frame) !== undefined) cutFromBothEnds++
      for (const path of paths(message)) assert.equal(slice(frame, path)?.toString(), cut(text, ...path))
    }),
    { numRuns: 1000 },
  )
  assert.ok(cutFromBothEnds > 300, `${cutFromBothEnds} of 1000`)
})

t.test('a removal keeps the bytes of the neighbours', async () => {
  fc.assert(
    fc.property(fc.array(
      model, { minLength: 1, maxLength: 6 },
    ), fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), picks, (values, gone, from) => {
      const text = write({ kind: 'array', elements: values }, from())
      const raw = values.map((_, index) => cut(text, index))
      const after =
        change(text, ...values.flatMap((_, index) => (gone[index] === true ? [remove(index)] : [])))
      const kept = raw.filter((_, index) => gone[index] !== true)
      assert.deepEqual(kept.map((_, index) => cut(after, index)), kept)
      assert.equal(cut(after, kept.length), undefined)
      JSON.parse(after)
    }),
    { numRuns: 300 },
  )
})

t.test('whatever the bytes, nothing is thrown', async () => {
  const soup = fc.array(
    fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', 'a', '1', ' ', '"a"'), { maxLength: 30 },
  )
  fc.assert(
    fc.property(soup, parts => {
      const bytes = Buffer.from(parts.join(''))
      cut(parts.join(''), 'a', 0)
      edit(
        bytes,
        [remove('a'), replace('1', 'b'), remove(0), { path: ['a'], length: 1 }, { path: [], length: 2 }],
      )
      onOneLine(bytes)
    }),
    { numRuns: 1000 },
  )
})

const one = { x: 1 }
const two = { x: 2 }

type Difference =
  readonly [title: string, text: string, after: (before: DataObject) => DataObject, made: string | undefined]

const differences: readonly Difference[] = [
  ['nothing', '{"a": 1.0 }', before => before, '{"a": 1.0 }'],
  ['a member that comes', '{ "a": 1.0 }', before => ({ ...before, b: [] }), '{ "a": 1.0,"b":[] }'],
  ['a member that goes', '{ "a": 1.0, "b" : 1E2 }', ({ b }) => ({ b }), '{ "b" : 1E2 }'],
  ['what is deep', '{"a":{"b" :[1.0,{"c":null}]},"d":12345678901234567890}', before => ({
    ...before, a: { b: [1, { c: 2 }] },
  }),
  '{"a":{"b" :[1.0,{"c":2}]},"d":12345678901234567890}'],
  ['an element that comes', '{"a":[ {} ]}', ({ a }) => ({ a: [...(a as Data[]), 'b'] }), '{"a":[ {},"b" ]}'],
  [
    'elements that go', '{"a":[ 0.0, {"b":1e0}, 2 ]}', ({ a }) => ({ a: [(a as Data[])[1] ?? null] }),
    '{"a":[ {"b":1e0} ]}',
  ],
  ['other elements', '{"a":[1,2,3]}', () => ({ a: [one, two] }), '{"a":[{"x":1},{"x":2}]}'],
  [
    'a number that we would spell otherwise', '{"a":{"b":12345678901234567890}}', ({ a }) => ({ c: a }),
    undefined,
  ],
  ['half a pair', '{"a":"\\ud800"}', ({ a }) => ({ c: a }), undefined],
  [
    'what is nested without measure', '{}', () => ({ a: parseData('['.repeat(200) + ']'.repeat(200)) }),
    undefined,
  ],
]

t.test('the changes from one value to another leave all other bytes as they are', t => {
  for (const [title, text, after, made] of differences) {
    const before = parseData(text)
    const edits = isRecord(before) ? difference(before, after(before), new Meter()) : []
    t.equal(edits && edit(Buffer.from(text), edits).toString(), made, title)
  }
  t.end()
})

const json: fc.Arbitrary<Data> = fc.letrec<{ value: Data }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.constantFrom('a', 'b'), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), tie('value'), { maxKeys: 4 }),
  ),
})).value

t.test('made, they make of the one text the other value', t => {
  const object = json.filter(isRecord)
  fc.assert(fc.property(object, object, (before, after) => {
    const edits = difference(before, after, new Meter())
    const made = parseData(edit(Buffer.from(JSON.stringify(before)), edits ?? []).toString())
    return edits !== undefined && equal(made, after)
  }), { numRuns: 2000 })
  t.end()
})
