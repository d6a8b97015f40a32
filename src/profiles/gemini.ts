import { combinators, type Profile } from './profile.js'

export const gemini: Profile = {
  name: 'gemini',
  title: 'Gemini API and Gemini CLI',
  version: 'API v1beta, @google/genai 3.3.0',
  date: '2026-11-25',
  sources: [
    'https://ai.google.dev/api/caching#Schema',
    'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema',
    'https://github.com/wonderwhy-er/DesktopCommanderMCP/issues/79',
    'https://github.com/google-gemini/gemini-cli/issues/22210',
  ],
  clients: ['gemini-cli'],
  toolName: { characters: 'A-Za-z0-9_.-', first: 'A-Za-z_', longest: 64 },
  input: {
    keywords: new Set([
      'type', 'format', 'title', 'description', 'default', 'enum', 'items', 'minItems', 'maxItems',
      'properties', 'required', 'minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern',
      'minimum', 'maximum', 'anyOf',
    ]),
    notAtRoot: combinators,
    formats: ['date-time', 'enum', 'float', 'double', 'int32', 'int64'],
    typeLists: 'null',
    stringEnums: true,
    noBooleans: true,
    untypedUnions: true,
    requiredIsDeclared: true,
    needsItems: true,
  },
}
