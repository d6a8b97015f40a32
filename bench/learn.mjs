// What `learn` finds, and what it finds that is none: official servers are called with generated arguments, learnt from by half of
// the results, and judged on the other half, as it came and changed in one place. After `npm run build`: node bench/learn.mjs [CALLS]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { defaultLimits } from '../dist/relay/config/configuration.js'
import { promotionOf } from '../dist/relay/core/tool-results.js'
import { LearntTool } from '../dist/desk/learn/tool.js'
import { createSchemaChecker } from '../dist/relay/schema/index.js'
import { numbersFrom } from './random.mjs'

const calls = Number(process.argv[2] ?? 200)
const resolve = name => createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)

const random = numbersFrom(20261122)
const below = most => Math.floor(random() * most)
const pick = list => list[below(list.length)]
const words = 'alpha beta gamma delta a longer phrase with several words and 12 numbers; éü 日本 {"json":true}'.split(' ')
const phrase = () => Array.from({ length: 1 + below(12) }, () => pick(words)).join(' ')

const folder = mkdtempSync(join(tmpdir(), 'learn-'))
const files = Array.from({ length: 30 }, (_, index) => join(folder, `d${index % 5}`, `file${index}.txt`))
for (const [index, file] of files.entries()) {
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, Array.from({ length: 1 + (index * 7) % 40 }, phrase).join('\n'))
}

/** By name, where anything would do; undefined: by the schema. */
const special = {
  path: tool => (/dir|list|tree|search/.test(tool) ? pick([folder, ...files.map(file => join(file, '..'))]) : pick(files)),
  paths: () => Array.from({ length: 1 + below(4) }, () => pick(files)),
  source: () => pick(files),
  destination: () => join(folder, `moved${below(1e9)}`),
  pattern: () => pick(['*.txt', '**/*1*', 'file*', 'none']),
  edits: () => [{ oldText: 'alpha', newText: phrase() }],
  duration: () => 0.01,
  steps: () => 1,
  entityName: () => `n${below(20)}`,
  from: () => `n${below(20)}`,
  to: () => `n${below(20)}`,
}

const generate = (schema, tool, name = '') => {
  if (special[name] && name !== '' && !(name === 'pattern' && schema.type !== 'string')) return special[name](tool)
  if (schema.enum) return pick(schema.enum)
  if (schema.const !== undefined) return schema.const
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {})
        .filter(([key]) => (schema.required ?? []).includes(key) || random() < 0.5)
        .filter(([key]) => !(key === 'head' || key === 'tail') || random() < 0.2)
        .map(([key, one]) => [key, generate(one, tool, key)]))
    case 'array':
      return Array.from({ length: 1 + below(3) }, () => generate(schema.items ?? {}, tool, name === 'names' || name === 'entityNames' ? 'entityName' : ''))
    case 'integer':
    case 'number': {
      const least = schema.minimum ?? 0
      const whole = least + below(Math.min((schema.maximum ?? least + 50) - least, 50) + 1)
      return type === 'number' && schema.maximum === undefined && random() < 0.5 ? whole + random() : whole
    }
    case 'boolean':
      return random() < 0.5
    default:
      return name === 'name' && tool.includes('entit') ? `n${below(20)}` : phrase()
  }
}

const clone = value => structuredClone(value)
const spots = (value, found = []) => {
  if (Array.isArray(value)) value.forEach(one => spots(one, found))
  else if (value !== null && typeof value === 'object') for (const key of Object.keys(value)) {
    found.push([value, key])
    spots(value[key], found)
  }
  return found
}
const retyped = value => (typeof value === 'string' ? below(100) + 0.5 : typeof value === 'number' ? 'text' : typeof value === 'boolean' ? 'yes' : value === null ? 7 : 'text')

const inPlace = change => holder => {
  const copy = clone(holder)
  const spot = pick(spots(copy))
  if (spot === undefined) return undefined
  change(...spot)
  return copy
}
const places = {
  'member dropped': inPlace((object, key) => { delete object[key] }),
  'member renamed': inPlace((object, key) => { object[`${key}X`] = object[key]; delete object[key] }),
  'another type': inPlace((object, key) => { object[key] = retyped(object[key]) }),
}
const wholes = {
  'block added': result => ({ ...result, content: [...result.content, { type: 'text', text: 'One more thing.' }] }),
  'text ten times': result => {
    const texts = result.content.filter(({ type }) => type === 'text')
    if (texts.length === 0) return undefined
    const one = pick(texts)
    return { ...result, content: result.content.map(block => (block === one ? { ...block, text: block.text.repeat(10) } : block)) }
  },
}

/** A result changed in one place: in its data where there is data, else anywhere. */
const mutate = (kind, source, result) => {
  if (wholes[kind]) return wholes[kind](result)
  if (source === 'structured') {
    const structuredContent = places[kind](result.structuredContent)
    return structuredContent && { ...result, structuredContent }
  }
  if (source === 'from-text') {
    const value = places[kind](promotionOf(result).value)
    return value && { ...result, content: result.content.map(block => (block.type === 'text' ? { ...block, text: JSON.stringify(value) } : block)) }
  }
  const { content } = result
  const changed = places[kind]({ content })
  return changed && { ...changed }
}

const checker = createSchemaChecker(defaultLimits)
const fits = async (schema, value) => (await checker.check({ kind: 'value', schema, value, path: '' })).filter(({ kind }) => kind !== 'format').length === 0

/** What a relay that is told `structured: from-text` would find. */
const isFound = async ({ source, outputSchema, resultSchema }, result) => {
  if (!(await fits(resultSchema, result))) return true
  if (outputSchema === undefined) return false
  const value = source === 'structured' ? result.structuredContent : promotionOf(result)?.value
  return value === undefined || !(await fits(outputSchema, value))
}

const tally = new Map()
const count = (family, kind, found) => {
  const key = `${family}|${kind}`
  const [hits, all] = tally.get(key) ?? [0, 0]
  tally.set(key, [hits + (found ? 1 : 0), all + 1])
}
const perTool = []
let learning = 0n
let seen = 0

const skipped = /long-running|sampling|elicitation|roots|simulat|logging|toggle|gzip|research/
for (const [server, ...args] of [['everything', 'stdio'], ['filesystem', folder], ['memory']]) {
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [resolve(server), ...args], stderr: 'ignore', env: { ...process.env, MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } }))
  const { tools } = await client.request({ method: 'tools/list' }, (await import('@modelcontextprotocol/sdk/types.js')).ListToolsResultSchema)
  for (const tool of tools.filter(({ name }) => !skipped.test(name))) {
    const results = []
    const { ResultSchema } = await import('@modelcontextprotocol/sdk/types.js')
    for (let call = 0; call < calls; call++) {
      try {
        results.push(await client.request({ method: 'tools/call', params: { name: tool.name, arguments: generate(tool.inputSchema, tool.name) } }, ResultSchema))
      } catch {
        // A JSON-RPC error is no result.
      }
    }
    // Each with the fields that the tool really returned, errors among them.
    const half = results.filter((_, index) => index % 2 === 0)
    const other = results.filter((_, index) => index % 2 === 1 && results[index].isError !== true)
    for (const variant of tool.outputSchema === undefined ? ['as it is'] : ['as it is', 'from-text or prose']) {
      const strip = variant === 'as it is' ? result => result : ({ structuredContent: _, ...result }) => result
      const learnt = new LearntTool()
      const start = process.cpuUsage()
      for (const result of half) learnt.see(strip(result))
      const contract = learnt.contract({ strict: false })
      const { user, system } = process.cpuUsage(start)
      learning += BigInt(user + system)
      seen += half.length
      if (contract === undefined || other.length === 0) continue
      const family = contract.source === 'prose' ? 'prose' : 'JSON'
      let alarms = 0
      for (const result of other.map(strip)) {
        const alarm = await isFound(contract, result)
        if (alarm && process.env.SHOW) console.error(server, tool.name, JSON.stringify(result).slice(0, 300))
        alarms += alarm ? 1 : 0
        count(family, 'false alarm', alarm)
        for (const kind of [...Object.keys(places), ...Object.keys(wholes)]) {
          const mutated = mutate(kind, contract.source, result)
          if (mutated !== undefined) count(family, kind, await isFound(contract, mutated))
        }
      }
      perTool.push(`${server} ${tool.name} (${contract.source}): ${half.length} learnt (${contract.errors} errors), ${alarms} of ${other.length} false alarms, ${contract.sureness}`)
    }
  }
  await client.close()
}
await checker.close()
rmSync(folder, { recursive: true, force: true })

console.log(perTool.join('\n'))
for (const family of ['JSON', 'prose']) {
  const rows = [...tally].filter(([key]) => key.startsWith(`${family}|`)).map(([key, [hits, all]]) => [key.split('|')[1], hits, all])
  for (const [kind, hits, all] of rows) console.log(`${family.padEnd(6)} ${kind.padEnd(16)} ${String(hits).padStart(6)} of ${String(all).padStart(6)}  ${((100 * hits) / all).toFixed(2)} %`)
  const found = rows.filter(([kind]) => kind !== 'false alarm').reduce(([a, b], [, hits, all]) => [a + hits, b + all], [0, 0])
  console.log(`${family.padEnd(6)} ${'all changes'.padEnd(16)} ${String(found[0]).padStart(6)} of ${String(found[1]).padStart(6)}  ${((100 * found[0]) / found[1]).toFixed(2)} %`)
}
console.log(`learning: ${(Number(learning) / 1000 / Math.max(seen, 1)).toFixed(3)} ms of CPU a result`)
