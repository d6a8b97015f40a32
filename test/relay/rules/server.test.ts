import t from 'tap'
import type { ServerRequest } from '#relay/core/vocabulary.js'
import { asked, paths, ruleNamed, type Case } from './ask.js'

const sampling = 'sampling/createMessage'
const elicitation = 'elicitation/create'
const tasks = { requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } }

const cases: readonly Case<ServerRequest>[] = [
  ['sampling, declared', asked(sampling, {}, { sampling: {} }), []],
  ['sampling, not declared', asked(sampling, {}, {}), ['/method']],
  ['sampling, declared as true', asked(sampling, {}, { sampling: true }), ['/method']],
  [
    'sampling, inherited', asked(sampling, {}, Object.create({ sampling: {} }) as Record<string, never>),
    ['/method'],
  ],
  ['sampling with tools, declared', asked(sampling, { tools: [] }, { sampling: { tools: {} } }), []],
  ['sampling with tools, not declared', asked(sampling, { tools: [] }, { sampling: {} }), ['/params/tools']],
  [
    'sampling with a choice of tools, not declared', asked(sampling, { toolChoice: {} }, { sampling: {} }),
    ['/params/toolChoice'],
  ],
  ['sampling as a task, declared', asked(sampling, { task: {} }, { sampling: {}, tasks }), []],
  [
    'sampling as a task, not declared',
    asked(sampling, { task: {} }, { sampling: {}, tasks: { requests: {} } }), ['/params/task'],
  ],
  ['a form, by default', asked(elicitation, {}, { elicitation: {} }), []],
  ['a form, by name', asked(elicitation, { mode: 'form' }, { elicitation: { form: {} } }), []],
  ['a form, where only pages are taken', asked(elicitation, {}, { elicitation: { url: {} } }), ['/method']],
  [
    'a form by name, where only pages are taken',
    asked(elicitation, { mode: 'form' }, { elicitation: { url: {} } }), ['/params/mode'],
  ],
  ['a page, declared', asked(elicitation, { mode: 'url' }, { elicitation: { form: {}, url: {} } }), []],
  [
    'a page, where only forms are taken', asked(elicitation, { mode: 'url' }, { elicitation: {} }),
    ['/params/mode'],
  ],
  ['a mode that nobody knows', asked(elicitation, { mode: 'voice' }, { elicitation: {} }), ['/params/mode']],
  ['a mode that is no name', asked(elicitation, { mode: 1 }, { elicitation: {} }), ['/params/mode']],
  ['elicitation, not declared', asked(elicitation, {}, { sampling: {} }), ['/method']],
  ['elicitation as a task, declared', asked(elicitation, { task: {} }, { elicitation: {}, tasks }), []],
  [
    'elicitation as a task, not declared', asked(elicitation, { task: {} }, { elicitation: {} }),
    ['/params/task'],
  ],
  ['roots, declared', asked('roots/list', undefined, { roots: {} }), []],
  ['roots, not declared', asked('roots/list', undefined, {}), ['/method']],
  ['a ping', asked('ping', undefined, {}), []],
  ['a method of an extension', asked('vendor/thing', {}, {}), []],
]

t.test('server/request: requests that need a capability that the client did not declare', t => {
  for (const [title, request, expected] of cases) {
    t.same(paths(ruleNamed('server/request').onServerRequest?.(request)), expected, title)
  }
  t.end()
})

t.test('a path leads to the request, also to one in a result', t => {
  const request = { ...asked(sampling, {}, {}), methodPath: '/result/inputRequests/ask/method' }
  t.same(paths(ruleNamed('server/request').onServerRequest?.(request)), ['/result/inputRequests/ask/method'])
  t.same(paths(ruleNamed('server/sampling').onServerRequest?.(request)), ['/result/inputRequests/ask/method'])
  t.end()
})

t.test('server/sampling, elicitation and roots: whether declared or not', t => {
  const methods = {
    'server/sampling': sampling, 'server/elicitation': elicitation, 'server/roots': 'roots/list',
  } as const
  for (const rule of ['server/sampling', 'server/elicitation', 'server/roots'] as const) {
    for (const method of [...Object.values(methods), 'ping']) {
      const expected = methods[rule] === method ? ['/method'] : []
      t.same(paths(
        ruleNamed(rule).onServerRequest?.(asked(method, {}, { sampling: {}, elicitation: {}, roots: {} })),
      ), expected)
    }
  }
  t.end()
})

t.test('server/unchecked: requests while the client\'s capabilities are not known', t => {
  for (const method of [sampling, elicitation, 'roots/list', 'ping']) {
    const expected = method === 'ping' ? [] : ['/method']
    t.same(
      paths(ruleNamed('server/unchecked').onServerRequest?.(asked(method, {}, undefined))), expected, method,
    )
    t.same(paths(ruleNamed('server/unchecked').onServerRequest?.(asked(method, {}, {}))), [], 'it is known')
    t.same(
      paths(ruleNamed('server/request').onServerRequest?.(asked(method, {}, undefined))), [],
      'nothing is known to be missing',
    )
  }
  t.same(paths(ruleNamed('server/unchecked').onId?.({ use: 'unknown', from: 'client' })), ['/id'])
  t.same(paths(ruleNamed('server/unchecked').onId?.({ use: 'unasked', from: 'client' })), [])
  t.end()
})
