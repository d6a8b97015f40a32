import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RegExpParser, visitRegExpAST, type AST } from '@eslint-community/regexpp'
import t from 'tap'
import ts from 'typescript'

// A stranger's text may reach any expression. Each is run over texts that repeat what it repeats, 16 to 256
// KB long: its CPU time may grow only as the text does.

const root = 'src'
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map(file => file.replaceAll('\\', '/'))
  .filter(file => /\.tsx?$/.test(file) && !/(?:^|\/)(?:generated|assembly)\//.test(file))

interface Found {
  readonly at: string
  readonly source: string
  readonly flags: string
}

/** The text of a constant expression: a literal, or a sum of literals. */
const textOf = (node: ts.Node | undefined): string | undefined => {
  if (node === undefined) return ''
  if (ts.isStringLiteralLike(node)) return node.text
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined
  const [left, right] = [textOf(node.left), textOf(node.right)]
  return left === undefined || right === undefined ? undefined : left + right
}

/** Files with expressions that are made of other values. */
const makers = new Set<string>()

const expressionsIn = (file: string): readonly Found[] => {
  const found: Found[] = []
  const text = readFileSync(join(root, file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    const at = `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      found.push({ at, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    } else if (ts.isNewExpression(node) && node.expression.getText() === 'RegExp') {
      const [pattern, flags] = [textOf(node.arguments?.[0]), textOf(node.arguments?.[1])]
      if (pattern === undefined || flags === undefined) makers.add(file)
      else found.push({ at, source: pattern, flags })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Characters of every kind that expressions name. */
const usual = 'a0 \n-./_:"\\<A\tz9,;=@é\u200b中\u0301\u0001\ud800'.split('')

/** A short text that the node matches; of alternatives the one with this number. */
const sample = (node: AST.Node, flags: string, choice = 0): string => {
  if (node.type === 'Character') return String.fromCodePoint(node.value)
  if (isCharacter(node)) return charactersOf(node, flags)[0] ?? ''
  if (node.type === 'Alternative') return node.elements.map(one => sample(one, flags, choice)).join('')
  if (node.type === 'Quantifier') {
    return sample(node.element, flags, choice).repeat(Math.min(Math.max(node.min, 1), 40))
  }
  if (node.type !== 'Group' && node.type !== 'CapturingGroup' && node.type !== 'Pattern') return ''
  const chosen = node.alternatives[choice % node.alternatives.length]
  return chosen === undefined ? '' : sample(chosen, flags, choice)
}

const isCharacter = (node: AST.Node): boolean => node.type === 'CharacterSet' || node.type === 'CharacterClass'

const charactersOf = (node: AST.Node, flags: string): readonly string[] => {
  const one = new RegExp(`^(?:${node.raw})$`, flags.replace(/[gy]/g, ''))
  return usual.filter(character => one.test(character))
}

/** What stands before a node, in all of the expression. */
const before = (node: AST.Node, flags: string): string => {
  const { parent } = node
  if (parent === null) return ''
  const siblings = parent.type === 'Alternative' ? parent.elements : []
  const earlier = siblings.slice(0, siblings.findIndex(one => one === node))
  return before(parent, flags) + earlier.map(one => sample(one, flags)).join('')
}

/** Beginnings of texts, and what is repeated after them. */
const pumpsOf = ({ source, flags }: Found): ReadonlyMap<string, readonly [string, string]> => {
  const pumps = new Map<string, readonly [string, string]>()
  const add = (start: string, pump: string) => {
    if (pump !== '') pumps.set(JSON.stringify([start, pump]), [start, pump])
  }
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, { unicode: flags.includes('u') })
  visitRegExpAST(pattern, {
    onQuantifierEnter: node => {
      if (node.max < 64) return
      const { element } = node
      const start = before(node, flags)
      const pieces = isCharacter(element)
        ? charactersOf(element, flags)
        : [0, 1, 2, 3].map(choice => sample(element, flags, choice))
      for (const piece of pieces) {
        add('', piece)
        add(start, piece)
        // The whole beginning again and again: a search begins at each of them.
        add('', start + piece)
      }
    },
  })
  const whole = sample(pattern, flags)
  add('', whole)
  add('', whole.slice(0, -1))
  return pumps
}

const cpuOf = (work: () => void): number => {
  const from = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1000
}

/** What an expression costs for a text of this length, in milliseconds of CPU; the least of some runs. */
const cost = (
  expression: RegExp, [start, pump]: readonly [string, string], end: string, length: number,
): number => {
  const text = start + pump.repeat(Math.ceil(length / pump.length)) + end
  // A text of one piece: V8 joins the pieces of a longer one at the first search.
  const flat = Buffer.from(text, 'utf16le').toString('utf16le')
  const run = () => {
    expression.lastIndex = 0
    if (expression.global) flat.replace(expression, '')
    else expression.test(flat)
  }
  return Math.min(cpuOf(run), cpuOf(run))
}

/** Below it, a measurement is mostly noise. A quadratic search of 16 KB takes a hundred. */
const least = 4

/** The first text for which the time grows faster than the text. */
const superLinear = (found: Found, length = 16_384): string | undefined => {
  const expression = new RegExp(found.source, found.flags)
  for (const pump of pumpsOf(found).values()) {
    for (const end of ['', '\u0000', '\n!']) {
      const short = cost(expression, pump, end, length)
      if (short < least) continue
      // Four times the text: sixteen times the time if it is quadratic.
      const long = cost(expression, pump, end, 4 * length)
      if (long > 8 * short) return `${JSON.stringify(pump)}: ${short} ms, then ${long} ms`
      const longest = cost(expression, pump, end, 16 * length)
      if (longest > 8 * long) return `${JSON.stringify(pump)}: ${long} ms, then ${longest} ms`
    }
  }
  return undefined
}

/** The expressions that a module makes while it is loaded. */
const madeBy = async (file: string): Promise<readonly Found[]> => {
  const found: Found[] = []
  const original = RegExp
  globalThis.RegExp = new Proxy(original, {
    construct: (target, [source, flags = '']: [string | RegExp, string?]) => {
      if (typeof source === 'string') found.push({ at: file, source, flags })
      return new target(source, flags)
    },
  })
  await import(`#${file.replace(/\.tsx?$/, '.js')}`).finally(() => {
    globalThis.RegExp = original
  })
  return found
}

// A module makes its expressions once in a process, so this file has one of its own (scripts/processes.mjs).
t.jobs = 1
t.setTimeout(120_000)

t.test('each expression takes linear time', async t => {
  const literals = files.flatMap(expressionsIn)
  const made: Found[] = []
  for (const file of makers) made.push(...await madeBy(file))
  t.ok(literals.length > 300 && made.length > 10, `${literals.length} literals, ${made.length} that are made`)
  for (const found of [...literals, ...made]) {
    const text = superLinear(found)
    if (text !== undefined) t.fail(`${found.at}: /${found.source}/${found.flags} with ${text}`)
  }
  t.end()
})

t.test('the pumps find what was found before', t => {
  const at = ''
  t.type(superLinear({ at, source: '<([\\w:.-]+)([^<>]*)>', flags: 'g' }, 4096), 'string')
  t.type(superLinear({ at, source: '\\s+$', flags: '' }, 8192), 'string')
  t.equal(superLinear({ at, source: '<([\\w:.-]+)(?![\\w:.-])([^<>]*)>', flags: 'g' }), undefined)
  t.end()
})
