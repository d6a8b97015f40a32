import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from '#relay/transport/process/run.js'
import { runs } from '../stdio/harness.js'

const node = (source: string, timeoutMs = 60_000) =>
  run({ command: [process.execPath, '-e', source] }, timeoutMs)

t.test('a command is run to its end', async t => {
  t.strictSame(
    await node('process.stdin.resume().on("end", () => console.log("read"))'), { stdout: 'read\n' },
  )
})

t.test('of a command that fails, the first lines say why', async t => {
  const source = 'console.error("npm warn old\\nnpm error code E404\\nnpm error 404\\nmore"); process.exit(3)'
  t.strictSame(await node(source), { failure: 'it exited with code 3; npm error code E404; npm error 404' })
  t.match(
    await run({ command: ['/no/such/program'] }, 60_000), { failure: /^cannot start .*there is no such file$/ },
  )
  t.match(await run({ command: ['a\0b'] }, 60_000), { failure: /^cannot start / })
})

t.test('a command that does not end is killed, with what it started', async t => {
  const file = join(t.testdir({}), 'pid')
  const source = `const forever = 'setInterval(() => {}, 1000)'
    const { pid } = require('child_process').spawn(process.execPath, ['-e', forever])
    require('fs').writeFileSync(${JSON.stringify(file)}, String(pid))
    eval(forever)`
  t.strictSame(await node(source, 2000), { failure: 'it did not end within 2 s' })
  t.notOk(runs(Number(readFileSync(file, 'utf8'))))
})
