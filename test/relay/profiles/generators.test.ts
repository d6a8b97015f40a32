import fc from 'fast-check'
import t from 'tap'
import type { Checked, Subject } from '#relay/core/vocabulary.js'
import { combinedOf, profiles } from '#relay/profiles/index.js'
import { fit } from '#relay/profiles/fit.js'
import { shapesOf } from '#relay/profiles/shape.js'
import { Meter } from '#relay/protocol/json.js'
import { referenceTarget } from '#relay/protocol/json-schema.js'
import {
  isList, isRecord, isString, unmetered, type Data, type DataObject,
} from '#relay/protocol/unmetered.js'
import { checkAtOnce } from '../core/engine.js'
import { result, Script } from '../core/script.js'
import { absent, corpus, samples } from '../schema/ask.js'
import { nearly } from '../schema/nearly.js'
import { constructs, type Construct } from './generators.js'
import { accepts } from './oracle.js'

interface Tool {
  readonly name: string
  readonly inputSchema: DataObject
  /** Arguments that its schema accepts; undefined where there are none. */
  readonly args: DataObject | undefined
}

/** A construct as the schema of a member, deeper in objects and lists, and as the schema of all arguments. */
const toolsOf = (
  { from, schema, definitions, dialect, value }: Construct, index: number,
): readonly Tool[] => {
  const root = (own: DataObject): DataObject =>
    ({ ...(dialect !== undefined && { $schema: dialect }), type: 'object', ...own, ...definitions })
  const inner = (at: string) => ({
    type: 'object', properties: { list: { type: 'array', items: schema(`${at}/properties/list/items`) }, value: schema(`${at}/properties/value`) },
    required: ['value'], additionalProperties: false,
  })
  const refusesAll = from === 'z.never()'
  const whole = schema('#')
  const { type } = isRecord(whole) ? whole : {}
  return [
    { name: `alone_${index}`, inputSchema: root({ properties: { value: schema('#/properties/value') } }), args: refusesAll ? {} : { value } },
    {
      name: `deep_${index}`, args: refusesAll ? undefined : { a: { value, list: [value] } },
      inputSchema: root({ properties: { a: inner('#/properties/a') }, required: ['a'] }),
    },
    ...(isRecord(value) && !refusesAll && isRecord(whole)
      ? [{ name: `root_${index}`, inputSchema: { ...root(whole), type: type === undefined || isList(type) ? 'object' : type }, args: value }]
      : []),
  ]
}

const tools = constructs.flatMap(toolsOf)

const fits = (schema: Data, value: Data): boolean =>
  isRecord(schema) && checkAtOnce({ kind: 'value', schema, value, path: '' }).every(({ kind }) => kind === 'format')

/** Most pairs of profiles show the same schemas. */
const known = new Map<string, Checked>()
const checkNow = (subject: Subject): Checked => {
  const text = JSON.stringify(subject)
  const checked = known.get(text) ?? checkAtOnce(subject)
  known.set(text, checked)
  return checked
}

type Shown = DataObject & { name: string }

const shownOf = (profiles: readonly string[], offered: readonly Tool[]): readonly Shown[] => {
  const script = new Script({ checkNow, shapes: shapesOf(profiles, 's') }).begin([])
  script.client({ jsonrpc: '2.0', id: 9, method: 'tools/list' })
  script.server(result(9, { tools: offered.map(({ name, inputSchema }) => ({ name, description: '', inputSchema })) }))
  const { result: { tools } } =
    JSON.parse(script.raw.at(-1)?.bytes ?? '') as { result: { tools: (DataObject & { name: string })[] } }
  return tools
}

/** All pairs take half a minute on a busy machine; those whose rules are furthest apart are always tried. */
const isAll = process.env['MCP_CUSTOMS_TEST_ALL'] === '1'

const choices = profiles.flatMap((one, index) => [
  [one], ...profiles.slice(index + 1).map(other => [one, other])
    .filter(pair => isAll || pair.every(({ name }) => /^(?:openai-strict|gemini|bedrock)$/.test(name))),
])

t.test('the arguments of the constructs are valid', t => {
  for (const { name, inputSchema, args } of tools)
    if (args !== undefined && !fits(inputSchema, args)) t.fail(`${name}: ${JSON.stringify(inputSchema)}`)
  t.end()
})

t.test('whatever generators of schemas write is shown under each profile and each pair, as its profile accepts it', t => {
  for (const chosen of choices) {
    const names = chosen.map(({ name }) => name)
    const profile = combinedOf(chosen)
    if (profile === undefined) throw new Error('no profile')
    // A profile may take 128 tools only.
    const starts = Array.from({ length: Math.ceil(tools.length / 100) }, (_, n) => n * 100)
    const byName = new Map(starts.flatMap(first =>
      shownOf(names, tools.slice(first, first + 100)).map(one => [one.name, one])))
    for (const { name, inputSchema, args } of tools) {
      const one = byName.get(name)
      const about = () => `${names.join(' and ')}: ${JSON.stringify(inputSchema)} became ${JSON.stringify(one)}`
      if (one === undefined) { t.fail(`${about()}: withheld`); continue }
      const [refused] = accepts(one, profile, new Meter())
      if (refused !== undefined) t.fail(`${about()}: ${JSON.stringify(refused)}`)
      const made = unmetered(one)['inputSchema'] ?? null
      if (args !== undefined && chosen.length === 1 && profile.input.isStrict !== true && !fits(made, args)) t.fail(`${about()}: refuses ${JSON.stringify(args)}`)
    }
  }
  t.end()
})

/** A value as a client gives it that must name every member: null for those that are missing. */
const filled = (value: Data, schema: Data | undefined, root: DataObject): Data => {
  if (!isRecord(schema)) return value
  const { $ref, anyOf, properties, items } = schema
  if (isString($ref)) return filled(value, unmetered(referenceTarget(root, $ref) ?? true), root)
  if (isList(anyOf)) {
    const own = anyOf.map(one => filled(value, one, root))
    return own.find((one, index) => fits({ $defs: root['$defs'] ?? {}, ...each(anyOf[index]) }, one)) ?? value
  }
  if (isList(value)) return value.map(one => filled(one, items, root))
  if (!isRecord(value) || !isRecord(properties)) return value
  return Object.fromEntries([
    ...Object.entries(value)
      .map(([name, one]): [string, Data] => [name, filled(one ?? null, properties[name], root)]),
    ...Object.keys(properties).filter(name => value[name] === undefined)
      .map((name): [string, Data] => [name, null]),
  ])
}

const each = (schema: Data | undefined): DataObject => (isRecord(schema) ? schema : {})

const strict = profiles.filter(({ name }) => name === 'openai-strict')

/** What the server gets of these arguments from a strict client, which gives every member. */
const called = (declared: DataObject, args: Data): Data | undefined => {
  const [profile] = strict
  if (profile === undefined) throw new Error('no strict profile')
  const tool = unmetered(fit({ name: 'a', inputSchema: declared }, profile, new Meter()).made)
  const shown = each(tool['inputSchema'])
  const given = filled(args, shown, shown)
  // A strict profile cannot show everything.
  if (!fits(shown, given)) return undefined
  const script = new Script({ checkNow, shapes: shapesOf(['openai-strict'], 's') }).begin([{ name: 'a', inputSchema: declared }])
  script.client({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'a', arguments: given } })
  const { method, params } = JSON.parse(script.raw.at(-1)?.bytes ?? '{}') as { method?: string; params?: { arguments?: Data } }
  if (method !== 'tools/call' || !fits(declared, params?.arguments ?? null))
    throw new Error(`${JSON.stringify(declared)} shown as ${JSON.stringify(shown)}: ${JSON.stringify(given)} became ${JSON.stringify(params)}`)
  return params?.arguments
}

t.test('what a strict client can say in the schema that it is shown reaches the server', t => {
  const unsaid = tools.filter(({ name, inputSchema, args }) => {
    try {
      return args !== undefined && called(inputSchema, args) === undefined
    } catch (error) {
      t.fail(`${name}: ${String(error)}`)
      return false
    }
  })
  t.comment(`${unsaid.length} of ${tools.length} cannot be said: ${unsaid.map(({ name }) => name).join(' ')}`)
  t.ok(unsaid.length < tools.length / 3)
  t.end()
})

t.test('each tool of real servers with a union can be called by a strict client', { skip: absent(corpus) }, t => {
  let [unions, accepted, said] = [0, 0, 0]
  for (const { from, schema } of samples()) {
    if (from.endsWith(' out') || !/"(?:anyOf|oneOf|if)":/.test(JSON.stringify(schema))) continue
    unions++
    for (const value of fc.sample(nearly(schema, schema), { numRuns: isAll ? 200 : 10, seed: 5 })) {
      if (!isRecord(value) || !fits(schema, value)) continue
      accepted++
      try {
        if (called(schema, value) !== undefined) said++
      } catch (error) {
        t.fail(`${from}: ${String(error).slice(0, 2000)}`)
      }
    }
  }
  t.comment(`${unions} tools, ${accepted} accepted arguments, ${said} of them can be said`)
  t.ok(unions > 30 && said > 30)
  t.end()
})
