import {
  isObject, type Json, type JsonObject, member, type Meter, withMembers,
} from '#relay/protocol/json.js'
import type { Schema, Tool } from './vocabulary.js'
import type { ToolSetting } from './options.js'

/** The tool with the operator's words about the arguments that the server declares. */
export const withWords = (tool: JsonObject, setting: ToolSetting | undefined, meter: Meter): JsonObject => {
  const schema = member(tool, 'inputSchema')
  const declared = isObject(schema) ? member(schema, 'properties') : undefined
  if (setting?.inputSchema === undefined || !isObject(schema) || !isObject(declared)) return tool
  const properties = Object.entries(setting.inputSchema.properties).flatMap(([name, words]) => {
    const property = member(declared, name)
    return isObject(property) ? [[name, withMembers(property, words, meter)] as const] : []
  })
  return withMembers(tool, {
    inputSchema: withMembers(schema, {
      properties: withMembers(declared, Object.fromEntries(properties), meter),
    }, meter),
  }, meter)
}

/** The members of a tool in the operator's words. */
export const operatorWords = (
  mended: JsonObject, setting: ToolSetting | undefined, meter: Meter,
): Readonly<Record<string, Json>> => {
  const { title, description, outputSchema, annotations } = setting ?? {}
  const theirs = member(mended, 'annotations')
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && {
      annotations: isObject(theirs) ? withMembers(theirs, annotations, meter) : annotations,
    }),
  }
}

export const withOwn = (tool: JsonObject, own: Readonly<Record<string, Json>>, meter: Meter): JsonObject =>
  (Object.keys(own).length === 0 ? tool : withMembers(tool, own, meter))

/**
 * @param operatorSchema replaces the server's output schema
 * @param checkedBy the definition whose schemas are checked by, if those of the first are unusable
 */
export const toolOf = (
  name: string, definition: JsonObject, operatorSchema?: Schema, checkedBy = definition,
): Tool => {
  const input = member(checkedBy, 'inputSchema')
  const output = operatorSchema ?? member(checkedBy, 'outputSchema')
  return {
    name,
    definition,
    // A tool without a usable schema passes only by policy; then any arguments are valid.
    inputSchemas: [isObject(input) ? input : true],
    outputSchemas: isObject(output) || typeof output === 'boolean' ? [output] : [],
  }
}
