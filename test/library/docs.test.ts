import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))
const document = readFileSync(new URL('../../docs/library.md', import.meta.url), 'utf8')

const blocks = (language: string): string[] =>
  [...document.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(([, text = '']) => text)

t.test('the examples print what the document says', t => {
  const examples = blocks('js')
  const outputs = blocks('text')
  t.equal(examples.length, 2)
  t.equal(outputs.length, examples.length)
  for (const [index, example] of examples.entries()) {
    // Within the package, so that it finds itself by its name.
    const file = fileURLToPath(new URL(`example-${index}.mjs`, import.meta.url))
    writeFileSync(file, example)
    t.teardown(() => rmSync(file))
    const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
      cwd: root, encoding: 'utf8', timeout: 30_000,
    })
    t.equal(stderr, '')
    t.equal(status, 0)
    t.equal(stdout, outputs[index])
  }
  t.end()
})
