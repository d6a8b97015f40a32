// Writes what follows from the table of rules (src/relay/rules/index.ts) to where people and editors look for it: the presets and the
// configuration's schema in config/, and the tables of docs/rules.md and docs/aisvs.md. After `npm run build`: node scripts/rule-table.mjs
// A test says so when one of them is out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { presetPolicy, presets, rules } from '../dist/relay/rules/index.js'
import { taxonomies } from '../dist/desk/inspect/taxa.js'

const root = new URL('../', import.meta.url)
const read = path => readFileSync(new URL(path, root), 'utf8')

const inPreset = (preset, name) => {
  const at = (purpose, locked) => presetPolicy(preset, { purpose, locked }).get(name)
  const [relay, inspect, locked] = [at('relay', false), at('inspect', false), at('relay', true)]
  return inspect !== relay ? { inspect, relay } : locked !== relay ? { locked, otherwise: relay } : relay
}

const inWords = setting => (typeof setting === 'string' ? setting : (setting.otherwise ?? `${setting.inspect} in \`inspect\``))

const presetFile = preset => {
  const lines = rules.map(({ name }) => `    "${name}": ${JSON.stringify(inPreset(preset, name)).replace(/([{:,])/g, '$1 ').replace('}', ' }')}`)
  return `{\n  "rules": {\n${lines.join(',\n')}\n  }\n}\n`
}

const schemaFile = () => {
  const schema = JSON.parse(read('config/customs.schema.json'))
  schema.$defs.rules.properties = Object.fromEntries(
    rules.map(({ name, title }) => [
      name,
      { $ref: `#/$defs/${name.startsWith('result/') ? 'resultAction' : 'action'}`, description: `${title} (standard: ${inWords(inPreset('standard', name)).replaceAll('`', '')})` },
    ]),
  )
  return `${JSON.stringify(schema, null, 2)}\n`
}

const withTable = (page, head, rows) =>
  page.replace(new RegExp(`(?<=${head}.*\\n\\|[ |-]*\\n)(?:\\|.*\\n)*`), () => rows.map(cells => `| ${cells.join(' | ')} |\n`).join(''))

const rulesPage = () => withTable(read('docs/rules.md'), '\\| rule \\| what it finds ', rules.map(({ name, title, mends }) =>
  [`\`${name}\``, title, inWords(inPreset('standard', name)), mends === undefined ? '' : 'yes']))

/** The chapters of docs/aisvs.md, by the beginning of their ids. */
const chapters = { 'AISVS C9': '9.', 'AISVS C10': '10.', 'AISVS C12': '12.', 'MCP Top 10': 'MCP' }

const aisvsPage = () => Object.entries(chapters).reduce((page, [chapter, beginning]) => withTable(
  page, `## ${chapter}(?=[:\\n]).*\\n\\n\\| id `,
  taxonomies.flatMap(({ taxa }) => taxa).filter(({ id }) => id.startsWith(beginning)).map(({ id, text, met }) => [id, text, met]),
), read('docs/aisvs.md'))

/** What each file should hold. */
export const files = () => new Map([...presets.map(preset => [`config/${preset}.json`, presetFile(preset)]), ['config/customs.schema.json', schemaFile()], ['docs/rules.md', rulesPage()], ['docs/aisvs.md', aisvsPage()]])

if (process.argv[1] === new URL(import.meta.url).pathname) for (const [path, text] of files()) writeFileSync(new URL(path, root), text)
