import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parseYaml } from '../../dist/config/yaml-text.js'
import { limitBounds, sessionBounds } from '../../dist/config/limits.js'
import { payloadKinds, periods } from '../../dist/config/configuration.js'
import { presets } from '../../dist/config/policy.js'
import { auditBounds, auditKeys, authKeys, configurationKeys, readConfiguration, tlsKeys } from '../../dist/config/read.js'
import { annotationKeys, serverKeys, serverTlsKeys, toolKeys } from '../../dist/config/server.js'
import { trustKeys } from '../../dist/config/trust-list.js'
import { actions } from '../../dist/core/policy.js'
import { ruleNames } from '../../dist/rules/index.js'

interface Schema {
  readonly properties: Readonly<Record<string, Schema>>
  readonly $defs: Readonly<Record<string, Schema>>
  readonly anyOf: readonly Schema[]
  readonly enum: readonly string[]
  readonly $ref: string
  readonly description: string
  readonly minimum: number
  readonly maximum: number
  readonly default: number
}

const file = new URL('../../config/customs.schema.json', import.meta.url)
const schema = JSON.parse(readFileSync(file, 'utf8')) as Schema
const matches = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false }).compile(schema)

const at = (from: Schema | undefined, ...names: readonly string[]): Schema => {
  const found = names.reduce<Schema | undefined>((place, name) => place?.properties[name], from)
  if (!found) throw new Error(`the schema has no ${names.join('.')}`)
  return found
}

t.test('the schema has the keys that the reader knows', t => {
  const keys = (place: Schema | undefined) => Object.keys(place?.properties ?? {})
  t.strictSame(keys(schema), [...configurationKeys])
  t.strictSame(keys(at(schema, 'auth')), [...authKeys])
  t.strictSame(keys(at(schema, 'audit')), [...auditKeys])
  t.strictSame(keys(at(schema, 'tls')), [...tlsKeys])
  t.strictSame(keys(schema.$defs.trustEntry), [...trustKeys])
  t.same(new Set(keys(schema.$defs.server)), new Set(serverKeys))
  t.strictSame(keys(at(schema.$defs.server, 'tls')), [...serverTlsKeys])
  const tool = schema.$defs.tool?.anyOf[1]
  t.strictSame(keys(tool), [...toolKeys])
  t.strictSame(keys(at(tool, 'annotations')), [...annotationKeys])
  t.end()
})

t.test('the schema has every rule, with the actions that it may have', t => {
  t.strictSame(Object.keys(schema.$defs.rules?.properties ?? {}), [...ruleNames])
  for (const name of ruleNames) {
    const reference = at(schema.$defs.rules, name).$ref
    t.equal(reference, name.startsWith('result/') ? '#/$defs/resultAction' : '#/$defs/action', name)
  }
  t.strictSame(schema.$defs.resultAction?.enum, [...actions])
  t.strictSame(schema.$defs.action?.enum, actions.filter(action => action !== 'demote'))
  t.strictSame(schema.$defs.policy?.anyOf[0]?.enum, [...presets])
  t.strictSame(at(schema, 'audit', 'payloads').enum, [...payloadKinds])
  t.strictSame(at(schema, 'audit', 'rotate').enum, [...periods])
  t.end()
})

t.test('the schema has the limits of the reader', t => {
  for (const [place, bounds] of [['limits', limitBounds], ['sessions', sessionBounds]] as const) {
    t.strictSame(Object.keys(at(schema, place).properties), Object.keys(bounds))
    for (const [name, { usual, least, most }] of Object.entries(bounds)) {
      t.match(at(schema, place, name), { minimum: least, maximum: most, default: usual })
    }
  }
  for (const [name, { least, most }] of Object.entries(auditBounds)) t.match(at(schema, 'audit', name), { minimum: least, maximum: most })
  t.end()
})

t.test('every place of the schema has a description', t => {
  const visit = (place: unknown, way: string): void => {
    if (typeof place !== 'object' || place === null) return
    if ('properties' in place && typeof place.properties === 'object') {
      for (const [name, property] of Object.entries(place.properties ?? {})) {
        const described = typeof property !== 'object' || 'description' in property || '$ref' in property
        t.ok(described, `${way}/${name}`)
      }
    }
    for (const [name, held] of Object.entries(place)) if (name !== 'oneOf') visit(held, `${way}/${name}`)
  }
  visit(schema, '')
  t.end()
})

const both = async (t: { testdir: (files: Record<string, string>) => string }, text: string): Promise<{ read: boolean; matched: boolean }> => {
  const directory = t.testdir({ 'customs.yaml': text, 'schema.json': '{}' })
  const read = await readConfiguration(join(directory, 'customs.yaml'), { TOKEN: 'abc' }).then(() => true, () => false)
  return { read, matched: matches(await parseYaml(text)) }
}

const texts = [
  ['{}', true],
  ['{ $schema: x, version: 1, listen: "127.0.0.1:0", admin: "[::1]:9090" }', true],
  ['{ policy: strict, rules: { result/schema: demote, advice/flat-list: log } }', true],
  ['{ trust: [{ command: [node, a.mjs] }, { package: a@1.0.0 }, { url: "https://a.example/" }] }', true],
  ['{ servers: { a: { command: [b, ""], env: { A: "${env:TOKEN}" }, cwd: . } } }', true],
  ['{ servers: { a: { url: "https://a.example/mcp", headers: { A: b }, tls: { ca: c } } } }', true],
  ['{ servers: { a: { command: [b], tools: { c: deny, d: { outputSchema: schema.json }, e: { outputSchema: true } } } } }', true],
  ['{ auth: { tokens: ["${env:TOKEN}"] }, audit: { file: none, payloads: full, maxBytes: 4096, rotate: hourly, keep: 0, signKey: k }, tls: { cert: a, key: b } }', true],
  ['{ allowHosts: [a.example], allowOrigins: ["https://a.example"], sessions: { idleMs: 1000 } }', true],
  ['[]', false],
  ['{ nothing: 1 }', false],
  ['{ version: 2 }', false],
  ['{ listen: 7400 }', false],
  ['{ policy: strickt }', false],
  ['{ rules: { call/denied: demote } }', false],
  ['{ rules: { result/shema: log } }', false],
  ['{ limits: { depth: 7 } }', false],
  ['{ limits: { listMs: 1.5 } }', false],
  ['{ trust: [{}] }', false],
  ['{ trust: [{ command: [] }] }', false],
  ['{ trust: [{ command: [a], url: "https://a.example/" }] }', false],
  ['{ trust: [{ url: "https://a.example/", sha256: "" }] }', false],
  ['{ servers: { a: {} } }', false],
  ['{ servers: { a: { command: [b], url: "https://a.example/" } } }', false],
  ['{ servers: { a: { command: [b], headers: {} } } }', false],
  ['{ servers: { a: { url: "https://a.example/", cwd: . } } }', false],
  ['{ servers: { a/b: { command: [b] } } }', false],
  ['{ servers: { a: { url: "https://a.example/", tls: { key: k } } } }', false],
  ['{ servers: { a: { command: [b], tools: { c: denied } } } }', false],
  ['{ servers: { a: { command: [b], tools: { c: { annotations: { x: true } } } } } }', false],
  ['{ auth: {} }', false],
  ['{ auth: { tokens: [] } }', false],
  ['{ audit: { payloads: all } }', false],
  ['{ audit: { maxBytes: 1 } }', false],
  ['{ audit: { rotate: weekly } }', false],
  ['{ audit: { keep: -1 } }', false],
  ['{ tls: { cert: c } }', false],
  ['{ allowOrigins: ["*"] }', false],
] as const

for (const [text, valid] of texts) {
  t.test(`schema and reader both ${valid ? 'accept' : 'refuse'} ${text}`, async t => {
    t.strictSame(await both(t, text), { read: valid, matched: valid })
  })
}

t.test('the schema accepts the example', async t => {
  const example = readFileSync(new URL('../../config/examples/gateway.yaml', import.meta.url), 'utf8')
  t.ok(matches(await parseYaml(example)), JSON.stringify(matches.errors))
})
