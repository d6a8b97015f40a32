import type { Log } from '#relay/audit/log.js'
import { actionOf, Findings } from '#relay/core/findings.js'
import type { Entry, Policy, RuleName } from '#relay/core/vocabulary.js'
import { Meter } from '#relay/protocol/json.js'
import type { Metrics } from '#relay/telemetry/metrics.js'
import { type Audits, writeBeside } from '../serve/audits.js'
import { type ListKind, listKinds } from './reading.js'

/** Why a client does not get an element of a server at the merged endpoint. */
export interface MergedFinding {
  readonly server: string
  readonly rule: RuleName
  readonly message: string
  /** The server's name of the tool or prompt, or the URI; undefined: of several. */
  readonly name?: string | undefined
}

/** What is not in a merged list although servers list it. */
export interface MergedFindings {
  readonly kind: ListKind
  readonly found: readonly MergedFinding[]
}

/**
 * The records of it: one for each server, as that server's relay writes them about its own lists. The element
 * is left out whatever the policy says, so the policy decides the verdict alone.
 * @param policyOf of a server; undefined when it is no longer configured
 */
const recordsOfMerge = (
  { kind, found }: MergedFindings, policyOf: (server: string) => Policy | undefined,
): readonly Entry[] =>
  [...new Set(found.map(({ server }) => server))].flatMap((server): readonly Entry[] => {
    const policy = policyOf(server)
    if (policy === undefined) return []
    const { method, key, about } = listKinds[kind]
    const all = new Findings(policy, undefined, new Meter())
    for (const { rule, message, name } of found.filter(one => one.server === server)) {
      all.add(rule, [{ path: `/result/${key}`, message, [about]: name }])
    }
    const { verdict, kept, more } = all
    return verdict === 'pass' ? [] : [{
      event: method, from: 'relay', server, session: '', client: undefined, revision: undefined, verdict,
      findings: kept, more: more || undefined,
    }]
  })

/** Writes down what is not in merged lists. @param policyOf as in `recordsOfMerge` */
export const recorderOfMerge = (
  { audits, log, metrics }: { readonly audits: Pick<Audits, 'of'>; readonly log: Log; readonly metrics: Metrics },
  policyOf: (server: string) => Policy | undefined,
) => (found: MergedFindings): void => {
  for (const entry of recordsOfMerge(found, policyOf)) {
    const [audit, policy] = [audits.of(entry.server), policyOf(entry.server)]
    if (audit === undefined || policy === undefined) continue
    writeBeside({ audit, log, metrics }, entry)
    for (const { rule } of entry.findings) metrics.found(entry.server, rule, actionOf(policy, rule))
  }
}
