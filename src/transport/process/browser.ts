import { spawn } from 'node:child_process'

/** Undefined where there is no browser, or `BROWSER` is empty or `none`. */
const programOf = (
  { BROWSER: browser, DISPLAY: x, WAYLAND_DISPLAY: wayland }: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): readonly [string, ...string[]] | undefined => {
  if (browser !== undefined) {
    const [program = '', ...args] = browser.split(' ')
    return program === '' || program === 'none' ? undefined : [program, ...args]
  }
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return x === undefined && wayland === undefined ? undefined : ['xdg-open']
}

/**
 * Opens a URL in the user's browser: without a shell, as one argument, and only http and https, because a
 * server chooses it (CVE-2025-6514).
 * @returns false where there is no browser
 */
export const openBrowser = (
  url: string, environment = process.env, platform: NodeJS.Platform = process.platform,
): boolean => {
  const { protocol, href } = new URL(url)
  const program = protocol === 'https:' || protocol === 'http:' ? programOf(environment, platform) : undefined
  if (program === undefined) return false
  const [command, ...args] = program
  const child = spawn(command, [...args, href], { stdio: 'ignore', detached: true })
  // The URL is on stderr as well.
  child.on('error', () => undefined).unref()
  return true
}
