// What profiles do to tools, and what they cost. After `npm run build` and the compilation of test/:
//   node bench/profiles.mjs corpus [FOLDER]    every tool of real servers under every profile, and by the vendors' own code where
//                                              FOLDER has their packages: npm i openai @google/genai (sdk: the installed ones)
//   node bench/profiles.mjs fuzz [NUMBER]      generated schemas and values: what is accepted stays accepted
//   node bench/profiles.mjs values [NUMBER]    so it is for that many generated values of each real schema
//   node bench/profiles.mjs cost               a listing of 400 tools with a profile, beside one without
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { Relay } from '../dist/relay/core/relay.js'
import { defaultLimits } from '../dist/relay/config/configuration.js'
import { fit } from '../dist/relay/profiles/fit.js'
import { profiles } from '../dist/relay/profiles/index.js'
import { shapesOf } from '../dist/relay/profiles/shape.js'
import { Meter } from '../dist/relay/protocol/json.js'
import { parseFrame } from '../dist/relay/protocol/parse.js'
import { presetPolicy, rules } from '../dist/relay/rules/index.js'
import { createSchemaChecker } from '../dist/relay/schema/index.js'

const corpus = new URL('../../shared/corpus/', import.meta.url)
const linesOf = server => readFileSync(new URL(`${encodeURIComponent(server)}/tools-list.jsonl`, corpus), 'utf8').trim().split('\n')
const tools = () => readdirSync(corpus).flatMap(server =>
  linesOf(server).flatMap(line => (JSON.parse(line).result?.tools ?? []).map(tool => ({ server, tool }))))

const fitted = (tool, profile) => fit(tool, profile, new Meter(undefined, 1e9)).made
const isAccepted = (tool, profile) => fit(tool, profile, new Meter(undefined, 1e9)).refused.length === 0

/** The vendors' own validators: each throws for a tool that its client refuses. */
const vendorsIn = async folder => {
  const own = createRequire(import.meta.url)
  const { ListToolsResultSchema } = own('@modelcontextprotocol/sdk/types.js')
  const { AjvJsonSchemaValidator } = own('@modelcontextprotocol/sdk/validation/ajv')
  const { Ajv2020 } = own('ajv/dist/2020.js')
  const sdk = validator => ({ name, inputSchema, outputSchema }) => {
    ListToolsResultSchema.parse({ tools: [{ name, inputSchema, ...(outputSchema && { outputSchema }) }] })
    for (const schema of [inputSchema, outputSchema]) if (schema) validator.getValidator(schema)({})
  }
  const plain = () => new AjvJsonSchemaValidator()
  const strict = () => new AjvJsonSchemaValidator(new Ajv2020({ strict: false, validateFormats: false }))
  const vendors = [
    ['sdk-1', 'zod schemas and Ajv of @modelcontextprotocol/sdk', sdk(plain())],
    ['sdk-2-beta', 'zod schemas of @modelcontextprotocol/sdk with Ajv2020, the dialect of 2.0.0-beta.5', sdk(strict())],
    ['claude-desktop', 'the same', sdk(strict())],
  ]
  if (folder === undefined) return vendors
  const at = path => pathToFileURL(join(folder, "node_modules", path)).href
  const { toStrictJsonSchema } = await import(at('openai/lib/transform.mjs'))
  vendors.push(['openai-strict', 'toStrictJsonSchema of openai, which must leave it as it is', ({ inputSchema }) => {
    const theirs = toStrictJsonSchema(inputSchema)
    if (JSON.stringify(theirs) !== JSON.stringify(inputSchema)) throw new Error('changed')
  }])
  const { mcpToTool } = await import(at('@google/genai/dist/node/index.mjs'))
  vendors.push(['gemini', 'mcpToTool of @google/genai', async tool => {
    const client = { listTools: async () => ({ tools: [tool] }), callTool: async () => ({}) }
    const { functionDeclarations } = await mcpToTool(client).tool()
    if (functionDeclarations?.length !== 1) throw new Error('dropped')
  }])
  return vendors
}

const onCorpus = async folder => {
  const all = tools()
  for (const profile of profiles) {
    const before = all.filter(({ tool }) => isAccepted(tool, profile)).length
    const after = all.filter(({ tool }) => isAccepted(fitted(tool, profile), profile)).length
    console.log(`${profile.name.padEnd(15)} ${before} of ${all.length} as they are, ${after} as they are shown`)
  }
  for (const [name, what, check] of await vendorsIn(folder)) {
    const profile = profiles.find(one => one.name === name)
    const count = async change => {
      const failed = []
      for (const { server, tool } of all) {
        try { await check(change(tool)) } catch (error) { failed.push(`${server} ${tool.name}: ${error.message}`.slice(0, 160)) }
      }
      return failed
    }
    const [before, after] = [await count(tool => tool), await count(tool => fitted(tool, profile))]
    console.log(`${name.padEnd(15)} ${what}: refuses ${before.length} as they are, ${after.length} as they are shown`)
    for (const failure of after.slice(0, 3)) console.log(`    ${failure}`)
  }
}

const { checkAtOnce } = await import('../build/relay/core/engine.js')
const fits = (schema, value) => checkAtOnce({ kind: 'value', schema, value, path: '' }).every(({ kind }) => kind === 'format')
const isUsable = schema => checkAtOnce({ kind: 'schema', schema, path: '' }).length === 0
const wide = profiles.filter(({ input }) => input.isStrict !== true)

/** @returns the number of accepted values */
const compared = (schema, values) => {
  const own = values.filter(value => typeof value === 'object' && value !== null && !Array.isArray(value) && fits(schema, value))
  if (own.length === 0) return 0
  for (const profile of wide) {
    const { inputSchema } = fitted({ name: 'tool', inputSchema: schema }, profile)
    if (inputSchema === schema) continue
    for (const value of own) {
      if (!fits(inputSchema, value)) throw new Error(`${profile.name}: ${JSON.stringify({ schema, inputSchema, value })}`)
    }
  }
  return own.length
}

const fuzz = async number => {
  const { inputs, calls } = await import('../build/relay/profiles/schemas.js')
  let [made, accepted] = [0, 0]
  const seed = Date.now() & 0x7fffffff
  for (let round = 0; made < number; round++) {
    for (const [schema, values] of fc.sample(fc.tuple(inputs, fc.array(calls, { minLength: 10, maxLength: 10 })), { numRuns: 500, seed: seed + round })) {
      const plain = JSON.parse(JSON.stringify(schema))
      made += values.length
      if (isUsable(plain)) accepted += compared(plain, values)
    }
  }
  console.log(`seed ${seed}: ${made} generated values, ${accepted} of them accepted by their schema, and by that of each of ${wide.length} profiles`)
}

const onValues = async number => {
  const { nearly } = await import('../build/relay/schema/nearly.js')
  let [schemas, accepted] = [0, 0]
  for (const { tool: { inputSchema } } of tools()) {
    if (!isUsable(inputSchema)) continue
    schemas++
    accepted += compared(inputSchema, fc.sample(nearly(inputSchema, inputSchema), { numRuns: number, seed: 1 }))
  }
  console.log(`${schemas} schemas, ${number} values each: ${accepted} accepted ones are accepted by the schema of each of ${wide.length} profiles`)
}

/** The least time of a listing by the core, in milliseconds; the first of a process, and a later one. */
const cost = async () => {
  const checker = createSchemaChecker(defaultLimits)
  const line = linesOf('hostinger-api-mcp@1.63.2')[0]
  const limits = { messageBytes: 1 << 24, depth: 128 }
  const exchange = { name: 'stdio', context: '' }
  const listing = async shapes => {
    const relay = new Relay({
      session: 's', nonce: 'n', stateless: false,
      judgement: {
        server: 's', rules, trusted: true, limits: { listMs: 1000, requestMs: 0, tools: 5000 }, intent: false,
        ruling: { policy: presetPolicy('standard', { purpose: 'relay', locked: false }), tools: new Map(), shapes },
      },
      checkNow: subject => { const now = checker.check(subject); return now instanceof Promise ? undefined : now },
    })
    const { stdioExchange } = await import('../dist/relay/core/event.js')
    const hear = async (from, text) => {
      const frame = parseFrame(Buffer.from(text), limits)
      for (let effects = relay.handle({ type: 'frame-received', from, exchange: stdioExchange ?? exchange, frame }, 0); effects.length > 0;) {
        const next = []
        for (const effect of effects) {
          if (effect.type !== 'check') continue
          const results = await Promise.all(effect.subjects.map(subject => checker.check(subject)))
          next.push(...relay.handle({ type: 'checked', check: effect.check, results }, 0))
        }
        effects = next
      }
    }
    const { id } = JSON.parse(line)
    await hear('client', `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/list"}`)
    const before = performance.now()
    await hear('server', line)
    return performance.now() - before
  }
  for (const names of [[], ...profiles.map(({ name }) => [name])]) {
    const shapes = shapesOf(names, 's')
    const first = await listing(shapes)
    let least = Infinity
    for (let run = 0; run < 15; run++) least = Math.min(least, await listing(shapes))
    console.log(`${(names[0] ?? 'no profile').padEnd(15)} first ${first.toFixed(1)} ms, later ${least.toFixed(1)} ms`)
  }
  await checker.close()
}

const [, , what = 'corpus', argument] = process.argv
await { corpus: onCorpus, fuzz: number => fuzz(Number(number ?? 100_000)), values: number => onValues(Number(number ?? 200)), cost }[what](argument)
