import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { commands } from '#cli/commands.js'
import { taxonomies } from '#desk/inspect/taxa.js'
import { topics } from '#desk/explain/command.js'
import { isRuleName, ruleNames } from '#relay/rules/index.js'

const root = fileURLToPath(new URL('../', import.meta.url))
const docs =
  readdirSync(resolve(root, 'docs')).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'docker/README.md', ...docs]

const read = (page: string): string => readFileSync(resolve(root, page), 'utf8')

/** Code blocks hold examples: a `#` in them is no heading, and brackets are no link. */
const prose = (page: string): string => read(page).replace(/^( *)```[^]*?^\1```$/gm, '')

/** The anchors that GitHub makes of the headings of a page. */
const anchorsOf = (page: string): readonly string[] =>
  [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading.replace(
      /\[([^\]]*)\]\([^)]*\)/g, '$1',
    ).toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-'))

const linksOf = (page: string): readonly string[] =>
  [...prose(page).replace(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)]
    .flatMap(([, link = '']) => (/^[a-z]+:/.test(link) ? [] : [link]))

t.test('every path of the repository that a page names is there', t => {
  for (const page of pages) {
    for (const [path] of read(page).matchAll(/(?<![\w./-])(?:src|test|bench|scripts)\/[\w./-]*\w/g)) {
      t.ok(existsSync(resolve(root, path)), `${page}: ${path}`)
    }
  }
  t.end()
})

for (const page of pages) {
  t.test(`each relative link of ${page} leads to a file, and to a heading in it`, t => {
    for (const link of linksOf(page)) {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : relative(root, resolve(root, dirname(page), path))
      if (!t.ok(existsSync(resolve(root, target)), `${link}: there is no ${target}`)) continue
      if (anchor !== undefined) {
        t.ok(anchorsOf(target).includes(anchor), `${link}: ${target} has no such heading`)
      }
    }
    t.end()
  })
}

t.test('docs/commands.md has every command, and every option of wrap and serve', t => {
  const page = read('docs/commands.md')
  for (const { name, flags } of commands) {
    t.match(page, new RegExp(`\\| .*\`${name}\\b`), name)
    if (name !== 'wrap' && name !== 'serve') continue
    for (const option of Object.keys(flags)) t.match(page, new RegExp(`\`--${option}\\b`), option)
  }
  t.end()
})

t.test('a page names each option of each command', t => {
  const text = pages.map(read).join('\n')
  for (const { name, flags } of commands) {
    for (const [option, { short }] of Object.entries(flags)) {
      const names = short === undefined ? `--${option}` : `(?:--${option}|-${short})`
      t.match(text, new RegExp(`(?<![\\w-])${names}(?![\\w-])`), `${name} --${option}`)
    }
  }
  t.end()
})

t.test('a command on a page has the options that it is shown with', t => {
  let shown = 0
  for (const page of pages) {
    for (const [line, words = ''] of read(page).matchAll(/mcp-customs((?: (?!-- )[^\s`|#]+)+)/g)) {
      const command = [...commands].sort((one, other) => other.name.length - one.name.length)
        .find(({ name }) => words.startsWith(` ${name} `))
      if (command === undefined) continue
      for (const [, option = ''] of words.matchAll(/ --([a-z][\w-]*)/g)) {
        shown++
        t.ok(option === 'help' || option in command.flags, `${page}: ${line}`)
      }
    }
  }
  t.ok(shown > 20, 'examples are found')
  t.end()
})

t.test('what meets a requirement of OWASP is shown by tests that are there', t => {
  for (const { id, tests } of taxonomies.flatMap(({ taxa }) => taxa)) {
    t.ok(tests.length > 0, id)
    for (const test of tests) t.ok(existsSync(resolve(root, test)), `${id}: ${test}`)
  }
  t.end()
})

t.test('a rule or code that a page names is one that explain knows', t => {
  const families = new Set(ruleNames.map(name => name.split('/')[0]))
  const others = new Set(['server/health', 'server/discover'])
  let named = 0
  for (const page of pages) {
    for (const [, name = '', family = ''] of read(page).matchAll(/`(([a-z]+)\/[a-z][a-z-]+)`/g)) {
      if (!families.has(family) || others.has(name)) continue
      named++
      t.ok(isRuleName(name), `${page}: ${name}`)
    }
    for (const [, word = ''] of read(page).matchAll(/mcp-customs explain (-?\d+|[a-z]+\/[a-z-]+)/g)) {
      t.ok(topics().includes(word), `${page}: explain ${word}`)
    }
  }
  t.ok(named > 100, 'rules are found')
  t.end()
})

t.test('the README links to every page of docs', t => {
  t.strictSame(docs.filter(page => !linksOf('README.md').some(link => link.startsWith(page))), [])
  t.end()
})

t.test('the pages that the README links to are in the package', t => {
  const { files } = JSON.parse(read('package.json')) as { files: readonly string[] }
  const isPublished = (link: string): boolean =>
    files.some(file => link === file || link.startsWith(`${file}/`))
  t.strictSame(
    linksOf('README.md').map(link => link.replace(/#.*/, '')).filter(link => !isPublished(link)), [],
  )
  t.end()
})

t.test('the README has fewer than 900 words', t => {
  t.ok(read('README.md').split(/\s+/).length < 900)
  t.end()
})
