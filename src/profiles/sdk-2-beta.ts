import type { Profile, SchemaRules } from './profile.js'

/** Its validator knows no other dialect, its types want objects for the schemas of properties. */
const rules: SchemaRules = { dialects: ['2020-12'], noBooleans: true, needsType: true }

export const sdk2Beta: Profile = {
  name: 'sdk-2-beta',
  title: 'TypeScript SDK 2.0, beta',
  version: '@modelcontextprotocol/client 2.0.0-beta.5',
  date: '2026-11-25',
  sources: ['https://www.npmjs.com/package/@modelcontextprotocol/client'],
  clients: [],
  input: rules,
  output: rules,
}
