/** Keywords of JSON Schema, of any dialect, that hold a schema or an array of schemas. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  'items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties',
  'unevaluatedProperties', 'propertyNames', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else', 'contentSchema',
])

/** Keywords that hold schemas by names of the author's. */
export const namedSchemaKeywords: ReadonlySet<string> = new Set([
  'properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions',
])
