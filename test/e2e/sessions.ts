import type { Test } from 'tap'
import { wrap, type Setup, type Wrapped } from './bridge.js'
import { answer, honest, isModern, legacy, listResult, on, request, type Reaction } from './cases.js'

export const fine = '{"content":[{"type":"text","text":"Fine."}]}'
export const okay = (id: string) => answer(id, fine)
export const weather =
  '{"type":"object","properties":{"temperature":{"type":"number"}},"required":["temperature"]}'
export const lie =
  '{"content":[{"type":"text","text":"{\\"temperature\\":\\"hot\\"}"}],"structuredContent":{"temperature":"hot"}}'

const manners: readonly Reaction[] = [
  on('initialize', answer(
    '$ID',
    `{"protocolVersion":"${legacy}","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"}}`,
  )),
  on('x/fence', answer('$ID', '{}')),
]

/** A session in which `honest` is listed already. */
export const warm = async (
  t: Test, reactions: readonly Reaction[], setup: Partial<Setup> = {}, revision = legacy,
): Promise<Wrapped> => {
  const wrapped = await cold(
    t, [...reactions, on('tools/list', answer('$ID', listResult(revision, [honest])))], setup, revision,
  )
  wrapped.relay.send(request(revision, '"list"', 'tools/list'))
  await wrapped.relay.responseTo('"list"')
  return wrapped
}

/** A session in which nothing is listed. */
export const cold = async (
  t: Test, reactions: readonly Reaction[], setup: Partial<Setup> = {}, revision = legacy,
): Promise<Wrapped> => {
  const wrapped = wrap(t, { ...setup, reactions: [...reactions, ...manners] })
  if (isModern(revision)) return wrapped
  wrapped.relay.send(request(
    revision, '"hello"', 'initialize',
    `"protocolVersion":"${revision}","capabilities":{},"clientInfo":{"name":"test","version":"1"}`,
  ))
  await wrapped.relay.responseTo('"hello"')
  wrapped.relay.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  return wrapped
}

export const errorOf = (line: string): number | undefined =>
  (JSON.parse(line) as { error?: { code: number } }).error?.code

export const findingsOf = (line: string): readonly string[] => {
  const { result } = JSON.parse(line) as { result?: {
    isError?: boolean; _meta?: { 'mcp-customs/findings'?: readonly { rule: string }[] }
  } }
  return result?.isError === true ? (result._meta?.['mcp-customs/findings'] ?? [])
    .map(finding => finding.rule) : []
}

/** What the client gets besides, once everything on its way has arrived. */
export const nothingMore = async (t: Test, { relay }: Wrapped): Promise<void> => {
  relay.send(request(legacy, '"fence"', 'x/fence'))
  await relay.responseTo('"fence"')
  t.strictSame(relay.untaken, [], 'nothing else reached the client')
}

export const ended = async (t: Test, { relay }: Wrapped): Promise<void> => {
  await relay.end()
  t.strictSame(relay.untaken, [], 'nothing else reached the client')
}

export const limited = (limits: object): { config: object } => ({ config: { version: 1, limits } })
