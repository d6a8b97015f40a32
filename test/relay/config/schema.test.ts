import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { judgeSchema } from '#relay/host/server/setup.js'
import { readConfiguration } from '#relay/config/read.js'
import { parseYaml } from '#relay/config/text.js'
import { presets } from '#relay/config/policy.js'
import { actions } from '#relay/core/vocabulary.js'
import { revisions } from '#relay/protocol/revisions/index.js'
import { ruleNames } from '#relay/rules/index.js'

interface Schema {
  readonly properties: Readonly<Record<string, { readonly $ref: string }>>
  readonly $defs: Readonly<Record<string, Schema>>
  readonly enum: readonly string[]
}

const file = new URL('../../../config/customs.schema.json', import.meta.url)
const schema = JSON.parse(readFileSync(file, 'utf8')) as Schema
// What editors show, and other validators do not know.
const matches = new Ajv2020({
  strict: true, allowUnionTypes: true, strictRequired: false, strictTuples: false,
}).addKeyword('errorMessage').compile(schema)

t.test('the schema has every rule, with the actions that it may have, every preset and every revision', t => {
  t.strictSame(Object.keys(schema.$defs.rules?.properties ?? {}), [...ruleNames])
  for (const name of ruleNames) {
    t.equal(
      schema.$defs.rules?.properties[name]?.$ref,
      name.startsWith('result/') ? '#/$defs/resultAction' : '#/$defs/action', name,
    )
  }
  t.strictSame(schema.$defs.resultAction?.enum, [...actions])
  t.strictSame(schema.$defs.action?.enum, actions.filter(action => action !== 'demote'))
  t.strictSame(schema.$defs.preset?.enum, [...presets])
  t.strictSame(schema.$defs.revision?.enum, [...revisions])
  t.end()
})

t.test('every key of the schema is described, at its place or where it leads', t => {
  const described = (place: unknown): boolean =>
    typeof place === 'object' && place !== null
      && ('description' in place || (
        '$ref' in place && described(schema.$defs[String(place.$ref).replace('#/$defs/', '')])
      ))
  const visit = (place: unknown, way: string): void => {
    if (typeof place !== 'object' || place === null) return
    if ('properties' in place && typeof place.properties === 'object') {
      for (const [name, property] of Object.entries(place.properties ?? {})) {
        t.ok(described(property), `${way}/${name}`)
        visit(property, `${way}/properties/${name}`)
      }
    }
    for (const [name, held] of Object.entries(place)) if (name !== 'properties') visit(held, `${way}/${name}`)
  }
  visit(schema, '')
  t.end()
})

const outcome = async (
  t: { testdir: (files: Record<string, string>) => string }, text: string,
): Promise<{ read: boolean; matched: boolean }> => {
  const directory = t.testdir({ 'customs.yaml': text, 'schema.json': '{}' })
  const read = await readConfiguration(
    join(directory, 'customs.yaml'), { environment: { TOKEN: 'abc' }, judgeSchema },
  ).then(() => true, () => false)
  return { read, matched: matches((await parseYaml(text)).data) }
}

const texts = [
  '{}',
  '{ $schema: x, version: 1, listen: "127.0.0.1:0", admin: "[::1]:9090" }',
  '{ listen: "${env:TOKEN}:80", allowHosts: ["${env:TOKEN}"], allowOrigins: ["https://${env:TOKEN}"] }',
  '{ policy: strict, rules: { result/schema: demote, advice/flat-list: log } }',
  '{ trust: [{ command: [node, a.mjs] }, { package: a@1.0.0 }, { url: "https://a.example/" }] }',
  '{ servers: { a: { command: [b, ""], env: { A: "${env:TOKEN}" }, cwd: ., inheritEnv: [LANG] } } }',
  '{ servers: { a: { url: "https://a.example/mcp", headers: { A: b }, tls: { ca: c } } } }',
  '{ servers: { a: { command: [b], tools: { c: deny, d: { outputSchema: schema.json }, e: { outputSchema: true } } } } }',
  '{ mcpServers: { a: { type: stdio, command: b, args: [c] }, d: { url: "https://d.example/" } } }',
  '{ auth: { tokens: ["${env:TOKEN}"] }, audit: { file: none, payloads: full, maxBytes: 4096, rotate: hourly, keep: 0, signKey: k }, tls: { cert: a, key: b } }',
  '{ allowHosts: [a.example], allowOrigins: ["https://a.example"], sessions: { idleMs: 1000 } }',
] as const

for (const text of texts) {
  t.test(`an editor that has the schema accepts what the reader accepts: ${text}`, async t => {
    t.strictSame(await outcome(t, text), { read: true, matched: true })
  })
}

t.test('the schema accepts the example', async t => {
  const example = readFileSync(new URL('../../../config/examples/gateway.yaml', import.meta.url), 'utf8')
  t.ok(matches((await parseYaml(example)).data), JSON.stringify(matches.errors))
})
