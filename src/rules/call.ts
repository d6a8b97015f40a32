import type { Call, Powers } from '../core/rule.js'
import { each, isObject, member } from '../protocol/json.js'
import { jsonSchemaKeywords } from '../protocol/json-schema.js'
import { quote } from '../protocol/quote.js'
import { below, isMismatch, isNoVerdict, maxProblems, nothing, ofKind, one } from './problem.js'

/** Also the place of a call without a name: it is a call of nothing that is listed. */
export const unlisted: Powers = {
  onCall: ({ name, tool, listed, denied }) =>
    listed && tool === undefined && !denied
      ? one('/params/name', `the server lists no tool ${quote(name)} that may be called`)
      : nothing,
}

/** A tool that is denied is in no list either. */
export const denied: Powers = {
  onCall: ({ name, denied }) => (denied ? one('/params/name', `the operator denies the tool ${quote(name)}`) : nothing),
  onTool: ({ path, denied }) => (denied ? one(path, 'the operator denies this tool') : nothing),
}

/** Formats are no reason here: to JSON Schema they annotate, and what counts as a date is the server's affair. */
export const wrong: Powers = {
  onArguments: ({ checked }) => ofKind(checked, isMismatch),
}

export const unchecked: Powers = {
  onCall: call => (isUnknown(call) ? one('/params/arguments', 'the list of tools could not be had') : nothing),
  onArguments: ({ checked }) => ofKind(checked, isNoVerdict),
}

const isUnknown = ({ listed, tool, denied }: Call): boolean => !listed && tool === undefined && !denied

/** What nobody declared nobody reads; or it is a misspelling, or an attempt. */
export const undeclared: Powers = {
  onCall({ arguments: given, tool }, meter) {
    const schema = tool?.inputSchemas[0]
    if (given === undefined || !isObject(schema)) return nothing
    const properties = member(schema, 'properties')
    if (!isObject(properties) || openings.some(key => member(schema, key) !== undefined)) return nothing
    const unknown = [...each(given, meter)].filter(([key]) => !Object.hasOwn(properties, key))
    return unknown.slice(0, maxProblems).map(([key]) => ({ path: below('/params/arguments', key), message: 'is not declared by the inputSchema' }))
  },
}

/** Where a schema has one of these, `properties` alone does not decide which members an object may have. */
const openings = [...jsonSchemaKeywords].flatMap(([name, { allowsMembers }]) => (allowsMembers === true ? [name] : []))
