import { launcherFor, type Launcher } from '#relay/base/own-command.js'
import { CustomsError, wordsText } from '#relay/base/errors.js'
import { plain } from '#relay/base/plain.js'
import type { Context } from '#desk/terminal/context.js'

/**
 * The launcher that is written into a client's file. It was started once: with a command that does not start,
 * every server of the client would be dead.
 * @throws CustomsError CANNOT_START
 */
export const startingLauncher = async (
  { installation, versionOf }: Pick<Context, 'installation' | 'versionOf'>, shared: boolean,
): Promise<Launcher> => {
  const launcher = launcherFor(installation, shared)
  if ('refusal' in launcher) return fail(launcher.refusal)
  const failure = await failureOf(launcher.words, installation.version, versionOf)
  return failure === undefined ? launcher : fail(`${wordsText(launcher.words)} does not start (${failure})`)
}

const fail = (why: string): never => {
  throw new CustomsError('CANNOT_START', `nothing was written: ${why}`)
}

/** @returns undefined when it is our program in this version */
const failureOf = async (
  words: readonly string[], version: string, versionOf: Context['versionOf'],
): Promise<string | undefined> => {
  const found = await versionOf(words)
  if ('failure' in found) return plain(found.failure, 300)
  return found.version === version ? undefined : `it is ${plain(found.version, 100)}, not ${version}`
}
