import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Meter } from '#protocol/json.js'
import { isObject, unmetered, type Json, type JsonObject } from '#protocol/unmetered.js'
import { accepts } from '#profiles/accepts.js'
import { adapted } from '#profiles/adapt.js'
import { profiles } from '#profiles/index.js'
import { checkAtOnce } from '../core/engine.js'
import { absent, corpus, drafts, groupsOf, samples, suite } from '../schema/ask.js'
import { nearly } from '../schema/nearly.js'
import { calls, inputs } from './schemas.js'

/** Profiles that force no subset. */
const wide = profiles.filter(({ input }) => input.isStrict !== true)

const toolOf = (inputSchema: Json) => ({ name: 'tool', inputSchema })

const fits = (schema: Json, value: Json): boolean =>
  isObject(schema) &&
  checkAtOnce({ kind: 'value', schema, value, path: '' }).every(({ kind }) => kind === 'format')

const isUsable = (schema: Json): boolean => checkAtOnce({ kind: 'schema', schema, path: '' }).length === 0

/** More of everything; else a part, because it takes minutes. */
const isAll = process.env['MCP_CUSTOMS_TEST_ALL'] === '1'

/** The input schema that each profile makes of one; each must be usable, and accepted by its checker. */
const shown = (
  t: Test, schema: Json, of = profiles,
): readonly (readonly [name: string, schema: JsonObject])[] =>
  of.map(profile => {
    const tool = adapted(toolOf(schema), [profile], new Meter())
    const about = () => `${profile.name}: ${JSON.stringify(schema)} became ${JSON.stringify(tool)}`
    const refused = accepts(tool, profile, new Meter())
    if (refused.length > 0) t.fail(`${about()}: ${JSON.stringify(refused[0])}`)
    const made = unmetered(tool)['inputSchema']
    if (!isObject(made) || !isUsable(made)) t.fail(`${about()}: not usable`)
    return [profile.name, isObject(made) ? made : {}]
  })

t.test('whatever the official suite calls valid is valid under each profile', { skip: absent(suite) }, t => {
  let values = 0
  for (const [draft, uri] of isAll ? drafts : drafts.slice(0, 1)) {
    for (const { file, schema, tests } of groupsOf(draft, uri)) {
      if (!isObject(schema) || !isUsable(schema)) continue
      for (const [name, made] of shown(t, schema, wide)) {
        for (const { data, valid, description } of tests) {
          if (!valid || !isObject(data)) continue
          values++
          if (!fits(made, data)) t.fail(`${draft}/${file}, ${description}: ${name}: ${JSON.stringify(made)}`)
        }
      }
    }
  }
  t.comment(`${values} values`)
  t.ok(values > 1000)
  t.end()
})

t.test('what a schema accepts, the schema that a profile makes of it accepts', t => {
  let accepted = 0
  fc.assert(
    fc.property(inputs, fc.array(calls, { minLength: 5, maxLength: 5 }), (input, values) => {
      const schema = JSON.parse(JSON.stringify(input)) as JsonObject
      if (!isUsable(schema)) return
      const made = shown(t, schema)
      for (const value of values) {
        if (!fits(schema, value)) continue
        accepted++
        for (const [name, wider] of made) {
          if (name !== 'openai-strict' && !fits(wider, value))
            throw new Error(`${name}: ${JSON.stringify(value)} is refused by ${JSON.stringify(wider)}`)
        }
      }
    }),
    { numRuns: isAll ? 3000 : 100 },
  )
  t.comment(`${accepted} accepted values`)
  t.ok(accepted > 20)
  t.end()
})

t.test('each profile accepts each tool of real servers, and each takes the arguments', { skip: absent(corpus) }, t => {
  let [schemas, values] = [0, 0]
  for (const [index, { from, schema, values: real }] of samples().entries()) {
    if (from.endsWith(' out')) continue
    schemas++
    for (const profile of profiles) {
      const tool = adapted(toolOf(schema), [profile], new Meter())
      if (accepts(tool, profile, new Meter()).length > 0) t.fail(`${profile.name}: ${from}`)
    }
    if (!isAll && index % 20 !== 0 && real.length === 0) continue
    const made = shown(t, schema)
    const generated = fc.sample(nearly(schema, schema), { numRuns: isAll ? 200 : 5, seed: 3 })
    for (const value of [...real, ...generated]) {
      if (!isObject(value) || !fits(schema, value)) continue
      values++
      for (const [name, wider] of made) {
        if (name !== 'openai-strict' && !fits(wider, value))
          t.fail(`${from}: ${name}: ${JSON.stringify(value).slice(0, 300)}`)
      }
    }
  }
  t.comment(`${schemas} schemas, ${values} accepted values`)
  t.ok(schemas > 800 && values > 200)
  t.end()
})
