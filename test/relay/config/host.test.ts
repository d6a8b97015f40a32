import { join } from 'node:path'
import t from 'tap'
import { readConfiguration } from '#relay/config/read.js'

const read = async (directory: string) => {
  const { allowHosts, allowOrigins } = await readConfiguration(
    join(directory, 'customs.json'), { environment: {}, judgeSchema: async () => undefined },
  )
  return [...allowHosts, ...allowOrigins]
}

const hosts = [
  // [as written, as clients spell it; undefined: refused]
  ['MCP.example.com', 'mcp.example.com'],
  ['müsli.example', 'xn--msli-0ra.example'],
  ['10.0.0.1', '10.0.0.1'],
  ['[::1]', '[::1]'],
  ['[0:0::1]', '[::1]'],
  ['my_host', 'my_host'],
  ['a:8443', undefined],
  ['*', undefined],
  ['*.example.com', undefined],
  ['a/b', undefined],
  ['user@a', undefined],
  ['https://a', undefined],
  ['::1', undefined],
  ['a b', undefined],
  ['', undefined],
  ['a%', undefined],
] as const

const origins = [
  ['https://App.example.com', 'https://app.example.com'],
  ['https://a.example:443', 'https://a.example'],
  ['http://a.example:8080', 'http://a.example:8080'],
  ['tauri://localhost', 'tauri://localhost'],
  ['https://a.example/', undefined],
  ['https://a.example/x', undefined],
  ['https://a.example?x', undefined],
  ['https://u@a.example', undefined],
  ['https://*.example', undefined],
  ['a.example', undefined],
  ['null', undefined],
  ['*', undefined],
  ['https://', undefined],
] as const

for (const [key, cases] of [['allowHosts', hosts], ['allowOrigins', origins]] as const) {
  for (const [written, spelt] of cases) {
    t.test(`${key} ${JSON.stringify(written)} ${spelt === undefined ? 'is refused' : `is ${spelt}`}`, async t => {
      const reading = read(t.testdir({ 'customs.json': JSON.stringify({ [key]: [written] }) }))
      if (spelt === undefined) await t.rejects(
        reading, { code: 'BAD_CONFIG', message: new RegExp(`: ${key}\\.0: `) },
      )
      else t.strictSame(await reading, [spelt])
    })
  }
}
