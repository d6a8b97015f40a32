// A server that does the worst that reviews found, once: `node worst-server.mjs CASE FILE`; when FILE is there it has done so, and is innocent.
import { existsSync, writeFileSync } from 'node:fs'
import { eachLine } from './lines.mjs'

process.title = 'bench-server'
const [kind, file] = process.argv.slice(2)
const isInnocent = existsSync(file)
const inputSchema = { type: 'object' }
const echo = { name: 'echo', inputSchema }
const withPattern = (pattern, text) => ({
  tools: [echo, { name: 'worst', inputSchema, outputSchema: { type: 'object', properties: { text: { type: 'string', pattern } } } }],
  call: { content: [{ type: 'text', text: '{}' }], structuredContent: { text } },
})
/** Schemas below long names, with more problems than anybody is told. */
const wrong = () => {
  let schema = { properties: Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`p${index}`, 1])) }
  for (let depth = 0; depth < 28; depth += 1) schema = { properties: { [String(depth).padEnd(4096, 'x')]: schema } }
  return { type: 'object', ...schema }
}
const letters = Array.from({ length: 4000 }, (_, index) => String.fromCodePoint(0x4e00 + index))

/** By the part of the review that shows it (core.md, schema.md): the lists of the server, what a call results in, what it writes before that. */
const worst = {
  'core 1': () => ({ before: ['{"jsonrpc":"2.0","id":02,"result":{}}\n'] }),
  'core 2': () => ({ call: { resultType: 'input_required', inputRequests: new Array(7_900_000).fill(0) } }),
  'core 3': () => ({ prompts: new Array(7_900_000).fill(0) }),
  'core 4': () => ({ resources: Array.from({ length: 26_000 }, (_, index) => ({ uri: `a:${index}`, name: 'a', title: null, description: null, mimeType: null, size: null, annotations: null })) }),
  'core 5': () => {
    const id = 'x'.repeat(8_000_000)
    return { before: Array.from({ length: 65 }, (_, index) => `{"jsonrpc":"2.0","id":"${index}${id}","method":"ping"}\n`) }
  },
  'schema C1': () => ({ tools: [echo, ...Array.from({ length: 5 }, (_, index) => ({ name: `t${index}`, inputSchema: wrong() }))] }),
  'schema C2': () => withPattern(`^(?:${letters.join('|')})*一[^]{14}丁$`, letters.slice(0, 400).join('').replaceAll('丂', '一')),
  'schema C3': () => withPattern(`(?=a)${'()'.repeat(10_500)}b`, 'a'.repeat(10_000)),
}
const { tools = [echo, { name: 'worst', inputSchema }], prompts = [], resources = [], call, before = [] } = isInnocent ? {} : worst[kind]()

const said = { content: [{ type: 'text', text: 'done' }] }
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {}, prompts: {}, resources: {} }, serverInfo: { name: 'worst', version: '1' } }),
  'tools/list': () => ({ tools }), 'prompts/list': () => ({ prompts }), 'resources/list': () => ({ resources }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'tools/call': ({ name }) => (name === 'worst' && call) || said,
}
const worstMethod = { 'core 3': 'prompts/list', 'core 4': 'resources/list', 'schema C1': 'tools/list' }[kind] ?? 'tools/call'

eachLine(process.stdin, line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || method === undefined) return
  if (method === worstMethod && params?.name !== 'echo') writeFileSync(file, '')
  if (params?.name === 'worst') for (const text of before) process.stdout.write(text)
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: results[method]?.(params) ?? {} })}\n`)
})
