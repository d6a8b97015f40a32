import type { Profile, SchemaRules } from './profile.js'

/**
 * The SDK's validator knows these dialects. Its types demand that the schemas of properties are objects,
 * not booleans.
 */
const rules: SchemaRules = { dialects: ['draft-06', 'draft-07', '2019-09', '2020-12'], noBooleans: true, needsType: true }

export const sdk1: Profile = {
  name: 'sdk-1',
  title: 'TypeScript SDK 1.x',
  version: '@modelcontextprotocol/sdk 1.20 to 1.32',
  date: '2026-11-25',
  sources: ['https://www.npmjs.com/package/@modelcontextprotocol/sdk'],
  clients: [],
  input: rules,
  output: rules,
}
