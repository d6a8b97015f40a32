import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { codeTexts } from '#desk/explain/codes.js'
import { explanation, topics } from '#desk/explain/command.js'
import { examples } from '#desk/explain/examples.js'
import { plainStyle } from '#desk/terminal/style.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { ruleNames, rules } from '#relay/rules/index.js'

const layout = { style: plainStyle, width: 80 }
const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))
const run = (words: readonly string[], environment = {}) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...words], {
    encoding: 'utf8', env: { ...process.env, ...environment },
  })
  return { status, stdout, stderr }
}

t.test('each rule and each code is explained, in lines of 80 columns', t => {
  t.strictSame(Object.keys(examples).sort(), [...ruleNames].sort())
  t.strictSame([...codeTexts.keys()].sort(), Object.values(errorCode).sort())
  for (const topic of topics()) {
    const text = explanation(topic, layout)
    t.ok(text.startsWith(topic), topic)
    t.match(text, /^ {2}fault {2}/m, topic)
    t.match(text, /\nWhat to do\n {2}→ /, topic)
    t.notMatch(text, /`|undefined/, topic)
    for (const line of text.split('\n')) t.ok(line.length <= 80, `${topic}: ${line}`)
  }
  t.end()
})

t.test('a rule shows what it means, its fault, its actions, and an example', t => {
  const text = explanation('Result/Schema', layout)
  const { means = '' } = rules.find(({ name }) => name === 'result/schema') ?? {}
  t.ok(text.replace(/\s+/g, ' ').includes(means))
  t.match(text, /fault +the server's/)
  t.match(text, /observe log, standard block, strict block, compat +mend/)
  t.match(text, /mcp-customs relax SERVER TOOL/)
  t.match(text, /wrong +"structuredContent":\{"temperature":"hot"\}/)
  t.match(explanation('tool/drift', layout), /with a\s+lock\s+block/)
  t.match(explanation('advice/flat-list', layout), /inspect logs it/)
  t.end()
})

t.test('a family and no word list what there is', t => {
  t.match(explanation('content', layout), /^content\/type .*\n(?:.*\n)*content\/hidden-text /)
  for (const topic of topics()) t.match(explanation(undefined, layout), new RegExp(`^${topic} `, 'm'))
  t.end()
})

t.test('what is nearly a rule is suggested', t => {
  for (const [word, meant] of [
    ['result/shema', 'result/schema'], ['schema', 'tool/schema or result/schema'], ['shcema', 'schema'],
    ['-31003', '-3100\\d'],
  ] as const) t.throws(() => explanation(word, layout), { message: new RegExp(`did you mean "?${meant}`) }, word)
  t.throws(() => explanation('weather', layout), { message: /is no rule and no error code \(/, exitCode: 2 })
  t.end()
})

t.test('the command takes a code with its minus, and shells complete rules', t => {
  for (const word of ['-31001', '31001']) t.match(run(['explain', word]).stdout, /^-31001: /, word)
  t.match(run(['explain', '--', '-31001']).stdout, /^-31001: /)
  t.match(run(['explain', 'a', 'b']), { status: 2, stderr: /usage: mcp-customs explain/ })
  t.match(run(['explain', '-1', 'b']), { status: 2, stderr: /one rule or code at a time/ })
  t.equal(run(['--get-yargs-completions', 'mcp-customs', 'explain', 'list/']).stdout, 'list/shape\n')
  t.match(run(['completion'], { SHELL: '/usr/bin/fish' }).stdout, /^complete -c mcp-customs /)
  t.end()
})
