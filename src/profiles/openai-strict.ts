import { combinators, type Profile, usualNames } from './profile.js'

export const openaiStrict: Profile = {
  name: 'openai-strict',
  title: 'OpenAI API, strict mode',
  version: 'Structured Outputs, openai 7.57.0',
  date: '2026-11-25',
  sources: [
    'https://platform.openai.com/docs/guides/structured-outputs#supported-schemas',
    'https://platform.openai.com/docs/guides/function-calling#strict-mode',
    'https://github.com/openai/openai-node/blob/master/src/lib/transform.ts',
  ],
  clients: [],
  tools: 128,
  toolName: usualNames,
  input: {
    keywords: new Set([
      'type', 'title', 'description', 'enum', 'properties', 'required', 'additionalProperties', 'items',
      'anyOf', '$ref', '$defs', 'pattern', 'format', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum',
      'exclusiveMaximum', 'minItems', 'maxItems',
    ]),
    notAtRoot: combinators,
    formats: [
      'date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid',
    ],
    noBooleans: true,
    requiredIsDeclared: true,
    needsItems: true,
    needsProperties: true,
    isStrict: true,
    depth: 10,
    properties: 5000,
    enumValues: 1000,
  },
}
