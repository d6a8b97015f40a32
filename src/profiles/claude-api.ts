import { combinators, type Profile, usualArguments, usualNames } from './profile.js'

export const claudeApi: Profile = {
  name: 'claude-api',
  title: 'Claude API and Claude Code',
  version: 'Messages API 2023-06-01, Claude Code 2.1',
  date: '2026-11-25',
  sources: [
    'https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools',
    'https://github.com/anthropics/claude-code/issues/40075',
    'https://github.com/anthropics/claude-code/issues/79418',
    'https://github.com/anthropics/claude-code/issues/95504',
  ],
  clients: ['claude-code'],
  toolName: usualNames,
  input: { notAtRoot: combinators, propertyName: usualArguments },
}
