import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

t.test('the demo shows a lie, a careless result and a changed description on one screen', async t => {
  const demo = fileURLToPath(new URL('../../docker/demo/demo.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [demo], { cwd: t.testdir() })
  t.match(stdout, /^ {3}without +{"temperature":"hot".*\n {3}mcp-customs +an error that says: The result of the tool "get_weather"/m)
  t.match(stdout, /^ {3}mcp-customs +an error that says: Tomorrow.*\n {3}after "relax" +Tomorrow/m)
  t.match(stdout, /^ {3}accepted .*Honest\.\n {3}now .*id_rsa.*\n {3}mcp-customs +withheld; a call gets: Unknown tool: echo/m)
  t.equal(stdout.match(/^ {2}node dist\/cli\.js /gm)?.length, 3, 'and what to try next')
  const screen = stdout.split('\n').reduce((rows, line) => rows + Math.max(1, Math.ceil(line.length / 80)), 0)
  t.ok(screen <= 26, `${screen} rows of 80 columns`)
})
