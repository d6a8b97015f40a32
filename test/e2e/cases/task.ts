import { answer, call, legacy, modern, on, report, request, session, type Case } from '../cases.js'

const weather = '{"type":"object","properties":{"temperature":{"type":"number"}},"required":["temperature"]}'
const reported = (structured: string) =>
  `{"content":[{"type":"text","text":${JSON.stringify(structured)}}],"structuredContent":${structured}}`
const task =
  '"taskId":"t1","status":"working","createdAt":"2026-11-20T12:00:00Z","lastUpdatedAt":"2026-11-20T12:00:00Z"'
const created = answer('7', `{"task":{${task},"ttl":60000}}`)
const declared = '{"extensions":{"io.modelcontextprotocol/tasks":{}}}'
const modernCreated = answer('7', `{"resultType":"task",${task},"ttlMs":60000}`)

/** What a task ends with, in the revision's way: `tasks/result`, or `tasks/get` of the extension. */
const ends = (name: string, verdict: 'pass' | 'block', structured: string): readonly Case[] => {
  const said = answer('8', reported(structured))
  const modernSaid =
    answer(
      '8',
      `{"resultType":"complete",${task.replace('working', 'completed')},"ttlMs":60000,"result":${reported(structured)}}`,
    )
  return [
    session({
      name: `${name} (${legacy})`,
      rule: 'result/schema',
      revision: legacy,
      verdict,
      event: 'tasks/result',
      tools: [report(weather)],
      reactions: [on('tools/call', created), on('tasks/result', said)],
      steps: [
        {
          send: request(legacy, '7', 'tools/call', '"name":"report","arguments":{},"task":{"ttl":60000}'),
          gets: [created],
        },
        {
          send: request(legacy, '8', 'tasks/result', '"taskId":"t1"'),
          gets: [verdict === 'block' ? { refused: 'result/schema', id: '8', tool: 'report' } : said],
        },
      ],
    }),
    session({
      name: `${name} (${modern})`,
      rule: 'result/schema',
      revision: modern,
      verdict,
      event: 'tasks/get',
      tools: [report(weather)],
      reactions: [on('tools/call', modernCreated), on('tasks/get', modernSaid)],
      steps: [
        { send: call(modern, '7', 'report', '{}', declared), gets: [modernCreated] },
        {
          send: request(modern, '8', 'tasks/get', '"taskId":"t1"', declared),
          gets: [verdict === 'block' ? { error: -31000, id: '8' } : modernSaid],
        },
      ],
    }),
  ]
}

export const taskCases: readonly Case[] = [
  ...ends('a lie at the end of a task is a lie', 'block', '{"temperature":"hot"}'),
  ...ends('the truth at the end of a task passes', 'pass', '{"temperature":21}'),
  session({
    name: 'a task that nobody asked for is no result (2025-11-25)',
    rule: 'result/shape',
    revision: legacy,
    verdict: 'block',
    event: 'tools/call',
    also: ['result/missing'],
    tools: [report(weather)],
    reactions: [on('tools/call', created)],
    steps: [{
      send: call(legacy, '7', 'report'), gets: [{ refused: 'result/shape', id: '7', tool: 'report' }],
    }],
  }),
  session({
    name: 'a lie in the news of a task is a lie (2026-07-28)',
    rule: 'result/schema',
    revision: modern,
    verdict: 'block',
    event: 'notifications/tasks',
    tools: [report(weather)],
    reactions: [on(
      'tools/call', modernCreated,
      `{"jsonrpc":"2.0","method":"notifications/tasks","params":{${task.replace('working', 'completed')},"ttlMs":60000,"result":${reported('{"temperature":"hot"}')}}}`,
    )],
    steps: [{ send: call(modern, '7', 'report', '{}', declared), gets: [modernCreated] }],
  }),
]
