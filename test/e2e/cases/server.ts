import {
  answer, call, honest, legacy, modern, on, result, session, type Case, type Expected,
} from '../cases.js'

const params = {
  'sampling/createMessage': '{"messages":[{"role":"user","content":{"type":"text","text":"Hello"}}],"maxTokens":10}',
  'elicitation/create': '{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}',
  'roots/list': '{}',
} as const

type Method = keyof typeof params

const done = '{"content":[{"type":"text","text":"Done."}]}'

/** Before it answers a call, the server asks the client for something (until 2025-11-25). */
const asks = (
  name: string, rule: Case['rule'], verdict: Case['verdict'], method: Method, capabilities: string,
  options: readonly string[] = [],
): Case => {
  const question = `{"jsonrpc":"2.0","id":"q","method":"${method}","params":${params[method]}}`
  const reply = answer('"q"', '{"x":1}')
  const okay = answer('7', done)
  const blocked = verdict === 'block'
  const forwarded: Expected[] = [call(legacy, '7', 'honest'), blocked ? { error: -32601, id: '"q"' } : reply]
  return session({
    name: `${name} (${legacy})`,
    rule,
    revision: legacy,
    verdict,
    event: method,
    capabilities,
    options,
    tools: [honest],
    reactions: [{ when: '"tools/call"', say: [question] }, { when: '"id":"q"', say: [okay] }],
    steps: blocked
      ? [{ send: call(legacy, '7', 'honest'), gets: [okay] }]
      : [{ send: call(legacy, '7', 'honest'), gets: [question] }, { send: reply, gets: [okay] }],
    forwarded,
  })
}

/** Instead of a result, the server asks for input (2026-07-28). */
const requires = (
  name: string, rule: Case['rule'], verdict: Case['verdict'], method: Method, capabilities: string,
  options: readonly string[] = [],
): Case => {
  const said =
    answer(
      '7',
      `{"resultType":"input_required","inputRequests":{"q":{"method":"${method}","params":${params[method]}}},"requestState":"s"}`,
    )
  return session({
    name: `${name} (${modern})`,
    rule,
    revision: modern,
    verdict,
    event: 'tools/call',
    capabilities,
    options,
    tools: [honest],
    reactions: [on('tools/call', said)],
    steps: [{
      send: call(modern, '7', 'honest', '{}', capabilities),
      gets: [verdict === 'block' ? { error: -31000, id: '7' } : said],
    }],
  })
}

const all = '{"sampling":{},"elicitation":{},"roots":{}}'
const refused = [
  '--rule', 'server/sampling=block', '--rule', 'server/elicitation=block', '--rule', 'server/roots=block',
]

const both = (...about: Parameters<typeof asks>): readonly Case[] => [asks(...about), requires(...about)]

export const serverCases: readonly Case[] = [
  both(
    'sampling that the client did not declare is refused', 'server/request', 'block',
    'sampling/createMessage', '{"roots":{}}',
  ),
  both(
    'elicitation that the client did not declare is refused', 'server/request', 'block', 'elicitation/create',
    '{"sampling":{}}',
  ),
  both('roots that the client did not declare are refused', 'server/request', 'block', 'roots/list', '{}'),
  both('sampling that the client declared passes', 'server/request', 'pass', 'sampling/createMessage', all),
  both('elicitation that the client declared passes', 'server/request', 'pass', 'elicitation/create', all),
  both('roots that the client declared pass', 'server/request', 'pass', 'roots/list', all),
  both(
    'where the operator wants it, sampling is refused', 'server/sampling', 'block', 'sampling/createMessage',
    all, refused,
  ),
  both(
    'where the operator wants it, sampling is recorded', 'server/sampling', 'log', 'sampling/createMessage',
    all, ['--rule', 'server/sampling=log'],
  ),
  both(
    'where the operator wants it, elicitation is refused', 'server/elicitation', 'block',
    'elicitation/create', all, refused,
  ),
  both('where the operator wants it, roots are refused', 'server/roots', 'block', 'roots/list', all, refused),
  [
    session({
      name: 'a result that asks for nothing that is checked passes (2026-07-28)',
      rule: 'server/request',
      revision: modern,
      verdict: 'pass',
      event: 'tools/call',
      tools: [honest],
      reactions: [on('tools/call', answer('7', '{"resultType":"input_required","requestState":"s"}'))],
      steps: [{
        send: call(modern, '7', 'honest'),
        gets: [answer('7', result(modern, '{"resultType":"input_required","requestState":"s"}'))],
      }],
    }),
  ],
].flat()
