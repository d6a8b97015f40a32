import { isObject, isString, member, type JsonObject } from '../protocol/unmetered.js'

/**
 * What a tool says of itself by its annotations, in words. What it leaves unsaid is left out, and so is what the specification
 * calls meaningless for a tool that is read-only.
 */
export const claimsOf = (definition: JsonObject | undefined): readonly string[] => {
  const annotations = member(definition, 'annotations')
  if (!isObject(annotations)) return []
  const says = (hint: string): unknown => member(annotations, hint)
  const readOnly = says('readOnlyHint') === true
  return [
    word(says('readOnlyHint'), 'read-only', 'writes'),
    word(says('destructiveHint'), 'destructive', readOnly ? '' : 'not destructive'),
    word(says('idempotentHint'), readOnly ? '' : 'idempotent', ''),
    word(says('openWorldHint'), 'open world', 'closed world'),
  ].filter(claim => claim !== '')
}

const word = (hint: unknown, yes: string, no: string): string => (hint === true ? yes : hint === false ? no : '')

/** By the order in which clients look for it (MCP, Tool: title). */
export const titleOf = (definition: JsonObject | undefined): string | undefined => {
  const annotations = member(definition, 'annotations')
  const title = member(definition, 'title') ?? (isObject(annotations) ? member(annotations, 'title') : undefined)
  return isString(title) ? title : undefined
}
