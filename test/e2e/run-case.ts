import type { Test as TapTest } from 'tap'
import type { AuditRecord, Bridge, Open, Traces } from './bridge.js'
import { answer, isModern, on, request, result, type Case, type Expected, type Reaction } from './cases.js'
import { isAnswerTo } from './harness.js'

const fence = '"fence"'

/** Runs one case over a bridge: what the client gets, what the server gets, and what is recorded. */
export const runCase = async (t: TapTest, each: Case, bridge: Bridge): Promise<void> => {
  const { options, config } = each
  const open = await bridge.open(t, { options, config, reactions: [...each.reactions, ...manners(each)] })
  const handshake = await shakeHands(t, open, each)
  for (const step of each.steps) {
    open.send(step.send)
    for (const expected of step.gets) meets(t, await open.next(), expected, each)
  }
  const surplus = await untilFence(open, each)
  t.strictSame(surplus, [], 'the client gets nothing else')
  const traces = await open.finish()
  const received = traces.received.slice(handshake).filter(line => !line.includes(fence))
  const unasked = received.filter(line => line.includes('"tools/list"') && !each.forwarded.includes(line))
  if (!each.lists) t.strictSame(unasked, [], 'the relay asks for no list of its own')
  compare(t, received.filter(line => !unasked.includes(line)), each)
  checkAudit(t, traces, each)
}

/** How a server answers what every session asks. */
const manners = ({ revision }: Case): readonly Reaction[] => [
  on('initialize', initialized(revision)),
  on('x/fence', answer('$ID', result(revision, '{}'))),
]

const initialized = (revision: string) =>
  answer('0', `{"protocolVersion":"${revision}","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"}}`)

/** @returns how many lines of it the server got */
const shakeHands = async (t: TapTest, open: Open, { revision, capabilities }: Case): Promise<number> => {
  if (isModern(revision)) return 0
  open.send(request(revision, '0', 'initialize', `"protocolVersion":"${revision}","capabilities":${capabilities},"clientInfo":{"name":"case","version":"1"}`))
  t.equal(await open.next(), initialized(revision), 'the handshake passes')
  open.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  return 2
}

/** Everything that is still on its way to the client: what follows the fence was said after the rest. */
const untilFence = async (open: Open, { revision }: Case): Promise<readonly string[]> => {
  open.send(request(revision, fence, 'x/fence'))
  const surplus: string[] = []
  for (let line = await open.next(); !isAnswerTo(line, fence); line = await open.next()) surplus.push(line)
  return surplus
}

const compare = (t: TapTest, received: readonly string[], each: Case) => {
  t.equal(received.length, each.forwarded.length, `the server gets ${each.forwarded.length} lines: ${JSON.stringify(received).slice(0, 500)}`)
  each.forwarded.forEach((expected, index) => meets(t, received[index] ?? '', expected, each, 'the server'))
}

const meets = (t: TapTest, line: string, expected: Expected, { revision }: Case, who = 'the client') => {
  if (typeof expected === 'string') {
    t.equal(line, expected, `${who} gets it byte for byte`)
    return
  }
  t.ok(line.includes(`"id":${expected.id}`), `${who} gets an answer to ${expected.id}: ${line.slice(0, 300)}`)
  const message = JSON.parse(line) as { error?: { code: number; message: string }; result?: RefusedResult }
  if ('error' in expected) {
    t.equal(message.error?.code, expected.error, `${who} gets the error ${expected.error}: ${line.slice(0, 300)}`)
    t.type(message.error?.message, 'string')
    if (expected.message !== undefined) t.equal(message.error?.message, expected.message)
    return
  }
  const { isError, content = [], structuredContent, resultType, _meta: meta } = message.result ?? {}
  t.equal(isError, true, `${who} gets an error result`)
  t.equal(structuredContent, undefined, 'without structured content')
  t.equal(resultType, isModern(revision) ? 'complete' : undefined, 'with the result type of the revision')
  const words = content.map(block => block.text ?? '').join('\n')
  t.match(words, expected.tool, 'that names the tool')
  if ('demoted' in expected) {
    const original = JSON.parse(expected.content) as object[]
    t.strictSame(content.filter(block => original.some(one => JSON.stringify(one) === JSON.stringify(block))), original, 'with the content as it was')
    t.ok(content.length > original.length, 'and an explanation')
  }
  const rule = 'demoted' in expected ? expected.demoted : expected.refused
  if (!rule.startsWith('call/')) {
    t.match(words, rule, 'and the rule')
    t.ok(meta?.['mcp-customs/findings']?.some(finding => finding.rule === rule), 'and lists the findings')
  }
  if ('refused' in expected && expected.path !== undefined) t.match(words, expected.path, 'and the path')
}

interface RefusedResult {
  readonly isError?: boolean
  readonly content?: readonly { type: string; text?: string }[]
  readonly structuredContent?: unknown
  readonly resultType?: string
  readonly _meta?: { readonly 'mcp-customs/findings'?: readonly { rule: string }[] }
}

/** Methods of which every exchange is recorded, with findings or without. */
const recorded = new Set(['tools/list', 'tools/call', 'sampling/createMessage', 'elicitation/create', 'roots/list'])

const checkAudit = (t: TapTest, { audit, stderr }: Traces, each: Case) => {
  const rules = new Set(audit.flatMap(record => record.findings.map(finding => finding.rule)))
  const unexpected = [...rules].filter(rule => ![each.rule, ...each.also].some(expected => expected === rule))
  t.strictSame(unexpected, [], `no other rule is broken: ${JSON.stringify(audit.flatMap(record => record.findings))}`)
  if (each.verdict === 'pass') {
    t.notOk(rules.has(each.rule), 'the rule is kept')
    if (recorded.has(each.event)) t.ok(audit.some(record => record.event === each.event && passes(record, each)), 'and that is recorded')
  } else {
    const records = audit.filter(record => record.findings.some(finding => finding.rule === each.rule))
    t.ok(records.length > 0, `the finding is recorded: ${JSON.stringify(audit)} ${stderr}`)
    t.ok(records.some(record => record.verdict === each.verdict), `with the verdict ${each.verdict}: ${JSON.stringify(records)}`)
    if (!each.rule.startsWith('wire/')) t.ok(records.some(record => record.event === each.event), `of the event ${each.event}: ${JSON.stringify(records)}`)
  }
  t.equal(audit[0]?.event, 'session/start')
  t.equal(audit.at(-1)?.event, 'session/end')
}

const passes = (record: AuditRecord, { also }: Case) => record.verdict === 'pass' || also.length > 0
