import type { Entry } from '#relay/core/vocabulary.js'

/** An entry as the core makes it, with what the test says of it. */
export const entry = (more: Partial<Entry> = {}): Entry => ({
  event: 'tools/call',
  from: 'client',
  server: 'weather',
  session: 's-1',
  client: { name: 'desk', version: '1.0' },
  revision: '2025-11-25',
  verdict: 'pass',
  findings: [],
  ...more,
})

export const started = entry({ event: 'session/start', from: 'relay' })
export const ended = entry({ event: 'session/end', from: 'relay', reason: 'the client went away' })

export const called = entry({
  tool: 'get_weather',
  id: 5,
  verdict: 'block',
  findings: [
    { rule: 'result/schema', path: '/result/structuredContent/temperature', message: 'must be number' },
  ],
  ms: 12.3456,
  serverMs: 11.1115,
  bytes: { request: 123, response: 456 },
  arguments: Buffer.from('{"city":"Bern","key":1.0}'),
  result: Buffer.from('{"structuredContent":{"temperature":"hot"}}'),
})
