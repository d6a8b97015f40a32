import type { Fault } from '#relay/protocol/frame.js'
import { methodOf, traitsOf } from '#relay/protocol/revisions/index.js'
import type { Arrival, IdUse, Powers, Problem } from '#relay/core/vocabulary.js'
import { nothing, one } from './problem.js'

/** Faults found by the strict parser and the transports. */
const faultsOf = ({ frame: { faults } }: Arrival, kind: Fault['kind']): readonly Problem[] =>
  // Nearly every frame has none.
  faults.length === 0 ? nothing : faults.filter(fault => fault.kind === kind)

const ofFault = (kind: Fault['kind']): Powers => ({ onFrame: arrival => faultsOf(arrival, kind) })

export const wireJson = ofFault('json')
export const ambiguous = ofFault('ambiguous')
export const wireSize: Powers = {
  ...ofFault('size'),
  onId: ({ use }) => (use === 'no-room' ? one('', 'the requests in flight take too much memory') : nothing),
}

export const jsonRpc: Powers = {
  onFrame: arrival => {
    const { frame: { message }, revision } = arrival
    if (message.kind === 'batch' && !traitsOf(revision).batches) {
      return one('', 'batches are allowed in revision 2025-03-26 only')
    }
    // A lenient server would execute it, past every check of requests.
    if (message.kind === 'notification' && methodOf(message.method)?.kind === 'request') {
      return [...faultsOf(arrival, 'json-rpc'), ...one('/id', 'a request must have an id')]
    }
    return faultsOf(arrival, 'json-rpc')
  },
}

export const wireHttp: Powers = {
  ...ofFault('http'),
  onCall: ({ mismatch }) => (mismatch === undefined ? nothing : one('', mismatch)),
}

export const revision: Powers = {
  onRevision: ({ from, revision, least, path }) =>
    one(path, `the ${from} speaks revision ${revision}; the oldest that is allowed is ${least}`),
}

const idMessage = ({ use, from }: IdUse): string | undefined => {
  if (use === 'repeated') return 'a request of this id is in flight'
  if (use === 'no-room' || use === 'unknown' || use === 'progress') return undefined
  return from === 'server'
    ? 'answers no request in flight by its exact id'
    : 'answers no request that the server has in flight'
}

/** Strict clients fail the call for it. */
const foreignProgress: readonly Problem[] = [
  { path: '/params/progressToken', message: 'no request gave this token', isMinor: true },
]

export const id: Powers = {
  onId: asked => {
    if (asked.use === 'progress') return foreignProgress
    const message = idMessage(asked)
    return message === undefined ? nothing : one('/id', message)
  },
}
