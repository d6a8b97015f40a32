import { posix, win32, type PlatformPath } from 'node:path'

/** What decides where a client keeps its files. */
export interface Machine {
  readonly platform: NodeJS.Platform
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly home: string
}

export interface Client {
  readonly name: string
  /** As people call it. */
  readonly title: string
  /** Where in its file the servers stand. */
  readonly servers: readonly string[]
  /**
   * The user's files; in several places where it depends on how the client was installed. A `*` stands for
   * any letters of a folder's name.
   */
  readonly files: (machine: Machine) => readonly string[]
  /** The file of a project that is shared with a team, below the project's folder. */
  readonly projectFile?: string
  /**
   * What a remote server's URL, its kind and its headers are called, where nothing says how they were spelt.
   */
  readonly url: string
  readonly type: string
  readonly headers: string
  /** The policy that suits it where `standard` does not, and why. */
  readonly policy?: { readonly name: 'compat'; readonly reason: string }
}

const windows = ({ platform }: Machine): boolean => platform === 'win32'

export const pathsOf = (machine: Machine): PlatformPath => (windows(machine) ? win32 : posix)

const inHome = (...parts: string[]) => (machine: Machine) => [pathsOf(machine).join(machine.home, ...parts)]

/**
 * A folder that a variable may name; a relative path in it counts for nothing (XDG Base Directory
 * Specification).
 */
const folder = (machine: Machine, variable: string, ...otherwise: string[]): string => {
  const named = machine.environment[variable] ?? ''
  return pathsOf(machine).isAbsolute(named) ? named : pathsOf(machine).join(machine.home, ...otherwise)
}

const roaming = (machine: Machine): string => folder(machine, 'APPDATA', 'AppData', 'Roaming')

/** Where programs with a window keep what is theirs. */
const applicationData = (machine: Machine): string =>
  windows(machine)
    ? roaming(machine)
    : machine.platform === 'darwin'
      ? posix.join(machine.home, 'Library', 'Application Support')
      : folder(machine, 'XDG_CONFIG_HOME', '.config')

/** Its own and the early version's, which are two programs that may both be there. */
const inVisualStudioCode = (...parts: string[]) => (machine: Machine) =>
  ['Code', 'Code - Insiders'].map(program =>
    pathsOf(machine).join(applicationData(machine), program, 'User', ...parts))

const claudeDesktop = (machine: Machine): readonly string[] => {
  const paths = pathsOf(machine)
  const own = paths.join(applicationData(machine), 'Claude', 'claude_desktop_config.json')
  if (!windows(machine)) return [own]
  const packages = paths.join(folder(machine, 'LOCALAPPDATA', 'AppData', 'Local'), 'Packages')
  return [
    paths.join(packages, 'Claude_*', 'LocalCache', 'Roaming', 'Claude', 'claude_desktop_config.json'), own,
  ]
}

const claudeCode = (machine: Machine): readonly string[] => [pathsOf(machine).join(
  folder(machine, 'CLAUDE_CONFIG_DIR'), '.claude.json',
)]

const zed = (machine: Machine): readonly string[] => {
  if (windows(machine)) return [win32.join(roaming(machine), 'Zed', 'settings.json')]
  const configuration =
    machine.platform === 'darwin' ? posix.join(machine.home, '.config') : applicationData(machine)
  return [posix.join(configuration, 'zed', 'settings.json')]
}

const codex = (machine: Machine): readonly string[] => [pathsOf(machine).join(
  folder(machine, 'CODEX_HOME', '.codex'), 'config.toml',
)]

const usual = { servers: ['mcpServers'], url: 'url', type: 'http', headers: 'headers' }

/** Every client whose files are known, with where they are (vendors' documentation, November 2026). */
export const clients: readonly Client[] = [
  {
    ...usual, name: 'claude-desktop', title: 'Claude Desktop', files: claudeDesktop,
    // As of September 2026; the SDK for servers declares draft-07 in every schema that it makes from Zod.
    policy: { name: 'compat', reason: 'it refuses tools whose schemas declare JSON Schema draft-07' },
  },
  { ...usual, name: 'claude-code', title: 'Claude Code', files: claudeCode, projectFile: '.mcp.json' },
  {
    ...usual, name: 'cursor', title: 'Cursor', files: inHome('.cursor', 'mcp.json'),
    projectFile: '.cursor/mcp.json',
  },
  {
    ...usual, name: 'vscode', title: 'VS Code', servers: ['servers'], files: inVisualStudioCode('mcp.json'),
    projectFile: '.vscode/mcp.json',
  },
  {
    ...usual, name: 'windsurf', title: 'Windsurf', files: inHome('.codeium', 'windsurf', 'mcp_config.json'),
    url: 'serverUrl',
  },
  { ...usual, name: 'zed', title: 'Zed', servers: ['context_servers'], files: zed },
  {
    ...usual, name: 'gemini', title: 'Gemini CLI', files: inHome('.gemini', 'settings.json'),
    projectFile: '.gemini/settings.json', url: 'httpUrl',
  },
  {
    ...usual, name: 'codex', title: 'Codex', servers: ['mcp_servers'], files: codex, headers: 'http_headers',
  },
  {
    ...usual, name: 'junie', title: 'Junie', files: inHome('.junie', 'mcp', 'mcp.json'),
    projectFile: '.junie/mcp/mcp.json',
  },
  {
    ...usual,
    name: 'cline',
    title: 'Cline',
    files: inVisualStudioCode(
      'globalStorage', 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json',
    ),
    type: 'streamableHttp',
  },
  { ...usual, name: 'lmstudio', title: 'LM Studio', files: inHome('.lmstudio', 'mcp.json') },
  { ...usual, name: 'copilot', title: 'Copilot CLI', files: inHome('.copilot', 'mcp-config.json') },
]
