import { combinators, type Profile, usualArguments } from './profile.js'

// Until 2025 it sent the first 40 tools only; its documentation says so no more, so no number stands here.
export const cursor: Profile = {
  name: 'cursor',
  title: 'Cursor',
  version: '2.2',
  date: '2026-11-25',
  sources: [
    'https://cursor.com/docs/context/mcp',
    'https://github.com/afrise/MCPSharp/issues/9',
    'https://github.com/awslabs/mcp/issues/633',
  ],
  clients: ['cursor'],
  toolName: { characters: 'A-Za-z0-9_-', longest: 60, isPrefixed: true },
  input: {
    notAtRoot: combinators,
    needsItems: true,
    propertyName: usualArguments,
  },
}
