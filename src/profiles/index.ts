import { bedrock } from './bedrock.js'
import { claudeApi } from './claude-api.js'
import { claudeDesktop } from './claude-desktop.js'
import { copilotCli } from './copilot-cli.js'
import { cursor } from './cursor.js'
import { gemini } from './gemini.js'
import { openaiStrict } from './openai-strict.js'
import type { Profile } from './profile.js'
import { sdk1 } from './sdk-1.js'
import { sdk2Beta } from './sdk-2-beta.js'
import { vscode } from './vscode.js'

/** Every profile, in the order of the documentation. */
export const profiles: readonly Profile[] = [
  claudeDesktop, claudeApi, openaiStrict, gemini, bedrock, copilotCli, cursor, vscode, sdk1, sdk2Beta,
]

/** Chooses by the name that the client gives itself. */
export const automatic = 'auto'

export const profileNamed = (name: string): Profile | undefined =>
  profiles.find(profile => profile.name === name)

/** The profile for a client that calls itself so. */
export const profileFor = (clientName: string): Profile | undefined => {
  const name = clientName.toLowerCase()
  return profiles.find(({ clients }) => clients.some(beginning => name.startsWith(beginning)))
}
