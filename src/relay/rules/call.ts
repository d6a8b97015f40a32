import type { Call, Powers } from '#relay/core/vocabulary.js'
import { each, isObject, member } from '#relay/protocol/json.js'
import { jsonSchemaKeywords } from '#relay/protocol/json-schema.js'
import { quote } from '#relay/protocol/quote.js'
import { pathBelow, isSchemaMismatch, isNoVerdict, maxProblems, nothing, ofKind, one } from './problem.js'

/** Also finds a call without a name. */
export const unlisted: Powers = {
  onCall: ({ name, tool, listed, denied }) =>
    listed && tool === undefined && !denied
      ? one('/params/name', `the server lists no tool ${quote(name)} that may be called`)
      : nothing,
}

/** A denied tool is removed from lists too. */
export const denied: Powers = {
  onCall: ({ name, denied }) =>
    denied ? one('/params/name', `the operator denies the tool ${quote(name)}`) : nothing,
  onTool: ({ path, denied }) => (denied ? one(path, 'the operator denies this tool') : nothing),
}

export const rate: Powers = {
  onCall: ({ rate }) =>
    rate === undefined
      ? nothing
      : one('/params/name', `${rate.perMinute} calls a minute are allowed; the next one in ` +
        `${Math.ceil(rate.waitMs / 1000)} s`),
}

/** Formats are ignored: in JSON Schema they are annotations, and the server decides what a date is. */
export const wrong: Powers = {
  onArguments: ({ checked }) => ofKind(checked, isSchemaMismatch),
}

export const uncheckedCall: Powers = {
  onCall: call =>
    isUnknown(call) ? one('/params/arguments', 'the list of tools could not be had') : nothing,
  onArguments: ({ checked }) => ofKind(checked, isNoVerdict),
}

const isUnknown = ({ listed, tool, denied }: Call): boolean => !listed && tool === undefined && !denied

/** An undeclared argument is unused, misspelt or an attack. */
export const undeclaredCall: Powers = {
  onCall({ arguments: given, tool }, meter) {
    const schema = tool?.inputSchemas[0]
    if (given === undefined || !isObject(schema)) return nothing
    const properties = member(schema, 'properties')
    const isOpen = allowingKeywords.some(key => member(schema, key) !== undefined)
    if (!isObject(properties) || isOpen) return nothing
    const unknown = [...each(given, meter)].filter(([key]) => !Object.hasOwn(properties, key))
    return unknown.slice(0, maxProblems).map(([key]) => ({
      path: pathBelow('/params/arguments', key), message: 'is not declared by the inputSchema',
    }))
  },
}

/** With one of these keywords, `properties` alone does not decide which members an object may have. */
const allowingKeywords =
  [...jsonSchemaKeywords].flatMap(([name, { allowsMembers }]) => (allowsMembers === true ? [name] : []))
