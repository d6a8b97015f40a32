import { readFileSync } from 'node:fs'
import t from 'tap'
import { lockFlags } from '#cli/flags/lock.js'
import { standardActions } from '#relay/lock/decide.js'

const document = readFileSync(new URL('../../../docs/lock.md', import.meta.url), 'utf8')

t.test('every option is in the document, and so is every class with its action', t => {
  for (const option of Object.keys(lockFlags)) t.match(document, `--${option}`)
  const rows = [...document.matchAll(
    /^\| ((?:`\w+`(?:, )?)+) \| .* \| ([a-z, ]+) \|$/gm,
  )].flatMap(([, names = '', words = '']) => {
    const actions = words.split(', ')
    return names.split(', ').map((name, index) => [name.replaceAll('`', ''), actions[index] ?? actions[0]])
  })
  t.strictSame(Object.fromEntries(rows), standardActions)
  t.end()
})
