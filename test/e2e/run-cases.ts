import type { Test as TapTest } from 'tap'
import type { AuditRecord, Bridge, Open, Traces } from './bridge.js'
import {
  answer, honest, isModern, kept, listResult, on, request, result, type Case, type Expected, type ListedTool,
} from './cases.js'
import { isAnswerTo } from './harness.js'

/** Cases that one session can hold, one after the other. @param most of them in one */
export const together = (cases: readonly Case[], most = cases.length): readonly (readonly Case[])[] => {
  const groups = new Map<string, Case[]>()
  // What is listed in the middle of a session holds for all that follows.
  const ordered = [...cases.filter(each => !listsAgain(each)), ...cases.filter(listsAgain)]
  for (const [index, each] of ordered.entries()) {
    const { revision, capabilities, options, config, tools } = each
    // Modern clients declare with every request what they can.
    const kind = tools === undefined
      ? String(index)
      : JSON.stringify([revision, isModern(revision) ? undefined : capabilities, options, config])
    const group = groups.get(kind)
    if (group === undefined) groups.set(kind, [each])
    else group.push(each)
  }
  return [...groups.values()].flatMap(group => inParts(group, most))
}

const listsAgain = ({ steps }: Case): boolean => steps.some(({ send }) => send.includes('"tools/list"'))

const inParts = (group: readonly Case[], most: number): readonly (readonly Case[])[] =>
  Array.from({ length: Math.ceil(group.length / most) }, (_, index) =>
    group.slice(index * most, (index + 1) * most))

/** A test for each group of cases that one session can hold. */
export const runAllCases = (t: TapTest, cases: readonly Case[], bridge: Bridge): void => {
  for (const group of together(cases)) {
    const [first] = group
    const name = `${bridge.name}: ${first?.rule}: ${first?.name}, and ${group.length - 1} more`
    void t.test(name, { buffered: true }, t => runCases(t, group, bridge))
  }
}

/**
 * Runs cases of one session over a bridge: what the client gets, what the server gets, and what is recorded.
 */
export const runCases = async (t: TapTest, cases: readonly Case[], bridge: Bridge): Promise<void> => {
  const [first] = cases
  if (first === undefined) return
  const { revision, options, config } = first
  const tools = unique([kept(honest), ...cases.flatMap(each => each.tools ?? [])])
  const lists = first.tools !== undefined
  // A client that has listed the tools: the first scene. Then a scene for each case.
  const scenes = [
    [
      on('initialize', initialized(revision)),
      ...(lists ? [on('tools/list', answer('2', listResult(revision, tools.map(tool => tool.sent))))] : []),
    ],
    ...cases.map(each => each.reactions),
  ]
  const open = await bridge.open(
    t,
    { revision, options, config, scenes, reactions: [on('x/fence', answer('$ID', result(revision, '{}')))] },
  )
  const script = new Script(open, revision)
  await shakeHands(t, open, first)
  const listed = lists ? await list(t, open, revision, tools) : ''
  const prologue = await script.scene()
  t.strictSame(prologue.surplus, [], 'nothing comes unasked')
  for (const each of cases) {
    await t.test(`${each.rule}: ${each.name}`, async t => {
      for (const tool of each.tools ?? []) {
        if (tool.gets !== undefined) t.ok(listed.includes(tool.gets), 'the tool is listed as it should be')
        if (tool.gets !== tool.sent) {
          t.notOk(listed.includes(tool.sent), 'the tool is not listed as it was sent')
        }
      }
      for (const step of each.steps) {
        open.send(step.send)
        for (const expected of step.gets) meets(t, await open.next(), expected, each)
      }
      const scene = await script.scene()
      t.strictSame(scene.surplus, [], 'the client gets nothing else')
      compare(t, scene.received, each)
      const own = tools.findIndex(tool => tool.sent === each.tools?.at(-1)?.sent)
      checkAudit(t, [...scene.audit, ...inList(prologue.audit, own)], each)
    })
  }
  await open.close()
  const { audit } = open.traces()
  t.equal(audit[0]?.event, 'session/start')
  t.equal(audit.at(-1)?.event, 'session/end')
}

const fence = '"fence"'

/** Cuts what happened into scenes: what follows a fence was said, received and recorded after the rest. */
class Script {
  #received = 0
  #recorded = 0

  constructor(
    readonly open: Open,
    readonly revision: Case['revision'],
  ) {}

  async scene(): Promise<Traces & { surplus: readonly string[] }> {
    this.open.send(request(this.revision, fence, 'x/fence'))
    const surplus: string[] = []
    for (let line = await this.open.next(); !isAnswerTo(line, fence); line = await this.open.next()) {
      surplus.push(line)
    }
    const { received, audit, stderr } = this.open.traces()
    const scene = {
      surplus,
      received: received.slice(this.#received).filter(line => !line.includes('"x/fence"')),
      audit: audit.slice(this.#recorded),
      stderr,
    }
    this.#received = received.length
    this.#recorded = audit.length
    return scene
  }
}

const unique = (
  tools: readonly ListedTool[],
): readonly ListedTool[] => [...new Map(tools.map(tool => [tool.sent, tool])).values()]

const initialized = (revision: string) =>
  answer(
    '0',
    `{"protocolVersion":"${revision}","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"}}`,
  )

const shakeHands = async (t: TapTest, open: Open, { revision, capabilities }: Case): Promise<void> => {
  if (isModern(revision)) return
  open.send(request(
    revision, '0', 'initialize',
    `"protocolVersion":"${revision}","capabilities":${capabilities},"clientInfo":{"name":"case","version":"1"}`,
  ))
  t.equal(await open.next(), initialized(revision), 'the handshake passes')
  open.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
}

/** @returns the list, as the client got it */
const list = async (
  t: TapTest, open: Open, revision: Case['revision'], tools: readonly ListedTool[],
): Promise<string> => {
  open.send(request(revision, '2', 'tools/list'))
  const line = await open.next()
  const left = tools.flatMap(tool => tool.gets ?? [])
  t.equal(line, answer('2', listResult(revision, left)), 'the list passes, without what is wrong with it')
  return line
}

/** What the record of a list says about one tool of it; the record's verdict is that of the worst. */
const inList = (audit: readonly AuditRecord[], index: number): readonly Recorded[] =>
  audit
    .filter(record => record.event === 'tools/list')
    .map(record => ({
      event: record.event,
      findings: record.findings.filter(({ path }) =>
        path === `/result/tools/${index}` || path.startsWith(`/result/tools/${index}/`)),
    }))

/** What is looked at of a record; that of a list speaks of many tools, and has no verdict on one. */
type Recorded = Pick<AuditRecord, 'event' | 'findings'> & { readonly verdict?: string }

const compare = (t: TapTest, received: readonly string[], each: Case) => {
  t.equal(
    received.length, each.forwarded.length,
    `the server gets ${each.forwarded.length} lines: ${JSON.stringify(received).slice(0, 500)}`,
  )
  each.forwarded.forEach((expected, index) => meets(t, received[index] ?? '', expected, each, 'the server'))
}

interface RefusedResult {
  readonly isError?: boolean
  readonly content?: readonly { type: string; text?: string }[]
  readonly structuredContent?: unknown
  readonly resultType?: string
  readonly _meta?: { readonly 'mcp-customs/findings'?: readonly { rule: string }[] }
}

const meets = (t: TapTest, line: string, expected: Expected, { revision }: Case, who = 'the client') => {
  if (typeof expected === 'string') {
    t.equal(line, expected, `${who} gets it byte for byte`)
    return
  }
  t.ok(line.includes(`"id":${expected.id}`), `${who} gets an answer to ${expected.id}: ${line.slice(0, 300)}`)
  const message = JSON.parse(line) as { error?: { code: number; message: string }; result?: RefusedResult }
  if ('error' in expected) {
    t.equal(
      message.error?.code, expected.error, `${who} gets the error ${expected.error}: ${line.slice(0, 300)}`,
    )
    t.type(message.error?.message, 'string')
    if (typeof expected.message === 'string') t.equal(message.error?.message, expected.message)
    else if (expected.message !== undefined) t.match(message.error?.message, expected.message)
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
    t.strictSame(
      content.filter(block => original.some(one => JSON.stringify(one) === JSON.stringify(block))), original,
      'with the content as it was',
    )
    t.ok(content.length > original.length, 'and an explanation')
  }
  const rule = 'demoted' in expected ? expected.demoted : expected.refused
  if (!rule.startsWith('call/')) {
    t.match(words, rule, 'and the rule')
    t.ok(meta?.['mcp-customs/findings']?.some(finding => finding.rule === rule), 'and lists the findings')
  }
  if ('refused' in expected && expected.path !== undefined) t.match(words, expected.path, 'and the path')
}

/** Methods of which every exchange is recorded, with findings or without. */
const recorded =
  new Set(['tools/list', 'tools/call', 'sampling/createMessage', 'elicitation/create', 'roots/list'])

const checkAudit = (t: TapTest, audit: readonly Recorded[], each: Case) => {
  const rules = new Set(audit.flatMap(record => record.findings.map(finding => finding.rule)))
  const unexpected = [...rules].filter(rule => ![each.rule, ...each.also].some(expected => expected === rule))
  t.strictSame(
    unexpected, [], `no other rule is broken: ${JSON.stringify(audit.flatMap(record => record.findings))}`,
  )
  const records = audit.filter(record => each.event === record.event || each.rule.startsWith('wire/'))
  if (each.verdict === 'pass') {
    t.notOk(rules.has(each.rule), 'the rule is kept')
    if (recorded.has(each.event)) {
      t.ok(
        records.some(({ verdict }) => verdict === undefined || verdict === 'pass' || each.also.length > 0),
        'and that is recorded',
      )
    }
    return
  }
  const found = records.filter(record => record.findings.some(finding => finding.rule === each.rule))
  t.ok(
    found.some(({ verdict }) => verdict === undefined || verdict === each.verdict),
    `the finding is recorded as ${each.verdict}: ${JSON.stringify(audit)}`,
  )
}
