import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isObject, isString, type JsonObject, member, parseJson } from '#relay/protocol/json.js'
import {
  firstModern, isRevision, metaPrefix, newestLegacy, type Revision, traitsOf,
} from '#relay/protocol/revisions/index.js'
import { byte, slice } from '#relay/protocol/scan.js'
import { namesModern } from './shown-era.js'

/** What a legacy client has said in `initialize`. Texts are JSON, in the client's own spelling. */
export interface ClientTerms {
  /** The revision that the relay agrees on with the client. */
  readonly revision: Revision
  readonly info: string | undefined
  readonly capabilities: string
}

/** What a server of 2026-07-28 has said in the result of `server/discover`. Texts are JSON. */
export interface ServerTerms {
  readonly capabilities: JsonObject
  /** Without what the relay cannot carry. */
  readonly announced: string
  readonly instructions: string | undefined
  readonly info: string | undefined
}

/** The longest texts of either side that are kept and repeated, in bytes. */
const maxTerms = 256 * 1024

/** @returns undefined where the client says too much to be repeated with each request */
export const clientTerms = (initialize: Frame, params: JsonObject | undefined): ClientTerms | undefined => {
  const asked = member(params, 'protocolVersion')
  const isKnown = isString(asked) && isRevision(asked) && !traitsOf(asked).modern
  const info = slice(initialize, ['params', 'clientInfo'])
  const declared = slice(initialize, ['params', 'capabilities'])
  if ((info?.length ?? 0) + (declared?.length ?? 0) > maxTerms) return undefined
  // Tasks of 2025-11-25 do not exist in 2026-07-28, and the relay cannot carry those of the extension.
  const capabilities = declared?.[0] === byte.openObject
    ? edit(declared, [
        { path: ['tasks'], remove: true }, { path: ['extensions', `${metaPrefix}tasks`], remove: true },
      ]).toString()
    : '{}'
  return {
    revision: isKnown ? asked : newestLegacy,
    info: info?.[0] === byte.openObject ? info.toString() : undefined,
    capabilities,
  }
}

/** @returns undefined where the result is not that of a server of 2026-07-28 */
export const serverTerms = (discovered: Frame, result: JsonObject): ServerTerms | undefined => {
  if (!namesModern(member(result, 'supportedVersions')) || discovered.bytes.length > maxTerms) return undefined
  const written = slice(discovered, ['result', 'capabilities'])
  const announced = written?.[0] === byte.openObject
    ? edit(written, ['extensions', 'tasks', 'experimental'].map(key => ({ path: [key], remove: true }))).toString()
    : '{}'
  const capabilities = parseJson(announced)
  const instructions = member(result, 'instructions')
  const info = slice(discovered, ['result', '_meta', `${metaPrefix}serverInfo`])
  return {
    capabilities: isObject(capabilities) ? capabilities : {}, announced,
    instructions: isString(instructions) ? JSON.stringify(instructions) : undefined,
    info: info?.[0] === byte.openObject ? info.toString() : undefined,
  }
}

/** The edits by which a legacy request says what each request of 2026-07-28 says (`_meta`). */
export const metaEdits = (
  frame: Frame, { info, capabilities }: ClientTerms, logLevel?: string,
): readonly Edit[] => {
  const said = [
    ['protocolVersion', `"${firstModern}"`], ['clientInfo', info], ['clientCapabilities', capabilities],
    ['logLevel', logLevel],
  ].flatMap(([name = '', text]) => (text === undefined ? [] : [[metaPrefix + name, text] as const]))
  if (slice(frame, ['params', '_meta'])?.[0] === byte.openObject)
    return said.map(([key, replace]) => ({ path: ['params', '_meta', key], replace }))
  const meta = `{${said.map(([key, text]) => `"${key}":${text}`).join()}}`
  return slice(frame, ['params']) === undefined
    ? [{ path: ['params'], replace: `{"_meta":${meta}}` }]
    : [{ path: ['params', '_meta'], replace: meta }]
}
