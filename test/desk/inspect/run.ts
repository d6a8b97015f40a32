import { resolvePolicy, type Rules } from '#relay/config/policy.js'
import { defaultLimits } from '#relay/config/configuration.js'
import type { ToolSetting } from '#relay/core/options.js'
import { inspect, type ToCall } from '#desk/inspect/inspect.js'
import type { Inspection } from '#desk/inspect/inspection.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { QuirkServer, type Quirk } from './quirks.js'

export interface Given {
  readonly rules?: Rules
  readonly trusted?: boolean
  readonly tools?: ReadonlyMap<string, ToolSetting>
  readonly call?: ToCall
  readonly timeoutMs?: number
  readonly probeMs?: number
}

export interface Inspected {
  readonly inspection: Inspection
  /** Every connection that was opened. */
  readonly servers: readonly QuirkServer[]
  readonly doings: readonly string[]
}

const checker = createSchemaChecker(defaultLimits)

/** Inspects a server with a quirk, by the standard policy. */
export const run = async (quirk: Quirk, given: Given = {}): Promise<Inspected> => {
  const servers: QuirkServer[] = []
  const doings: string[] = []
  const { rules, trusted = false, tools = new Map(), call, timeoutMs = 20_000, probeMs = timeoutMs } = given
  const inspection = await inspect({
    name: 'quirky', isNamed: true, target: 'node quirky.mjs', version: '0.0.0', saved: undefined, trusted,
    tools, call, timeoutMs, probeMs, checker,
    policy: resolvePolicy([rules ? { rules } : {}], { purpose: 'inspect', locked: false }),
    limits: defaultLimits,
    audit: () => undefined,
    openServer() {
      const server = new QuirkServer(quirk)
      servers.push(server)
      return server
    },
    progress: doing => doings.push(doing),
    opened: () => undefined,
  })
  return { inspection, servers, doings }
}

/** The rules that are broken, each once, in the order of the findings. */
export const rulesOf = ({ findings }: Pick<Inspection, 'findings'>): string[] =>
  [...new Set(findings.map(({ rule }) => rule))]

/** What no terminal may be sent: controls but line ends, and characters that are not seen. */
export const harmful = /(?!\n)[\p{Cc}\p{Cf}\p{Co}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u

/** A text that tries whatever a terminal might do with it. */
export const evil = (text: string): string =>
  `\u001b[31m\u001b]0;owned\u0007\u009b2J${text}\u202e\u200b\u{e0041}\r\nmcp-customs: all fine`
