import fc from 'fast-check'
import t from 'tap'
import { Budget, Exhausted } from '#relay/schema/budget.js'
import { parseAs, parsePattern } from '#relay/schema/pattern/parse.js'
import { compilePattern, isPattern, CompiledPattern } from '#relay/schema/pattern/pattern.js'

const plenty = () => new Budget(100_000_000)

const engineOf = (source: string): string => {
  const pattern = compilePattern(source, plenty())
  return pattern === undefined
    ? 'invalid'
    : parsePattern(source, plenty())?.refers === true ? 'backtracker' : 'automaton'
}

const engines: readonly (readonly [string, readonly string[]])[] = [
  ['automaton', [
    '^[A-Za-z][A-Za-z .\'-]{0,63}$', '^[\\w-.]+@[\\w-.]+$', '^\\p{L}+$', '[^\\p{Lu}\\d]', '^(a+)+$', '(a*)*b',
    '.*foo', '\\s+$', '(?<n>a+)', '\\ud83d', '', '^', '(?:a{0,30}){0,30}$',
    '^((a{0,9}){0,9}){0,9}$', 'a{1001}b*c*b', `^${'(a|b)*'.repeat(500)}`, '^(?=a)a+$', '(?<!a)b', '^(?!x)',
    '\\bfoo\\b',
  ]],
  ['backtracker', ['(a)\\1', '(?<n>a+)\\k<n>', '(?=(a))\\1']],
  ['invalid', ['(', '[', 'a**', '(?i)a', '\\', '(?<a>x)(?<a>y)', '\\p{Nonsense}', 'a{2,1}', '(?<=a)*']],
]

t.test('a pattern is matched by automata, one with back references by trying', t => {
  // Nonsense is a letter p in the older syntax.
  for (const [engine, sources] of engines) {
    for (const source of sources) {
      t.equal(engineOf(source), source === '\\p{Nonsense}' ? 'automaton' : engine, source)
    }
  }
  t.end()
})

/** Patterns of what JSON Schemas use, well formed by construction. */
const atom = fc.constantFrom(
  'a', 'b', '.', '[ab]', '[^a]', '\\d', '\\w', '\\s', '\\W', '\\S', '[\\s\\d]', '[^\\W\\d]', '\\n', '\\u00e9',
  'é', '😀', '[a-z]', '\\.', '[\\]\\-]', '\\x41', '\\cA', '[]', '[^]', '[^😀]', '\\ud83d',
  '\\p{L}', '\\P{L}', '[^\\p{Lu}a]',
)
const odd = fc.constantFrom('(?=a)', '(?!b)', '(?<=a)', '(?<!b)', '\\b', '\\B', '\\1', '(?=[^]*b)')
const { pattern } = fc.letrec<{ pattern: string; term: string }>(tie => ({
  term: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(atom, fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '*?', '+?', '{0}'))
      .map(parts => parts.join('')),
    odd,
    fc.tuple(
      fc.constantFrom('(', '(?:'), tie('pattern'), fc.constantFrom(')', ')*', ')+', ')?', '){2}', ')+?'),
    ).map(parts => parts.join('')),
    fc.tuple(fc.constantFrom('(?=', '(?!', '(?<=', '(?<!'), tie('pattern'), fc.constant(')')).map(parts =>
      parts.join('')),
  ),
  pattern: fc.tuple(
    fc.constantFrom('', '', '^'),
    fc.array(tie('term'), { maxLength: 3 }),
    fc.constantFrom('', '', '$'),
    fc.option(tie('term'), { nil: undefined, freq: 4 }),
  ).map(([start, terms, end, other]) =>
    start + terms.join('') + end + (other === undefined ? '' : `|${other}`)),
}))
const text = fc.array(fc.constantFrom(
  'a', 'b', 'a', 'b', 'A', '1', '_', ' ', '\n', '\u2028', '\ufeff', 'é', '😀', '\ud83d', '\ude00', '-', ']',
  'ſ',
), { maxLength: 6 })
  .map(chars => chars.join(''))

/** V8 looks inside of surrogate pairs, where ECMA-262 never does. */
const isWithinPair = (text: string, at: number): boolean =>
  /[\ud800-\udbff]$/.test(text.slice(0, at)) && /^[\udc00-\udfff]/.test(text.slice(at))

const nativeOf = (source: string, unicode: boolean): RegExp | undefined => {
  try {
    return new RegExp(source, unicode ? 'u' : '')
  } catch {
    return undefined
  }
}

t.test('both mean what ECMA-262 means', t => {
  const compared = { automaton: 0, backtracker: 0 }
  fc.assert(
    fc.property(pattern, fc.boolean(), fc.array(
      text, { minLength: 1, maxLength: 8 },
    ), (source, unicode, texts) => {
      const native = nativeOf(source, unicode)
      const parsed = parseAs(source, unicode, plenty())
      if ((native === undefined) !== (parsed === undefined)) {
        throw new Error(`${source} is ${parsed ? 'a' : 'no'} pattern`)
      }
      if (native === undefined || parsed === undefined) return
      const backtracker = new CompiledPattern({ ...parsed, refers: true })
      const automaton = parsed.refers ? undefined : new CompiledPattern(parsed)
      for (const one of texts) {
        const found = native.exec(one)
        if (unicode && found && isWithinPair(one, found.index)) continue
        const expected = found !== null
        const tell = (which: string) => JSON.stringify({ which, source, unicode, one, expected })
        if (automaton) {
          compared.automaton++
          if (automaton.test(one, plenty()) !== expected) throw new Error(tell('automaton'))
        }
        try {
          if (backtracker.test(one, new Budget(100_000)) !== expected) throw new Error(tell('backtracker'))
          compared.backtracker++
        } catch (error) {
          if (!(error instanceof Exhausted)) throw error
          backtracker.overran = false
        }
      }
    }),
    { numRuns: 5000 },
  )
  t.ok(compared.automaton > 2000 && compared.backtracker > 10_000, JSON.stringify(compared))
  t.end()
})

t.test('the native engine decides what is a pattern', t => {
  const tokens = [
    'a', 'b', ...'()[]{}*+?|\\^$.-,120789dwpuxkc<>=!:é/_'.split(''), '(?', '(?<', '(?=', '(?<!', '\\1',
    '\\k<a>', '(?<a>', '\\u{61}', '\\ud83d', '\\ude00', '😀', '\\p{L}', '\\p{Lx}', '\\x41', '\\cA', '\\c',
    '{1,}', '{2,1}', '\\01',
  ]
  let valid = 0
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...tokens), { maxLength: 8 }), chosen => {
      const source = chosen.join('')
      for (const unicode of [true, false]) {
        const native = nativeOf(source, unicode) !== undefined
        if (native) valid++
        if ((parseAs(source, unicode, plenty()) !== undefined) !== native) {
          throw new Error(JSON.stringify({ source, unicode, native }))
        }
      }
    }),
    { numRuns: 20_000 },
  )
  t.ok(valid > 3000, `${valid} valid`)
  t.end()
})

const spent = (work: (budget: Budget) => unknown): number => {
  const budget = new Budget(1_000_000_000)
  work(budget)
  return 1_000_000_000 - budget.left
}

t.test('an automaton takes steps in proportion to the text, whatever the pattern', t => {
  const sources = [
    '^(a+)+$', '(a|a)*b', '^(.*)(.*)(.*)$', '(a|b)*a(a|b){12}c', '^((a{0,20}){0,20})$', '\\s*\\s*\\s*x',
    '(?:a?){30}a{30}', '[\\p{L}a]*b',
  ]
  for (const source of sources) {
    const pattern = compilePattern(source, plenty())
    for (const unit of ['a', 'ab', 'é', ' ']) {
      const [short, long] = [1000, 10_000].map(length =>
        spent(budget => pattern?.test(unit.repeat(length), budget)))
      t.ok((long ?? 0) <= 11 * (short ?? 0) + 10_000, `${source} ${unit}: ${short} and ${long}`)
    }
  }
  t.end()
})

t.test('reading a pattern costs in proportion to its length, and a property class once', t => {
  for (const source of [
    '[\\P{L}'.padEnd(40_000, '\\P{L}') + ']', `^${'\\p{L}'.repeat(8000)}`,
    '('.repeat(200) + 'a'.repeat(50_000),
  ]) {
    t.ok(spent(budget => isPattern(source, budget)) < 150 * source.length)
  }
  t.end()
})

t.test('a pattern that overran once is given less time again', t => {
  const pattern = compilePattern('^((a+)+)\\1!$', plenty())
  const hopeless = 'a'.repeat(60)
  const overrun = (steps: number): number => {
    const budget = new Budget(steps)
    try {
      pattern?.test(hopeless, budget)
      return NaN
    } catch (error) {
      return error instanceof Exhausted && error.pattern === pattern ? steps - budget.left : NaN
    }
  }
  t.ok(overrun(1_000_000) >= 1_000_000)
  if (pattern instanceof CompiledPattern) pattern.overran = true
  t.ok(overrun(1_000_000) < 200_000)
  t.equal(pattern?.test('aa!', plenty()), true, 'what is easy is matched all the same')
  t.end()
})
