import { posix, win32 } from 'node:path'
import {
  folderNamed as folder, isMac, isWindows, pathsOf, type Machine,
} from '#relay/base/platform/machine.js'

export interface KnownClient {
  readonly name: string
  /** The name that people use. */
  readonly title: string
  /** The path of the table of servers in the client's file. */
  readonly servers: readonly string[]
  /**
   * The user's files: several where they depend on how the client was installed. A `*` stands for any part of
   * a folder's name.
   */
  readonly files: (machine: Machine) => readonly string[]
  /** The file that a team shares, relative to the project's folder. */
  readonly projectFile?: string
  /** The profile that says which tools it accepts (src/relay/profiles). */
  readonly profile?: string
}

const windows = ({ platform }: Machine): boolean => isWindows(platform)

const inHome = (...parts: string[]) => (machine: Machine) => [pathsOf(machine).join(machine.home, ...parts)]

const roaming = (machine: Machine): string => folder(machine, 'APPDATA', 'AppData', 'Roaming')

/** The folder of desktop programs' data. */
const applicationData = (machine: Machine): string =>
  windows(machine)
    ? roaming(machine)
    : isMac(machine.platform)
      ? posix.join(machine.home, 'Library', 'Application Support')
      : folder(machine, 'XDG_CONFIG_HOME', '.config')

/** On Linux, a program of Flatpak has its files in a folder of its own (Flatpak, Sandbox Permissions). */
const inFlatpak = (machine: Machine, id: string, ...parts: string[]): readonly string[] =>
  (machine.platform === 'linux' ? [posix.join(machine.home, '.var', 'app', id, 'config', ...parts)] : [])

/** Both editions, because a machine may have both; and the portable one, if we run in its terminal. */
const inVisualStudioCode = (...parts: string[]) => (machine: Machine) => {
  const paths = pathsOf(machine)
  const { VSCODE_PORTABLE: portable = '' } = machine.environment
  return [
    ...['Code', 'Code - Insiders'].map(program =>
      paths.join(applicationData(machine), program, 'User', ...parts)),
    ...inFlatpak(machine, 'com.visualstudio.code', 'Code', 'User', ...parts),
    ...(portable === '' ? [] : [paths.join(portable, 'user-data', 'User', ...parts)]),
  ]
}

const claudeDesktop = (machine: Machine): readonly string[] => {
  const paths = pathsOf(machine)
  const own = paths.join(applicationData(machine), 'Claude', 'claude_desktop_config.json')
  if (!windows(machine)) return [own]
  const packages = paths.join(folder(machine, 'LOCALAPPDATA', 'AppData', 'Local'), 'Packages')
  return [
    paths.join(packages, 'Claude_*', 'LocalCache', 'Roaming', 'Claude', 'claude_desktop_config.json'), own,
  ]
}

const inFolder = (variable: string, otherwise: string, file: string) => (machine: Machine) =>
  [pathsOf(machine).join(folder(machine, variable, otherwise), file)]

const zed = (machine: Machine): readonly string[] => {
  if (windows(machine)) return [win32.join(roaming(machine), 'Zed', 'settings.json')]
  const configuration =
    isMac(machine.platform) ? posix.join(machine.home, '.config') : applicationData(machine)
  return [
    posix.join(configuration, 'zed', 'settings.json'), ...inFlatpak(machine, 'dev.zed.Zed', 'zed', 'settings.json'),
  ]
}

const usual = { servers: ['mcpServers'] }

/** Every client whose files are known, with where they are (vendors' documentation, November 2026). */
export const clients: readonly KnownClient[] = [
  {
    ...usual, name: 'claude-desktop', profile: 'claude-desktop', title: 'Claude Desktop',
    files: claudeDesktop,
  },
  {
    ...usual, name: 'claude-code', profile: 'claude-api', title: 'Claude Code',
    files: inFolder('CLAUDE_CONFIG_DIR', '', '.claude.json'), projectFile: '.mcp.json',
  },
  {
    ...usual, name: 'cursor', profile: 'cursor', title: 'Cursor', files: inHome('.cursor', 'mcp.json'),
    projectFile: '.cursor/mcp.json',
  },
  {
    ...usual, name: 'vscode', profile: 'vscode', title: 'VS Code', servers: ['servers'],
    files: inVisualStudioCode('mcp.json'), projectFile: '.vscode/mcp.json',
  },
  {
    ...usual, name: 'windsurf', title: 'Windsurf', files: inHome('.codeium', 'windsurf', 'mcp_config.json'),
  },
  { ...usual, name: 'zed', title: 'Zed', servers: ['context_servers'], files: zed },
  {
    ...usual, name: 'gemini', profile: 'gemini', title: 'Gemini CLI',
    files: inHome('.gemini', 'settings.json'), projectFile: '.gemini/settings.json',
  },
  {
    ...usual, name: 'codex', title: 'Codex', servers: ['mcp_servers'],
    files: inFolder('CODEX_HOME', '.codex', 'config.toml'),
  },
  {
    ...usual, name: 'junie', title: 'Junie', files: inHome('.junie', 'mcp', 'mcp.json'),
    projectFile: '.junie/mcp/mcp.json',
  },
  {
    ...usual, name: 'cline', title: 'Cline',
    files:
      inVisualStudioCode('globalStorage', 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json'),
  },
  { ...usual, name: 'lmstudio', title: 'LM Studio', files: inHome('.lmstudio', 'mcp.json') },
  {
    ...usual, name: 'copilot', profile: 'copilot-cli', title: 'Copilot CLI',
    files: inHome('.copilot', 'mcp-config.json'),
  },
]
