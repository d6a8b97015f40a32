// `npm run bench`. After `npm run build`:
//
//   node bench/main.mjs [bridges] [cold] [growth] [inside]     the parts; all of them when none is named
//     --rounds N (3)   --groups stdio-stdio,http-http,…   --only "raw pipe,ours,…"   --quick   a round, short, and without `inside`
//     --curves sessions,tools,…   those of growth with one of the words in their titles
//     --json FILE      what was measured, for programs and for --from
//     --from FILE      tells of what was measured before
//     --markdown       the table of docs/speed.md, alone; only what it needs is measured
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { inDocs, noiseOf, docsTable, tables } from './bridge-tables.mjs'
import { measureBridges } from './bridges.mjs'
import { coldTables, measureCold } from './cold.mjs'
import { growthTables, measureGrowth } from './growth.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' }, groups: { type: 'string' }, only: { type: 'string' }, curves: { type: 'string' }, json: { type: 'string' }, from: { type: 'string' },
    quick: { type: 'boolean', default: false }, markdown: { type: 'boolean', default: false },
  },
})
const list = text => text?.split(',').map(name => name.trim())
const options = {
  ...(values.markdown && inDocs), ...(values.groups && { groups: list(values.groups) }), ...(values.only && { only: list(values.only) }),
  curves: list(values.curves), quick: values.quick, rounds: Number(values.rounds ?? (values.quick ? 1 : 3)),
  note: text => process.stderr.write(`${text}\n`),
}
const known = ['bridges', 'cold', 'growth', 'inside']
const unknown = positionals.find(name => !known.includes(name))
if (unknown) throw new Error(`there is no part "${unknown}": ${known.join(', ')}`)
const parts = positionals.length > 0 ? positionals : values.markdown ? ['bridges'] : values.quick ? ['bridges', 'growth'] : known

const measured = values.from ? JSON.parse(readFileSync(values.from, 'utf8')) : {
  at: new Date().toISOString(), node: process.version, processor: cpus()[0].model, cores: cpus().length,
  ...(parts.includes('bridges') && { bridges: await measureBridges(options) }),
  ...(parts.includes('cold') && { cold: await measureCold({ rounds: options.rounds, note: options.note }) }),
  ...(parts.includes('growth') && { growth: await measureGrowth(options) }),
}
if (values.json) writeFileSync(values.json, JSON.stringify(measured))

const { at, node, processor, cores, bridges, cold, growth } = measured
const machine = `${at.slice(0, 10)}, Node ${node}, ${cores} × ${processor}`
if (values.markdown) console.log(`${docsTable(bridges)}\n\n${machine}. ${noiseOf(bridges)}`)
else console.log([machine, ...(bridges ? [tables(bridges)] : []), ...(cold ? [coldTables(cold)] : []), ...(growth ? [growthTables(growth)] : [])].join('\n\n'))

if (parts.includes('inside') && !values.from) {
  for (const name of ['session', 'parse', 'schema', 'rules', 'frames']) {
    console.log(`\n## ${name}\n`)
    spawnSync(process.execPath, ['--expose-gc', fileURLToPath(new URL(`${name}.mjs`, import.meta.url))], { stdio: 'inherit' })
  }
}
process.exit()
