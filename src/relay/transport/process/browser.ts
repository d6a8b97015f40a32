import { spawn } from 'node:child_process'
import { thisMachine } from '#relay/base/platform/machine.js'
import { browserCommand } from '#relay/base/platform/programs.js'

/**
 * Opens a URL in the user's browser: without a shell, as one argument, and only http and https, because a
 * server chooses it (CVE-2025-6514).
 * @returns false where there is no browser
 */
export const openBrowser = (
  url: string, environment = process.env, platform = thisMachine().platform,
): boolean => {
  const { protocol, href } = new URL(url)
  const program = protocol === 'https:' || protocol === 'http:' ? browserCommand(environment, platform) : undefined
  if (program === undefined) return false
  const [command, ...args] = program
  const child = spawn(command, [...args, href], { stdio: 'ignore', detached: true })
  // The URL is on stderr as well.
  child.on('error', () => undefined).unref()
  return true
}
