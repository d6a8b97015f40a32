import { combinators, type Profile, usualArguments, usualNames } from './profile.js'

export const copilotCli: Profile = {
  name: 'copilot-cli',
  title: 'GitHub Copilot CLI',
  version: '1.0',
  date: '2026-11-25',
  sources: [
    'https://github.com/github/copilot-cli/issues/1825',
    'https://github.com/github/copilot-cli/issues/2223',
    'https://github.com/github/copilot-cli/issues/4835',
  ],
  clients: ['github-copilot', 'copilot-cli'],
  tools: 128,
  toolName: usualNames,
  input: {
    notAtRoot: [...combinators, 'not', 'if', 'then', 'else'],
    requiredIsDeclared: true,
    needsItems: true,
    needsProperties: true,
    propertyName: usualArguments,
  },
}
