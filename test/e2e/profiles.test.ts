import t from 'tap'
import { profiles } from '#relay/profiles/index.js'
import { Meter, type JsonObject } from '#relay/protocol/json.js'
import { accepts } from '../relay/profiles/oracle.js'
import { wrap } from './bridge.js'
import { answer, legacy, listResult, on, request, result } from './cases.js'
import { initialize } from './stubborn.js'

// A name with a dot, alternatives at the root, a tuple, optional arguments, a draft-07 dialect.
const bad = '{"name":"files.read","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#",' +
  '"type":"object","properties":{"path":{"type":"string","format":"uri"},"lines":{"type":"array",' +
  '"items":[{"type":"integer"},{"type":"integer"}]},"limit":{"type":"integer"}},' +
  '"oneOf":[{"required":["path"]},{"required":["lines"]}]}}'

t.test('a strict client gets a bad tool as it accepts it, and the server gets its own name and arguments', async t => {
  const { relay, received, audit } = wrap(t, {
    options: ['--profile', 'openai-strict'],
    reactions: [
      on('initialize', answer('0', `{"protocolVersion":"${legacy}","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)),
      on('tools/list', answer('1', listResult(legacy, [bad]))),
      on('tools/call', answer('2', result(legacy, '{"content":[]}'))),
    ],
  })
  relay.send(initialize)
  await relay.responseTo('0')
  relay.send(request(legacy, '1', 'tools/list'))
  const { result: { tools } } =
    JSON.parse(await relay.responseTo('1')) as { result: { tools: (JsonObject & { name: string })[] } }
  const [shown] = tools
  t.match(shown?.name, /^files_read_[0-9a-f]{12}$/)
  for (const strict of profiles.filter(({ name }) => name === 'openai-strict'))
    t.same(accepts(shown ?? {}, strict, new Meter()), [])

  const name = JSON.stringify(shown?.name)
  relay.send(request(legacy, '2', 'tools/call', `"name":${name},"arguments":{"path":"a:b","lines":null,"limit":null}`))
  t.match(JSON.parse(await relay.responseTo('2')), { result: { content: [] } })
  await relay.end()
  const call = received().find(line => line.includes('tools/call')) ?? ''
  t.match(call, /"params":\{"name":"files\.read","arguments":\{"path":"a:b"\}/)
  t.match(audit().filter(({ event }) => event === 'tools/list' || event === 'tools/call'), [
    { event: 'tools/list', verdict: 'mend', findings: [{ rule: 'tool/profile', path: '/result/tools/0' }] },
    {
      event: 'tools/call', verdict: 'mend', tool: 'files.read',
      findings: [
        { rule: 'tool/profile', path: '/params/name' },
        { rule: 'tool/profile', path: '/params/arguments/lines' },
        { rule: 'tool/profile', path: '/params/arguments/limit' },
      ],
    },
  ])
})
