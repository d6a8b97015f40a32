import { combinators, type Profile, usualNames } from './profile.js'

export const vscode: Profile = {
  name: 'vscode',
  title: 'VS Code',
  version: '1.107, Copilot Chat',
  date: '2026-11-25',
  sources: [
    'https://github.com/microsoft/vscode/issues/284536',
    'https://github.com/microsoft/vscode/issues/248810',
    'https://github.com/microsoft/vscode-copilot-chat/blob/main/src/extension/tools/common/toolSchemaNormalizer.ts',
    'https://code.visualstudio.com/docs/copilot/chat/mcp-servers',
  ],
  clients: ['visual studio code'],
  tools: 128,
  toolName: usualNames,
  input: {
    notAtRoot: [...combinators, 'not', 'if', 'then', 'else'],
    requiredIsDeclared: true,
    needsItems: true,
    needsProperties: true,
  },
}
