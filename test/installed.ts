import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hash } from 'node:crypto'

/**
 * Packages that are no dependency, as `name@version`, in a folder that is kept.
 * @returns the folder; undefined where npm gives none
 */
export const installed = (...wanted: readonly string[]): string | undefined => {
  const folder = join(tmpdir(), `mcp-customs-test-${hash('sha1', wanted.join()).slice(0, 8)}`)
  if (existsSync(join(folder, 'node_modules', '.package-lock.json'))) return folder
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder]
  const { status } = spawnSync('npm', ['install', ...flags, ...wanted], { timeout: 120_000 })
  return status === 0 ? folder : undefined
}
