import type { Fault } from '../protocol/frame.js'
import type { Rule } from '../core/rule.js'
import { nothing } from './finding.js'

/** The strict parse and the transports have found these; here they become findings. */
const ofFault = (kind: Fault['kind']): Rule => {
  const name = `wire/${kind}` as const
  return {
    name,
    // Nearly every frame has none.
    onFrame: ({ faults }) =>
      faults.length === 0
        ? nothing
        : faults.filter(fault => fault.kind === kind).map(({ path, message }) => ({ rule: name, path, message })),
  }
}

export const wire: readonly Rule[] = [
  ofFault('json'),
  ofFault('json-rpc'),
  ofFault('ambiguous'),
  ofFault('size'),
  ofFault('http'),
]
