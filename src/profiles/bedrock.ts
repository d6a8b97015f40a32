import { combinators, type Profile, usualArguments, usualNames } from './profile.js'

export const bedrock: Profile = {
  name: 'bedrock',
  title: 'Amazon Bedrock, Converse API',
  version: 'Converse API 2023-09-30',
  date: '2026-11-25',
  sources: [
    'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html',
    'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolInputSchema.html',
    'https://docs.aws.amazon.com/nova/latest/nova2-userguide/using-tools.html',
  ],
  clients: ['amazon-q', 'q-dev-cli', 'kiro'],
  toolName: usualNames,
  // Bedrock's models differ. These rules are what the strictest models, Nova and Claude, accept.
  input: {
    keywords: new Set([
      'type', 'title', 'description', 'default', 'enum', 'const', 'items', 'minItems', 'maxItems',
      'uniqueItems', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties',
      'minLength', 'maxLength', 'pattern', 'format', 'minimum', 'maximum', 'exclusiveMinimum',
      'exclusiveMaximum', 'multipleOf', 'anyOf', 'oneOf', 'allOf',
    ]),
    notAtRoot: combinators,
    noBooleans: true,
    needsProperties: true,
    propertyName: usualArguments,
  },
}
