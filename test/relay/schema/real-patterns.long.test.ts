import t from 'tap'
import { createContext, Script } from 'node:vm'
import { Budget, stepsPerCharacter, stepsPerMs } from '#relay/schema/budget.js'
import { compilePattern } from '#relay/schema/pattern/pattern.js'
import { realPatterns } from './real-patterns.js'

const units = ['a', 'aB1-', 'foo.bar/baz@1.2.3 ', '漢字', '1.2.3', 'https://x.y/z?q=1 ']

const native = new Script('expression.test(text)')

const nativeOf = (source: string): RegExp => {
  try {
    return new RegExp(source, 'u')
  } catch {
    return new RegExp(source)
  }
}

/** The native verdict; undefined where that engine takes too long. */
const expected = (expression: RegExp, text: string): unknown => {
  try {
    return native.runInContext(createContext({ expression, text }), { timeout: 100 }) as unknown
  } catch {
    return undefined
  }
}

t.test('patterns of published schemas are judged within the limits, on texts of 1 B to 1 MB, as the native engine judges them', t => {
  let compared = 0
  for (const source of realPatterns) {
    const pattern = compilePattern(source, new Budget(100 * stepsPerMs))
    for (const [index, unit] of units.entries()) {
      for (const length of [1, 30, 1000, ...(index === source.length % units.length ? [1_000_000] : [])]) {
        const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
        const found = pattern?.test(text, new Budget(100 * stepsPerMs + length * stepsPerCharacter))
        const wanted = length > 1000 ? undefined : expected(nativeOf(source), text)
        if (wanted !== undefined && found !== wanted) t.fail(JSON.stringify({ source, text, wanted }))
        if (wanted !== undefined) compared++
      }
    }
  }
  t.ok(realPatterns.length >= 200 && compared > 2000, `${compared} comparisons`)
  t.end()
})
