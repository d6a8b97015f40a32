import { type Entry, type Health, healthKinds, noise } from '#relay/core/event.js'
import { type Verdict, verdicts } from '#relay/core/findings.js'
import type { About } from '#relay/core/rule.js'
import { isArray, isObject, isString, type Json, type JsonObject, parseJson } from '#relay/protocol/unmetered.js'

/** A record of an audit log. Its form was checked (docs/audit.md); its texts are untrusted. */
export interface LogRecord {
  /** Milliseconds since 1970. */
  readonly time: number
  readonly seq: number | undefined
  readonly event: string
  /** `client`, `server` or `relay`; undefined in logs of earlier versions. */
  readonly from: string | undefined
  readonly server: string
  readonly session: string
  /** Name and version that the client gave. */
  readonly client: string | undefined
  readonly revision: string | undefined
  readonly tool: string | undefined
  /** The tools that the client got, of `tools/list`; undefined in logs of earlier versions. */
  readonly tools: readonly string[] | undefined
  /** How many tools it got besides. */
  readonly moreTools: number
  readonly id: string | number | undefined
  readonly phase: string | undefined
  /** Undefined for records about the log itself. */
  readonly verdict: Verdict | undefined
  readonly findings: readonly LoggedFinding[]
  /** How many further findings there were. */
  readonly more: number
  readonly ms: number | undefined
  readonly serverMs: number | undefined
  /** Sizes in bytes. */
  readonly request: number | undefined
  readonly response: number | undefined
  /** Of the call's arguments and result, as they crossed the wire. */
  readonly digests:
    { readonly arguments: string | undefined; readonly result: string | undefined } | undefined
  readonly error: number | undefined
  readonly reason: string | undefined
  readonly peer: string | undefined
  /** What happened to the server (`server/health`); `reason` says it in words. */
  readonly health: Health | undefined
  /** The last lines that the server wrote to stderr. */
  readonly stderr: readonly string[]
}

export interface LoggedFinding extends About {
  readonly rule: string
  readonly path: string
  readonly message: string
  /** The change that was made, when the message was mended. */
  readonly mended: string | undefined
  /** What stood there, redacted, and what was declared; JSON. */
  readonly value?: string | undefined
  readonly declared?: string | undefined
}

/** @returns undefined when the line is not a record */
export const recordOfLine = (text: string): LogRecord | undefined => {
  const members = parseJson(text)
  return isObject(members) ? recordOf(members) : undefined
}

/** @returns undefined when the object is not a record */
export const recordOf = (members: JsonObject): LogRecord | undefined => {
  // No object inherits members of these names; `member` would look for each of them twice.
  const { event, from, server, session, client, revision, tool, id, phase, verdict, findings, more } = members
  const { seq, ms, serverMs, bytes, digest, error, reason, peer, health, stderr, tools, toolsMore } = members
  const time = Date.parse(text(members['time']) ?? '')
  if (Number.isNaN(time) || !isString(event)) return undefined
  return {
    time, event,
    seq: number(seq),
    from: text(from),
    server: text(server) ?? '',
    session: text(session) ?? '',
    client: isObject(client) ? named(text(client['name']), text(client['version'])) : undefined,
    revision: text(revision),
    tool: text(tool),
    tools: isArray(tools) ? tools.filter(isString) : undefined,
    moreTools: number(toolsMore) ?? 0,
    id: isString(id) ? id : number(id),
    phase: text(phase),
    verdict: verdicts.find(one => one === verdict),
    findings: isArray(findings) ? findings.filter(isObject).map(findingOf) : [],
    more: number(more) ?? 0,
    ms: number(ms),
    serverMs: number(serverMs),
    request: isObject(bytes) ? number(bytes['request']) : undefined,
    response: isObject(bytes) ? number(bytes['response']) : undefined,
    digests: isObject(digest)
      ? { arguments: text(digest['arguments']), result: text(digest['result']) }
      : undefined,
    error: number(error),
    reason: text(reason),
    peer: isObject(peer) ? text(peer['address']) : undefined,
    health: health === undefined ? undefined : healthKinds.find(one => one === health),
    stderr: isArray(stderr) ? stderr.filter(isString) : [],
  }
}

/** Whether this side sent the request. Logs of earlier versions do not say; then true. */
export const isFrom = ({ from }: LogRecord, side: Entry['from']): boolean =>
  from === undefined || from === side

/** Noise of the server concerns nobody: it is told apart from what was blocked. */
export const isNoise = ({ event, reason }: LogRecord): boolean => event === 'wire' && reason === noise

/** The record of an entry that has just been written. @param clean removes secrets from texts */
export const recordOfEntry = (entry: Entry, time: number, clean: (text: string) => string): LogRecord => {
  const { event, from, client, revision, phase, verdict, more = 0, ms, serverMs, bytes, error } = entry
  const cleanOr = (text: string | undefined) => (text === undefined ? undefined : clean(text))
  return {
    time, event, from, phase, verdict, more, ms, serverMs, error, revision,
    server: entry.server,
    session: entry.session,
    seq: undefined,
    client: client && clean(named(client.name, client.version)),
    tool: cleanOr(entry.tool),
    // The live page shows calls and findings.
    tools: undefined,
    moreTools: 0,
    id: typeof entry.id === 'string' ? clean(entry.id) : entry.id,
    findings: entry.findings.map(({ rule, path, message, mended, ...about }) => ({
      rule, path: clean(path), message: clean(message), mended: cleanOr(mended),
      ...aboutIn(name => cleanOr(about[name])),
    })),
    request: bytes?.request,
    response: bytes?.response,
    digests: undefined,
    reason: cleanOr(entry.reason),
    peer: entry.peer?.address,
    health: entry.health,
    stderr: entry.stderr?.map(clean) ?? [],
  }
}

const findingOf = (finding: JsonObject): LoggedFinding => ({
  rule: text(finding['rule']) ?? '',
  path: text(finding['path']) ?? '',
  message: text(finding['message']) ?? '',
  mended: text(finding['mended']),
  value: text(finding['value']),
  declared: text(finding['declared']),
  ...aboutIn(name => text(finding[name])),
})

const aboutIn = (textOf: (name: keyof About) => string | undefined): About => {
  const [tool, prompt, resource] = [textOf('tool'), textOf('prompt'), textOf('resource')]
  return {
    ...(tool !== undefined && { tool }), ...(prompt !== undefined && { prompt }),
    ...(resource !== undefined && { resource }),
  }
}

const named = (name = '', version = ''): string => `${name} ${version}`.trim()

const text = (value: Json | undefined): string | undefined => (isString(value) ? value : undefined)

const number = (value: Json | undefined): number | undefined =>
  (typeof value === 'number' ? value : undefined)
