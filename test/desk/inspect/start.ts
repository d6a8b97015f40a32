import { fileURLToPath } from 'node:url'
import { start } from '../../e2e/harness.js'

export const root = fileURLToPath(new URL('../../../', import.meta.url))
export const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))
export const lying = fileURLToPath(new URL('../../../docker/demo/lying-server.mjs', import.meta.url))

/** The lying server of the demo, as a command. */
export const demo: readonly string[] = ['--', process.execPath, lying]

/** A program of a few words, as a server. */
export const script = (source: string): readonly string[] => ['--', process.execPath, '-e', source]

export interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Test = Parameters<typeof start>[0]

/** Runs the command with nothing on its input, by a Node that is given these options. */
export const run = async (
  t: Test, words: readonly string[], env: NodeJS.ProcessEnv = {}, options: readonly string[] = [],
): Promise<Run> => {
  const ran = start(t, process.execPath, [...options, cli, ...words], env)
  const { code } = await ran.end()
  return { code, stdout: ran.untaken.map(line => `${line}\n`).join(''), stderr: ran.stderr() }
}

/** Runs `inspect` with its output in pipes, as in CI. */
export const inspect = (t: Test, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
  run(t, ['inspect', ...args], { FORCE_COLOR: undefined, NO_COLOR: undefined, ...env })
