import type { Call, Rule } from '../core/rule.js'
import { quote } from '../protocol/quote.js'
import { isMismatch, isNoVerdict, nothing, ofKind, one } from './finding.js'

/** Also the place of a call without a name: it is a call of nothing that is listed. */
const unlisted: Rule = {
  name: 'call/unlisted',
  onCall: ({ name, tool, listed, denied }) =>
    listed && tool === undefined && !denied
      ? one('call/unlisted', '/params/name', `the server lists no tool ${quote(name)} that may be called`)
      : nothing,
}

const denied: Rule = {
  name: 'call/denied',
  onCall: ({ name, denied }) =>
    denied ? one('call/denied', '/params/name', `the operator denies the tool ${quote(name)}`) : nothing,
}

/** Formats are no reason here: to JSON Schema they annotate, and what counts as a date is the server's affair. */
const wrong: Rule = {
  name: 'call/arguments',
  onCall: ({ checked }) => ofKind('call/arguments', checked, isMismatch),
}

const unchecked: Rule = {
  name: 'call/unchecked',
  onCall: call =>
    isUnknown(call)
      ? one('call/unchecked', '/params/arguments', 'the list of tools could not be had')
      : ofKind('call/unchecked', call.checked, isNoVerdict),
}

const isUnknown = ({ listed, tool, denied }: Call): boolean => !listed && tool === undefined && !denied

export const call: readonly Rule[] = [unlisted, denied, wrong, unchecked]
