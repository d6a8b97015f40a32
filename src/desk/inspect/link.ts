import type { Action, Entry, Policy, SchemaChecker } from '#relay/core/vocabulary.js'
import { actionOf, maxKept } from '#relay/core/findings.js'
import type { Judgement, ToolSetting } from '#relay/core/options.js'
import type { CustomsError } from '#relay/base/errors.js'
import { type OpenServer, openSession } from '#relay/session/open.js'
import type { Eras } from '#relay/eras/index.js'
import type { Session } from '#relay/session/session.js'
import type { FrameLimits } from '#relay/protocol/frame.js'
import { type RuleName, ruleNames, rules } from '#relay/rules/index.js'
import type { Transport } from '#relay/transport/transport.js'
import { InspectClient } from './client.js'

/** How to connect to the server, and the settings of the relay in between. */
export interface LinkOptions {
  readonly name: string
  /** See `watching`; findings are weighed by the operator's policy instead. */
  readonly policy: Policy
  readonly trusted: boolean
  readonly tools: ReadonlyMap<string, ToolSetting>
  readonly limits: FrameLimits & Judgement['limits']
  readonly checker: SchemaChecker
  readonly eras?: Eras | undefined
  readonly audit: (entry: Entry) => void
  /** Opens a new connection: for a stdio server, a new process. */
  readonly openServer: (...known: Parameters<OpenServer>) => InspectedEnd
  /** Calls a listener every second while a user has to log in. @returns ends that */
  readonly waiting?: ((told: () => void) => () => void) | undefined
  /** Numbers in results keep all digits (see `markLongNumbers`). */
  readonly exact?: boolean | undefined
}

export type InspectedEnd = Transport & {
  /** Why connecting failed. */
  readonly failure?: CustomsError | undefined
}

/** So many entries with the same rules are kept: a server may repeat itself without end. */
const maxAlike = 1000

/** Findings kept of one frame: advice on thousands of tools must not displace worse findings. */
const maxFindings = 100_000

/** A connection to the server through a relay that only observes. */
export interface InspectLink {
  readonly client: InspectClient
  /** Why connecting failed. */
  readonly failure: CustomsError | undefined
  readonly session: Session
  /** Every entry with findings so far. */
  readonly entries: readonly Entry[]
  close(): Promise<void>
}

export const openLink = (options: LinkOptions): InspectLink => {
  const { name, policy, trusted, tools, limits, checker, eras, audit, openServer } = options
  const entries: Entry[] = []
  const isNew = atMost(maxAlike)
  const client = new InspectClient(limits, options.exact)
  let server: InspectedEnd | undefined
  const session = openSession(
    {
      judgement: {
        server: name, rules, trusted, intent: false, maxFindings,
        ruling: { policy, tools }, limits: { ...limits, requestMs: 0 },
      },
      checker, eras,
      audit: (entry): undefined => {
        audit(forRecord(entry))
        if (entry.findings.length > 0 && isNew(entry)) entries.push(entry)
      },
    },
    client,
    inputSchemaOf => (server = openServer(inputSchemaOf)),
  )
  session.start()
  const stopWaiting = options.waiting?.(() => client.bePatient())
  return {
    client,
    session,
    entries,
    get failure() {
      return server?.failure
    },
    async close() {
      stopWaiting?.()
      session.stop()
      const { failure } = await session.ended
      if (failure !== undefined) throw failure
    },
  }
}

const forRecord = (entry: Entry): Entry => {
  const { findings, more = 0 } = entry
  const over = findings.length - maxKept
  return over <= 0 ? entry : { ...entry, findings: findings.slice(0, maxKept), more: more + over }
}

/** Returns whether an entry is among the first `most` with the same rules. */
const atMost = (most: number): ((entry: Entry) => boolean) => {
  const seen = new Map<string, number>()
  return ({ findings }) => {
    const alike = [...new Set(findings.map(({ rule }) => rule))].sort().join()
    const count = (seen.get(alike) ?? 0) + 1
    seen.set(alike, count)
    return count <= most
  }
}

/**
 * The policy of the inspecting relay: everything is reported and nothing changed, so that definitions arrive
 * as the server sent them. Exceptions: a response that cannot be read is blocked (its request would never be
 * answered), and so is a call that the operator's policy would block. tool/annotations is off: it is reported
 * once, and is no fault.
 */
export const watching = (policy: Policy): Policy =>
  new Map(ruleNames.map(rule => [rule, watch(rule, actionOf(policy, rule))]))

const watch = (rule: RuleName, action: Action): Action => {
  if (rule === 'tool/annotations') return 'off'
  if (rule.startsWith('wire/') && rule !== 'wire/ambiguous') return 'block'
  return rule.startsWith('call/') || action === 'off' ? action : 'log'
}
