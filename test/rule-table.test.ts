import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { ruleNames } from '#relay/rules/index.js'

const root = new URL('../', import.meta.url)
const { files } =
  (await import(new URL('scripts/rule-table.mjs', root).href)) as { files: () => ReadonlyMap<string, string> }

t.test('presets, the schema of the configuration and docs/rules.md say what the table of rules says', t => {
  for (const [path, text] of files()) {
    t.equal(readFileSync(new URL(path, root), 'utf8'), text, `${path}: node scripts/rule-table.mjs writes it`)
  }
  t.end()
})

const contract = new URL('../shared/design/contract.md', root)

t.test('the rules are those of the contract', {
  skip: existsSync(contract) ? false : 'the contract is not here',
}, t => {
  const section = readFileSync(contract, 'utf8').split('\n## 4. ')[1]?.split('\n## 5. ')[0] ?? ''
  const names = [...section.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, cell = '']) =>
    cell.match(/\b(?:wire|tool|list|call|result|content|server|advice)\/[a-z0-9-]+/g) ?? [])
  // The code is ahead of the contract, which has minRevision and profiles without their rules.
  t.strictSame([...new Set([...names, 'wire/revision', 'tool/profile', 'resource/duplicate'])].sort(), [...ruleNames].sort())
  t.end()
})
