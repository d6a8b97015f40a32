import { noise } from '#relay/core/event.js'
import { verdicts } from '#relay/core/findings.js'
import { type About, type Entry, type Health, healthKinds, type Verdict } from '#relay/core/vocabulary.js'
import {
  isList, isRecord, isString, type Data, type DataObject, parseData,
} from '#relay/protocol/unmetered.js'

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
  /** Name and version that the client gave; and its name alone, which updates do not change. */
  readonly client: string | undefined
  readonly clientName: string | undefined
  /** Name and version that the server gives itself; of `tools/list`. */
  readonly serverInfo: string | undefined
  readonly revision: string | undefined
  readonly tool: string | undefined
  /** The tool's name at the merged endpoint. */
  readonly shown?: string | undefined
  /** The names of `tools` at the merged endpoint. */
  readonly shownTools?: readonly string[] | undefined
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
  /** The last lines that the server's process wrote to stderr; undefined where it is no process of ours. */
  readonly stderr: readonly string[] | undefined
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
  const members = parseData(text)
  return isRecord(members) ? recordOf(members) : undefined
}

/** @returns undefined when the object is not a record */
export const recordOf = (members: DataObject): LogRecord | undefined => {
  // No object inherits members of these names; `member` would look for each of them twice.
  const { event, from, server, session, client, revision, tool, id, phase, verdict, findings, more } = members
  const { seq, ms, serverInfo, serverMs, bytes, digest, error, reason, peer, health, stderr } = members
  const { shown, shownTools, tools, toolsMore } = members
  const time = Date.parse(text(members['time']) ?? '')
  if (Number.isNaN(time) || !isString(event)) return undefined
  return {
    time, event,
    seq: number(seq),
    from: text(from),
    server: text(server) ?? '',
    session: text(session) ?? '',
    client: named(client),
    clientName: isRecord(client) ? text(client['name']) : undefined,
    serverInfo: named(serverInfo),
    revision: text(revision),
    tool: text(tool),
    ...(isString(shown) && { shown }),
    ...(isList(shownTools) && { shownTools: shownTools.filter(isString) }),
    tools: isList(tools) ? tools.filter(isString) : undefined,
    moreTools: number(toolsMore) ?? 0,
    id: isString(id) ? id : number(id),
    phase: text(phase),
    verdict: verdicts.find(one => one === verdict),
    findings: isList(findings) ? findings.filter(isRecord).map(findingOf) : [],
    more: number(more) ?? 0,
    ms: number(ms),
    serverMs: number(serverMs),
    request: isRecord(bytes) ? number(bytes['request']) : undefined,
    response: isRecord(bytes) ? number(bytes['response']) : undefined,
    digests: isRecord(digest)
      ? { arguments: text(digest['arguments']), result: text(digest['result']) }
      : undefined,
    error: number(error),
    reason: text(reason),
    peer: isRecord(peer) ? text(peer['address']) : undefined,
    health: health === undefined ? undefined : healthKinds.find(one => one === health),
    stderr: isList(stderr) ? stderr.filter(isString) : undefined,
  }
}

/** Whether this side sent the request. Logs of earlier versions do not say; then true. */
export const isFrom = ({ from }: LogRecord, side: Entry['from']): boolean =>
  from === undefined || from === side

/** Noise of the server concerns nobody: it is told apart from what was blocked. */
export const isNoise = ({ event, reason }: LogRecord): boolean => event === 'wire' && reason === noise

const findingOf = (finding: DataObject): LoggedFinding => ({
  rule: text(finding['rule']) ?? '',
  path: text(finding['path']) ?? '',
  message: text(finding['message']) ?? '',
  mended: text(finding['mended']),
  value: text(finding['value']),
  declared: text(finding['declared']),
  tool: text(finding['tool']),
  prompt: text(finding['prompt']),
  resource: text(finding['resource']),
})

const named = (program: Data | undefined): string | undefined =>
  (isRecord(program) ? `${text(program['name']) ?? ''} ${text(program['version']) ?? ''}`.trim() : undefined)

const text = (value: Data | undefined): string | undefined => (isString(value) ? value : undefined)

const number = (value: Data | undefined): number | undefined =>
  (typeof value === 'number' ? value : undefined)
