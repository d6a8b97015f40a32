import type { Log } from '#relay/audit/log.js'
import { actionOf, Findings } from '#relay/core/findings.js'
import type { Policy, RuleName } from '#relay/core/vocabulary.js'
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
 * Writes down what is not in merged lists: a record for each server, as that server's relay writes them about
 * its own lists. The element is left out whatever the policy says, so the policy decides the verdict alone.
 * @param policyOf of a server; undefined when it is no longer configured
 */
export const recorderOfMerge = (
  { audits, log, metrics }: { readonly audits: Pick<Audits, 'of'>; readonly log: Log; readonly metrics: Metrics },
  policyOf: (server: string) => Policy | undefined,
) => ({ kind, found }: MergedFindings): void => {
  const { method, key, about } = listKinds[kind]
  for (const server of new Set(found.map(one => one.server))) {
    const [audit, policy] = [audits.of(server), policyOf(server)]
    if (audit === undefined || policy === undefined) continue
    const findings = new Findings(policy, undefined, new Meter())
    for (const { rule, message, name } of found.filter(one => one.server === server))
      findings.add(rule, [{ path: `/result/${key}`, message, [about]: name }])
    const { verdict, kept, more } = findings
    if (verdict === 'pass') continue
    writeBeside({ audit, log, metrics }, {
      event: method, from: 'relay', server, session: '', client: undefined, revision: undefined, verdict,
      findings: kept, more: more || undefined,
    })
    for (const { rule } of kept) metrics.found(server, rule, actionOf(policy, rule))
  }
}
