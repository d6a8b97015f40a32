import {
  answer, bothEras, call, honest, listResult, on, request, result, session, type Case, type ListedTool,
} from '../cases.js'

const strict =
  '{"name":"add","description":"Adds.","inputSchema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false}}'
const fine = '{"content":[{"type":"text","text":"Fine."}]}'
const broken =
  '{"name":"broken","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/missing"}}}}'

export const callCases: readonly Case[] = bothEras.flatMap(revision => {
  const okay = answer('7', result(revision, fine))
  const asked = (rule: Case['rule'], name: string, verdict: Case['verdict'], about: {
    send: string
    gets?: Case['steps'][number]['gets']
    tools?: readonly (string | ListedTool)[]
    forwarded?: readonly string[]
  } & Partial<Pick<Case, 'options' | 'config' | 'also'>>): Case => {
    const { send, gets = [okay], tools = [honest, strict], forwarded, ...rest } = about
    return session({
      ...rest,
      name: `${name} (${revision})`,
      rule,
      revision,
      verdict,
      event: 'tools/call',
      tools,
      reactions: [on('tools/call', okay)],
      steps: [{ send, gets }],
      forwarded: forwarded ?? (verdict === 'block' ? [] : [send]),
    })
  }
  const unknown = (name: string) => [{ error: -32602, id: '7', message: `Unknown tool: ${name}` }]
  const refused = (rule: Case['rule'], tool: string) => [{ refused: rule, id: '7', tool }]

  return [
    asked(
      'call/unlisted', 'a call of a tool that nobody listed is refused', 'block',
      { send: call(revision, '7', 'other'), gets: unknown('other') },
    ),
    asked(
      'call/unlisted', 'a name that every object inherits is no tool', 'block',
      { send: call(revision, '7', 'constructor'), gets: unknown('constructor') },
    ),
    asked(
      'call/unlisted', 'a name in another case is another tool', 'block',
      { send: call(revision, '7', 'HONEST'), gets: unknown('HONEST') },
    ),
    asked(
      'call/unlisted', 'a call of a tool that is listed passes', 'pass',
      { send: call(revision, '7', 'honest') },
    ),
    asked('call/unlisted', 'a call of a tool that was taken out of the list is refused', 'block', {
      send: call(revision, '7', 'broken'),
      gets: [{
        error: -32602, id: '7',
        message: /^Unknown tool: broken; mcp-customs withholds it: tool\/schema at .*"mcp-customs tools /,
      }],
      tools: [honest, { sent: broken, gets: undefined }], also: ['tool/schema'],
    }),

    session({
      name: `a tool that the operator denies is neither listed nor called (${revision})`,
      rule: 'call/denied',
      revision,
      verdict: 'block',
      event: 'tools/call',
      config: { version: 1, servers: { scripted: { command: ['SERVER'], tools: { add: 'deny' } } } },
      options: ['--server', 'scripted'],
      reactions: [on('tools/list', answer('2', listResult(revision, [honest, strict])))],
      steps: [
        { send: request(revision, '2', 'tools/list'), gets: [answer('2', listResult(revision, [honest]))] },
        { send: call(revision, '7', 'add', '{"a":1}'), gets: refused('call/denied', 'add') },
      ],
      forwarded: [request(revision, '2', 'tools/list')],
    }),

    asked(
      'call/arguments', 'arguments that do not match pass', 'log',
      { send: call(revision, '7', 'add', '{"a":"one"}') },
    ),
    asked(
      'call/arguments', 'missing arguments are arguments that do not match', 'log',
      { send: request(revision, '7', 'tools/call', '"name":"add"') },
    ),
    asked('call/arguments', 'where the operator wants it, they are refused', 'block', {
      send: call(revision, '7', 'add', '{"a":1,"b":2}'), gets: refused('call/arguments', 'add'),
      options: ['--rule', 'call/arguments=block'],
    }),
    asked(
      'call/arguments', 'arguments that match pass, byte for byte', 'pass',
      { send: call(revision, '7', 'add', '{ "a" : 1.0e0 }') },
    ),

    asked('call/unchecked', 'arguments that cannot be checked pass', 'log', {
      send: call(revision, '7', 'slow', `{"a":"${'a'.repeat(40)}!"}`),
      tools: [
        String.raw`{"name":"slow","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+\\1$"}}}}`,
      ],
    }),
  ]
})
