// What the servers of the benchmarks list and answer, made beforehand: only the id is put in. BENCH_ANSWERS says which: the payloads of the bridges
// when it is left out; `tools:COUNT`, `schema:COUNT` and `results` are those of the growth curves.
const row = i => ({
  id: i, name: ['Ada Lovelace', 'Grace Hopper', 'Edsger Dijkstra'][i % 3], role: ['admin', 'editor', 'viewer'][i % 3],
  email: `u${i}@example.org`, createdAt: new Date(1.7e12 + i * 61_000).toISOString(), score: ((i * 7919) % 10_000) / 100,
})
const rowSchema = {
  type: 'object',
  properties: {
    id: { type: 'integer', minimum: 0 }, name: { type: 'string', pattern: "^[A-Za-z][A-Za-z .'-]{0,63}$" },
    role: { enum: ['admin', 'editor', 'viewer'] }, email: { type: 'string', format: 'email' },
    createdAt: { type: 'string', format: 'date-time' }, score: { type: 'number', minimum: 0, maximum: 100 },
  },
  required: ['id', 'name', 'role', 'email', 'createdAt', 'score'],
  additionalProperties: false,
}
const rowsSchema = { type: 'object', properties: { rows: { type: 'array', items: rowSchema } }, required: ['rows'] }
const rows = count => ({ rows: Array.from({ length: count }, (_, i) => row(i)) })

const said = (structuredContent, text = 'ok') => ({ content: [{ type: 'text', text }], structuredContent })
/** As the specification advises: the text says the same. */
const repeated = structuredContent => said(structuredContent, JSON.stringify(structuredContent))
const image = () => {
  const bytes = Buffer.from(Uint8Array.from({ length: 786_432 }, (_, i) => Math.imul(i, 2_654_435_761) >>> 24))
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1')
  return { content: [{ type: 'image', data: bytes.toString('base64'), mimeType: 'image/png' }] }
}
const prose = length => ({ content: [{ type: 'text', text: 'The quick brown fox jumps over the lazy dog. '.repeat(length / 45 + 1).slice(0, length) }] })

/** A tool, and what makes its result. */
const tool = (name, outputSchema, result) => [{ name, description: `Tells of ${name}.`, inputSchema: { type: 'object' }, ...(outputSchema && { outputSchema }) }, result]

/** What the bridges are measured by; each name says what the result is. */
export const sizes = ['small', 'medium', 'rows', 'blob', 'small-repeated', 'medium-repeated', 'rows-repeated']
const counts = { small: 2, medium: 160, rows: 7800 }

/** Bytes of the results of the growth curve, and their shapes. The longest fit `limits.messageBytes`. */
export const lengths = [100, 1000, 10_000, 100_000, 1_000_000, 4_000_000, 16_000_000]
const average = JSON.stringify(rows(1000)).length / 1000
const shapes = {
  rows: [rowsSchema, length => said(rows(Math.floor(length / average)))],
  repeated: [rowsSchema, length => repeated(rows(Math.floor(length / (average * 2.25))))],
  text: [undefined, length => prose(length)],
}
export const shapeNames = Object.keys(shapes)

const catalogues = {
  sizes: () => sizes.map(name => {
    const [kind, again] = name.split('-')
    return kind === 'blob' ? tool(name, undefined, image) : tool(name, rowsSchema, () => (again ? repeated : said)(rows(counts[kind])))
  }),
  tools: count => Array.from({ length: count }, (_, i) => tool(`tool-${i}`, { ...rowsSchema, title: `Rows ${i}` }, () => said(rows(2)))),
  schema: count => {
    // The schema itself is one, and `false` another.
    const keys = Array.from({ length: count - 2 }, (_, i) => `k${i}`)
    const schema = { type: 'object', properties: Object.fromEntries(keys.map(key => [key, { type: 'integer' }])), additionalProperties: false }
    return [tool('all', schema, () => said(Object.fromEntries(keys.map((key, i) => [key, i])))), tool('one', schema, () => said({ k0: 1 }))]
  },
  results: () => Object.entries(shapes).flatMap(([shape, [schema, make]]) => lengths.map(length => tool(`${shape}-${length}`, schema, () => make(length)))),
}

const [kind, count] = (process.env.BENCH_ANSWERS ?? 'sizes').split(':')
const once = make => {
  let made
  return () => (made ??= make())
}
const tools = new Map(catalogues[kind](Number(count)).map(([definition, make]) => [definition.name, { definition, result: once(make) }]))
const definitions = [...tools.values()].map(({ definition }) => definition)

/** What a client should see: the list, and the result of a tool. */
export const expected = { list: { tools: definitions }, result: name => tools.get(name).result() }

const encoded = result => Buffer.from(`,"result":${JSON.stringify(result)}}`)
const list = encoded(expected.list)
const made = new Map()
const tail = ({ method, params }) => {
  if (method === 'tools/list') return list
  if (method === 'initialize') return encoded({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '1' } })
  if (method !== 'tools/call') return encoded({})
  if (!made.has(params.name)) made.set(params.name, encoded(expected.result(params.name)))
  return made.get(params.name)
}

/** The answer to a message's bytes, in two pieces of bytes, and the method; undefined where none is due. */
export const responseTo = bytes => {
  const message = JSON.parse(bytes)
  if (message.id === undefined) return undefined
  return { method: message.method, pieces: [Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)}`), tail(message)] }
}
