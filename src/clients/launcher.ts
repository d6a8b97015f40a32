/** How a client is told to start us. */
export interface Launcher {
  /** A program and its first arguments; `wrap` comes next. */
  readonly words: readonly string[]
  /** Why so, for the person who reads the preview. */
  readonly reason: string
}

export interface Installation {
  readonly platform: NodeJS.Platform
  readonly version: string
  /** Our own program, as a path without symbolic links. */
  readonly file: string
  /** Paths of Node that lead to the one that runs us, the best first. */
  readonly nodes: readonly string[]
  /** Folders that are emptied now and then. */
  readonly temporary: readonly string[]
}

/**
 * What works without a global installation, and goes on working: absolute paths where they will stay, else npx.
 * @param shared the file is read on other machines too, where no path of this one means anything
 */
export const launcherFor = ({ platform, version, file, nodes, temporary }: Installation, shared: boolean): Launcher => {
  const npx = ['npx', '-y', `mcp-customs@${version}`]
  // Clients on Windows start no `npx.cmd` without a shell.
  const words = platform === 'win32' ? ['cmd', '/c', ...npx] : npx
  const stays = (path: string) => !isPassing(path, temporary)
  const node = nodes.find(stays)
  if (shared) return { words, reason: 'the file is shared, and paths of this machine mean nothing on others' }
  if (!stays(file)) return { words, reason: `this copy is in a place that is emptied now and then (${file})` }
  if (node === undefined) return { words, reason: 'the Node.js that runs this is in a place that is emptied now and then' }
  return { words: [node, file], reason: 'Node.js and this copy of mcp-customs, where they are now' }
}

/** Whether a path leads into a cache of npx and its like, or a temporary folder: what is there now may be gone tomorrow. */
export const isPassing = (path: string, temporary: readonly string[]): boolean => {
  const plain = slashed(path)
  return caches.test(plain) || [...alwaysTemporary, ...temporary].some(folder => plain.startsWith(`${slashed(folder).replace(/\/$/, '')}/`))
}

const slashed = (path: string): string => path.replaceAll('\\', '/').toLowerCase()

const caches = /\/(?:_npx|_cacache|fnm_multishells|dlx|dlx-[^/]*|bunx-[^/]*|xfs-[^/]*|install\/cache|\.yarn\/(?:cache|berry|\$\$virtual))\//
const alwaysTemporary = ['/tmp', '/private/tmp', '/var/tmp', '/var/folders', '/private/var/folders', '/run', '/dev/shm']

/** What `cmd /c` would not hand on as it is. The character, not the word, which may be a secret. */
export const misreadByCmd = (words: readonly string[]): string | undefined =>
  /(?:^|[\\/])cmd(?:\.exe)?$/i.test(words[0] ?? '') ? /[&|<>^%"!]/.exec(words.join(' '))?.[0] : undefined
