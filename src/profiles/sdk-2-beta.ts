import type { Profile, SchemaRules } from './profile.js'
import { sdk1 } from './sdk-1.js'

/** Its validator knows no other dialect. */
const rules: SchemaRules = { ...sdk1.input, dialects: ['2020-12'] }

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
