// What the rules cost on the main thread, beyond parsing and schema validation: the least time of each case (noise only
// ever adds), and the rules that take the most of it. Run after `npm run build`: node bench/rules.mjs
import { Meter } from '../dist/relay/protocol/json.js'
import { Places } from '../dist/relay/protocol/places.js'
import { rules } from '../dist/relay/rules/index.js'

const schema = { type: 'object', properties: { temperature: { type: 'number' }, conditions: { type: 'string' } } }
const definition = { name: 'weather', description: 'Tells the weather.', inputSchema: schema, outputSchema: schema }
const tool = { name: 'weather', definition, inputSchemas: [schema], outputSchemas: [schema] }
const revision = '2025-11-25'
const answer = given => {
  const value = JSON.parse(JSON.stringify(given))
  const [method, path] = ['tools/call', '/result']
  const { parts, links } = new Places(path, false, new Meter()).inOutcome(value).findAll()
  return {
    method, path, value, parts, links, revision, plain: false, name: 'weather', tool, checked: [], contract: undefined,
    structuredText: () => JSON.stringify(value.structuredContent), repeats: [], promotion: () => undefined,
  }
}
const told = value => ({ content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value })

const megabyte = 1 << 20
const bytes = Buffer.alloc((megabyte / 4) * 3)
for (let place = 0; place < bytes.length; place++) bytes[place] = (place * 7919 + (place >> 8)) & 255
const prose = 'The quick brown fox jumps over the lazy dog. '.repeat(megabyte / 45)
const rows = Array.from({ length: 9500 }, (_, row) => ({
  row, name: `name ${row}`, path: `/a/b/c/${row}`, score: row / 7, tags: ['x', 'y'],
}))
const withBlock = block => answer({ content: [block] })
const withText = text => withBlock({ type: 'text', text })

const cases = {
  'a tool': ['onTool', { sent: definition, definition, path: '/result/tools/0', revision, trusted: true, schemas: [], repeated: false, first: undefined, settled: false }],
  'a call': ['onCall', { name: 'weather', arguments: {}, tool, denied: false, listed: true, revision, mismatch: undefined }],
  'a small result': ['onResult', answer(told({ temperature: 22.5, conditions: 'Partly cloudy' }))],
  'an error': ['onResult', answer({ content: [{ type: 'text', text: 'No such place' }], isError: true })],
  '1 MB of ASCII text': ['onResult', withText(prose)],
  '1 MB of text with a few other letters': ['onResult', withText(`“${prose}”`)],
  '1 MB of Chinese text': ['onResult', withText('敏捷的棕色狐狸跳过了懒狗。'.repeat(megabyte / 39))],
  '1 MB of emoji': ['onResult', withText('☺️👩🏽‍⚕️'.repeat(megabyte / 23))],
  '1 MB of an image': ['onResult', withBlock({ type: 'image', data: bytes.toString('base64'), mimeType: 'image/x-own' })],
  '1 MB of rows': ['onResult', answer({ content: [{ type: 'text', text: 'Many rows.' }], structuredContent: { rows } })],
  '1 MB of rows, and the same as text': ['onResult', answer(told({ rows }))],
}

const time = (rules, power, subject) => {
  let least = Infinity
  const until = process.hrtime.bigint() + 40_000_000n
  for (let run = 0; run < 20 || process.hrtime.bigint() < until; run++) {
    const start = process.hrtime.bigint()
    for (const rule of rules) rule[power]?.(subject, new Meter())
    least = Math.min(least, Number(process.hrtime.bigint() - start) / 1000)
  }
  return least
}

const show = µs => (µs < 100 ? `${µs.toFixed(1)} µs` : `${(µs / 1000).toFixed(2)} ms`)

for (const [title, [power, subject]] of Object.entries(cases)) {
  const judging = rules.filter(({ name }) => !name.startsWith('advice/'))
  const all = time(judging, power, subject)
  const each = judging.map(rule => ({ name: rule.name, least: time([rule], power, subject) }))
  const [first, second] = each.sort((a, b) => b.least - a.least)
  const costly = [first, second].map(({ name, least }) => `${name} ${show(least)}`).join(', ')
  console.log(`${title.padEnd(40)} ${show(all).padStart(9)}   ${costly}`)
}
