// Makes of the configuration's schema (config/customs.schema.json) what the program is compiled with, in src/relay/config/generated/: the
// checks as plain code, so that no schema engine is loaded at start; the types of what passes them; the defaults. A part of `npm run build`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import standalone from 'ajv/dist/standalone/index.js'
import { compile } from 'json-schema-to-typescript'

const schema = JSON.parse(readFileSync(new URL('../config/customs.schema.json', import.meta.url), 'utf8'))

/** What is checked: a file, or one setting that a flag may give as well. */
const checks = {
  isConfigurationFile: ['', 'ConfigurationFile'],
  isPolicyFile: ['#/$defs/policyFile', 'PolicyFile'],
  isTrustList: ['#/$defs/trustList', 'TrustListFile'],
  isTokens: ['#/$defs/tokens', 'Tokens'],
  isHeaders: ['#/$defs/headers', 'Headers'],
  isVariables: ['#/$defs/variables', 'Variables'],
}

const revived = (schema, revive) => JSON.parse(JSON.stringify(schema), revive)

/** Without what is told to people alone: a property may well be called `title`, but is no text. */
const bare = schema => revived(schema, (key, value) => (typeof value === 'string' && ['$schema', 'title', 'description'].includes(key) ? undefined : value))

/** With every error, and beside each the part of the schema that it comes from: what is told of it is made of that. */
const checkers = () => {
  const code = { source: true, esm: true, optimize: 2 }
  const ajv = new Ajv2020({ allErrors: true, verbose: true, messages: false, strictRequired: false, strictTuples: false, allowUnionTypes: true, code })
  ajv.addKeyword('errorMessage')
  ajv.addSchema(bare(schema), 'customs')
  const source = standalone(ajv, Object.fromEntries(Object.entries(checks).map(([name, [at]]) => [name, `customs${at}`])))
  if (/\brequire\(|^import /m.test(source)) throw new Error('the checks need a part of the engine at run time')
  const typed = source.replace(/export const (\w+) = (\w+);/g, (_, name, of) => `export const ${name}: ConfigurationCheck<Written.${checks[name][1]}> = ${of};\n`)
  return `// @ts-nocheck\nimport type { ConfigurationCheck } from '../check.js'\nimport type * as Written from './types.js'\n${typed}`
}

/** A type that is told is the type: the conditions beside it say nothing of it. */
const unconditional = schema => revived(schema, (_, value) => {
  if (typeof value?.type !== 'string') return value
  const { anyOf, oneOf, not, ...rest } = value
  return rest
})

const types = () => compile(unconditional(schema), 'ConfigurationFile', { bannerComment: '', format: false, unreachableDefinitions: true })

const resolve = ({ $ref, ...rest }) => ($ref === undefined ? rest : { ...schema.$defs[$ref.replace('#/$defs/', '')], ...rest })

const defaultsOf = properties =>
  Object.fromEntries(Object.entries(properties).map(([name, property]) => {
    const { default: usual, properties: below } = resolve(property)
    return [name, below === undefined ? usual : defaultsOf(below)]
  }).filter(([, value]) => value !== undefined && (typeof value !== 'object' || Object.keys(value).length > 0)))

/** Each key by its way in the file: what it is, and its default. The flag that sets it is described by this in the help. */
const keysOf = (properties, before = '') =>
  Object.entries(properties).flatMap(([name, property]) => {
    const { description, default: usual, properties: below } = resolve(property)
    return below === undefined ? [[`${before}${name}`, { description, default: usual }]] : keysOf(below, `${before}${name}.`)
  })

const boundsOf = properties =>
  Object.fromEntries(Object.entries(properties).map(([name, { minimum: least, maximum: most }]) => [name, { least, most }]))

const constants = () => [
  `export const defaults = ${JSON.stringify(defaultsOf(schema.properties), null, 2)} as const`,
  `export const limitBounds = ${JSON.stringify(boundsOf(schema.$defs.limits.properties), null, 2)} as const`,
].join('\n\n')

const keys = () => `export const keys = ${JSON.stringify(Object.fromEntries(keysOf(schema.properties)), null, 2)} as const`

const folder = new URL('../src/relay/config/generated/', import.meta.url)
mkdirSync(folder, { recursive: true })
for (const [name, text] of [['checks', checkers()], ['types', await types()], ['defaults', constants()], ['keys', keys()]]) {
  writeFileSync(new URL(`${name}.ts`, folder), `${text}\n`)
}
