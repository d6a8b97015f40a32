// What the servers of the benchmarks answer, made beforehand: only the id is put in.
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
const outputSchema = { type: 'object', properties: { rows: { type: 'array', items: rowSchema } }, required: ['rows'] }
const rows = count => ({ rows: Array.from({ length: count }, (_, i) => row(i)) })
const result = (structuredContent, text) => JSON.stringify({ content: [{ type: 'text', text }], structuredContent })
const counts = Object.entries({ small: 1, medium: 160, large: 7200 })
const results = new Map([
  ...counts.map(([name, count]) => [name, result(rows(count), 'ok')]),
  // As the specification advises: the text says the same.
  ...counts.map(([name, count]) => [`${name}-repeated`, result(rows(count), JSON.stringify(rows(count)))]),
])
const tools = [...results.keys()].map(name => ({ name, description: name, inputSchema: { type: 'object' }, outputSchema }))

/** The JSON text of the result; undefined where there is none. */
export const resultOf = ({ method, params }) => ({
  initialize: () => JSON.stringify({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '1' } }),
  'tools/list': () => JSON.stringify({ tools }),
  'tools/call': () => results.get(params.name),
}[method]?.())
