import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { ruleNames } from '../dist/core/rule-name.js'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

const names = [...ruleNames].sort()

/** `family/rule`, one or more in the first cell of each row of a table. */
const inTable = (markdown: string): string[] =>
  [...markdown.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, cell = '']) => cell.match(/\b(?:wire|tool|call|result|content|server|advice)\/[a-z0-9-]+/g) ?? [])

const unique = (found: readonly string[]): string[] => [...new Set(found)].sort()

t.test('the README has a row for every rule, once, and for nothing else', t => {
  const section = read('README.md').split('\n## Rules\n')[1]?.split('\n## ')[0] ?? ''
  t.strictSame(inTable(section).sort(), names)
  t.end()
})

t.test('the README says of every rule what the standard preset does', t => {
  const { rules } = JSON.parse(read('config/standard.json')) as { rules: Record<string, string | Record<string, string>> }
  const said = new Map([...read('README.md').matchAll(/^\| `([a-z]+\/[a-z0-9-]+)` \|.*\| ([^|]+) \|$/gm)].map(([, rule = '', action = '']) => [rule, action]))
  for (const rule of names) {
    const action = rules[rule]
    const plain = typeof action === 'string' ? action : action?.otherwise ?? 'log in `inspect`'
    t.equal(said.get(rule), plain, rule)
  }
  t.end()
})

t.test('the schema of the configuration knows every rule, and no other', t => {
  const text = read('config/customs.schema.json')
  const quoted = [...text.matchAll(/"((?:wire|tool|call|result|content|server|advice)\/[a-z0-9-]+)"/g)].map(([, rule = '']) => rule)
  t.strictSame(unique(quoted), names)
  t.end()
})

const contract = new URL('../../shared/design/contract.md', import.meta.url)

t.test('the rules are those of the contract', { skip: existsSync(contract) ? false : 'the contract is not here' }, t => {
  const section = readFileSync(contract, 'utf8').split('\n## 4. ')[1]?.split('\n## 5. ')[0] ?? ''
  t.strictSame(unique(inTable(section)), names)
  t.end()
})
