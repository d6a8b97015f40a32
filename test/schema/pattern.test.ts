import fc from 'fast-check'
import t from 'tap'
import { stepsPerCharacter } from '../../dist/schema/pattern/linear.js'
import { compileRe2 } from '../../dist/schema/pattern/re2.js'
import { parsePattern } from '../../dist/schema/pattern/syntax.js'
import { compilePattern, isPattern } from '../../dist/schema/pattern.js'

/** Where a pattern is matched. */
const place = (source: string): string => {
  const pattern = compilePattern(source)
  if (pattern === undefined) return 'invalid'
  if (!pattern.linear) return 'worker'
  const syntax = parsePattern(source, true) ?? parsePattern(source, false)
  return syntax !== undefined && stepsPerCharacter(syntax) !== undefined ? 'native' : 're2'
}

const places: readonly (readonly [string, readonly string[]])[] = [
  ['native', [
    "^[A-Za-z][A-Za-z .'-]{0,63}$", '^[0-9]{5}$', '^#[0-9A-Fa-f]{6}$', '^[a-z0-9_-]+$', '^[a-z0-9]+(?:-[a-z0-9]+)*$', '^(timestamp|duration):(asc|desc)$',
    '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}$', '[a-z]', 'foo', 'foo.*', '^\\p{L}+$', '^(?:\\+?1)?$', '^[\\w-.]+$', '^\\d{4}-\\d{2}-\\d{2}$', '^v\\d+\\.\\d+\\.\\d+$',
    '^[^,]+(,[^,]+)*$', '', '^', '^(a|b)*$', '^[\\w-.]+@[\\w-.]+$',
  ]],
  ['re2', [
    '^(a+)+$', '(a*)*b', '^(a|a)*$', '(a|ab)*c', '^(a?)*$', '.*foo', 'a+b', '\\d+x', '^[a-z][a-z0-9-]*[a-z0-9]+$', '^a*a*a*a*b', '(x+x+)+y', '^(?:(?:a?|b?)c)*$',
    '^(([a-z])+.)+[A-Z]([a-z])+$', '\\s+$', '^(.*)(.*)(.*)$', '\\bfoo\\b.*\\bbar\\b', '^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*$',
    '(?:a{0,30}){0,30}$', '^(a|a|a|a|a){20}$',
  ]],
  ['worker', ['^(?=a)a+$', '(a)\\1', '(?<!a)b', '^(?!x)', '\\p{Lu}+x', '(?<n>a+)\\k<n>', '\\ud83d', 'a{1001}b*c*b', '[\\w-.]+x', `^${'(a|b)*'.repeat(500)}`]],
  ['invalid', ['(', '[', 'a**', '(?i)a', '\\', '(?<a>x)(?<a>y)']],
]

t.test('a pattern is matched where its time is bounded', t => {
  for (const [where, sources] of places) for (const source of sources) t.equal(place(source), where, source)
  t.end()
})

/** Patterns of what JSON Schemas use, well formed by construction. */
const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\d', '\\w', '\\s', '\\W', '\\S', '[\\s\\d]', '\\n', '\\u00e9', '\\u{1f600}', 'é', '😀', '[a-z]', '[^\\s]', '\\.', '\\/', '[\\]\\-]', '\\x41', '\\cA')
const { pattern } = fc.letrec<{ pattern: string; term: string }>(tie => ({
  term: fc.tuple(
    fc.oneof({ depthSize: 'small', withCrossShrink: true }, atom, tie('pattern').map(inner => `(${inner})`), tie('pattern').map(inner => `(?:${inner})`)),
    fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '*?', '+?'),
  ).map(([body, quantifier]) => body + quantifier),
  pattern: fc.tuple(
    fc.constantFrom('', '', '^', '\\b'),
    fc.array(tie('term'), { maxLength: 4 }),
    fc.constantFrom('', '', '$', '\\B'),
    fc.option(tie('term'), { nil: undefined, freq: 4 }),
  ).map(([start, terms, end, other]) => start + terms.join('') + end + (other === undefined ? '' : `|${other}`)),
}))
const text = fc.array(fc.constantFrom('a', 'b', 'A', '1', '_', ' ', '\n', '\r', '\u2028', '\u00a0', '\ufeff', '\u000b', 'é', '😀', '\ud83d', '\ude00', '-', ']', '.', '/', '\u0001', 'ſ', 'K'), { maxLength: 12 })
  .map(chars => chars.join(''))

t.test('RE2, where it is used, means what ECMA-262 means', t => {
  let used = 0
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 8 }), (source, texts) => {
      const syntax = parsePattern(source, true)
      const re2 = syntax === undefined ? undefined : compileRe2(syntax)
      if (re2 === undefined) return
      used++
      const native = new RegExp(source, 'u')
      // V8 finds \B inside of a surrogate pair, where ECMA-262 never looks.
      const told = source.includes('\\B') ? texts.filter(one => !/\p{Cs}/u.test(one) && !one.includes('😀')) : texts
      for (const one of told) if (re2.test(one) !== native.test(one)) throw new Error(JSON.stringify({ source, one, native: native.test(one) }))
    }),
    { numRuns: 3000 },
  )
  t.ok(used > 1000, `${used} patterns`)
  t.end()
})

/** A plain backtracking matcher that counts its steps: what "linear" is measured by. */
const stepsOf = (source: string, subject: string): number => {
  const syntax = parsePattern(source, true)
  let steps = 0
  type Parsed = NonNullable<typeof syntax>
  type Next = (at: number) => boolean
  const chars = Array.from(subject)
  const run = (node: Parsed, at: number, next: Next): boolean => {
    if (++steps > 200_000) throw new Error('too many steps')
    if (node.type === 'set') {
      const code = chars[at]?.codePointAt(0)
      return code !== undefined && (node.set ?? []).some(([from, to]) => code >= from && code <= to) && next(at + 1)
    }
    if (node.type === 'assert') return (node.what === 'start' ? at === 0 : node.what === 'end' ? at === chars.length : true) && next(at)
    if (node.type === 'choice') return node.options.some(option => run(option, at, next))
    if (node.type === 'sequence') {
      const from = (index: number, at: number): boolean => {
        const part = node.parts[index]
        return part === undefined ? next(at) : run(part, at, after => from(index + 1, after))
      }
      return from(0, at)
    }
    const { body, min, max } = node
    const again = (count: number, at: number): boolean =>
      (count < max && run(body, at, after => (after > at || count < min) && again(count + 1, after))) || (count >= min && next(at))
    return again(0, at)
  }
  if (syntax === undefined) return 0
  for (let start = 0; start <= chars.length; start++) if (run(syntax, start, () => true)) break
  return steps
}

t.test('a pattern that is held to be linear takes no more than its steps from a backtracking engine', t => {
  let judged = 0
  const long = fc.tuple(fc.array(fc.constantFrom('a', 'b', '1', ' ', 'é'), { minLength: 1, maxLength: 4 }), fc.constantFrom('', '!', 'a', '-'))
    .map(([unit, end]) => unit.join('').repeat(Math.ceil(60 / unit.length)) + end)
  fc.assert(
    fc.property(pattern, fc.array(long, { minLength: 1, maxLength: 4 }), (source, subjects) => {
      const syntax = parsePattern(source, true)
      const steps = syntax === undefined ? undefined : stepsPerCharacter(syntax)
      if (steps === undefined) return
      judged++
      // Each character may be looked at by each part of the pattern once, going forth and coming back.
      for (const subject of subjects) {
        const most = 100 + 4 * (source.length + 2) * steps * (subject.length + 1)
        if (stepsOf(source, subject) > most) throw new Error(JSON.stringify({ source, subject, steps: stepsOf(source, subject), most }))
      }
    }),
    { numRuns: 6000 },
  )
  t.ok(judged > 300, `${judged} patterns`)
  t.end()
})

t.test('what a pattern is, the native engine says', t => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...Array.from('ab()[]{}*+?|\\^$.-,1dwpu')), maxLength: 10 }), source => {
      let native = true
      try {
        new RegExp(source)
      } catch {
        native = false
      }
      // Whatever is accepted must compile; and what only the flagless syntax accepts is accepted.
      return (!native || isPattern(source)) && (compilePattern(source) !== undefined) === isPattern(source)
    }),
    { numRuns: 3000 },
  )
  t.pass('always')
  t.end()
})
