import t from 'tap'
import fc from 'fast-check'
import { propose, type Contract } from '#desk/learn/tool.js'

const contract: Contract = {
  source: 'structured', sureness: 'good', calls: 20, errors: 0, members: 1, outputSchema: {},
  resultSchema: {},
}
const pathsOf = (server: string, tool: string): readonly string[] =>
  propose(server, tool, contract).files.map(({ path }) => path.toLowerCase())

t.test('a tool with a plain name has files of that name', t => {
  t.strictSame(
    pathsOf('mail', 'get_user'), ['mail/get_user.output.schema.json', 'mail/get_user.result.schema.json'],
  )
  t.end()
})

t.test('two tools never have one file, whatever their names have in common', t => {
  const long = 'a'.repeat(80)
  const [hashed = ''] = pathsOf('s', 'get.user')
  const name = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      'get.user', 'get_user', 'get user', 'Get_User', 'get/user', `${long}b`, `${long}c`, long, '', '_', '..',
      hashed.slice(2).replace('.output.schema.json', ''),
    ),
  )
  fc.assert(fc.property(fc.uniqueArray(name, { minLength: 2, maxLength: 12 }), names => {
    const paths = names.flatMap(one => pathsOf('s', one))
    return new Set(paths).size === paths.length && paths.every(path => /^s\/[^/]+$/.test(path))
  }))
  fc.assert(fc.property(fc.uniqueArray(name, { minLength: 2, maxLength: 2 }), ([
    one = '', other = '',
  ]) => pathsOf(one, 'x')[0] !== pathsOf(other, 'x')[0]))
  t.end()
})
