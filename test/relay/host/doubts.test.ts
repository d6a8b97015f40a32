import { join } from 'node:path'
import t from 'tap'
import { doubtsAbout } from '#relay/host/serve.js'
import { readConfiguration } from '#relay/config/read.js'
import { plainSetup } from './plain-setup.js'

const doubts = async (directory: string) => {
  const configuration = await readConfiguration(
    join(directory, 'customs.yaml'), { environment: {}, judgeSchema: async () => undefined },
  )
  return doubtsAbout({ configuration, servers: [...configuration.servers.values()].map(plainSetup) })
}

t.test('a server that cannot be started is named; when none can, serve fails', async t => {
  const there = `a: { command: ["${process.execPath}"] }`
  t.strictSame(
    await doubts(t.testdir({ 'customs.yaml': `servers: { ${there}, b: { command: [no-such-command] } }` })),
    ['servers.b: cannot start "no-such-command": command not found'],
  )
  t.strictSame(await doubts(
    t.testdir({ 'customs.yaml': `servers: { ${there}, b: { url: "https://b.example/" } }` }),
  ), [])
  await t.rejects(doubts(t.testdir({ 'customs.yaml': 'servers: { b: { command: [no-such-command] } }' })), {
    code: 'CANNOT_START', exitCode: 2,
  })
})

t.test('a program is looked up as its process would', async t => {
  const own = t.testdir({ bin: { node: t.fixture('symlink', process.execPath) }, 'customs.yaml': 'servers: ' +
    '{ a: { command: [node], cwd: ., env: { PATH: bin } }, b: { command: [./bin/node], cwd: . } }' })
  t.strictSame(await doubts(own), [])
})

t.test('listening on the network without tokens is warned of', async t => {
  const servers = 'servers: { a: { url: "https://a.example/" } }'
  for (const [listen, tokens, warned] of [
    ['0.0.0.0:1', false, true], ['[::]:1', false, true], ['0.0.0.0:1', true, false],
    ['localhost:1', false, false], ['[::1]:1', false, false], ['unix:/x', false, false],
    ['unix:/x?mode=666', false, true], ['unix:/x?mode=666', true, false],
  ] as const) {
    const text = `listen: "${listen}"\n${tokens ? 'auth: { tokens: [a] }\n' : ''}${servers}`
    t.equal((await doubts(t.testdir({ 'customs.yaml': text }))).some(line =>
      /open to (?:the network|every user)/.test(line)), warned, text)
  }
})
