import { claudeApi } from './claude-api.js'
import { type Profile, usualNames } from './profile.js'

export const claudeDesktop: Profile = {
  name: 'claude-desktop',
  title: 'Claude Desktop',
  version: 'of September 2026',
  date: '2026-11-25',
  sources: [
    'https://github.com/anthropics/claude-code/issues/86142',
    'https://github.com/anthropics/claude-code/issues/88882',
    'https://github.com/anthropics/claude-code/issues/90549',
    ...claudeApi.sources,
  ],
  clients: ['claude-ai'],
  toolName: usualNames,
  input: { ...claudeApi.input, dialects: ['2020-12'] },
  output: { dialects: ['2020-12'] },
}
