import { launcherFor, ownWords, type Launcher } from '#clients/own-command.js'
import { CustomsError, wordsText } from '#errors.js'
import { plain } from '#inspect/plain.js'
import type { Context } from '../context.js'

/**
 * The launcher that is written into a client's file. It was started once: with a command that does not start,
 * every server of the client would be dead.
 * @throws CustomsError CANNOT_START
 */
export const startingLauncher = async (
  { installation, versionOf }: Pick<Context, 'installation' | 'versionOf'>, shared: boolean,
): Promise<Launcher> => {
  const { version } = installation
  const launcher = launcherFor(installation, shared)
  const failure = await failureOf(launcher.words, version, versionOf)
  if (failure === undefined) return launcher
  const why = `${wordsText(launcher.words)} does not start (${failure})`
  const words = ownWords(installation)
  const isOther = wordsText(words) !== wordsText(launcher.words)
  if (!shared && isOther && (await failureOf(words, version, versionOf)) === undefined) {
    return { words, reason: `${why}; keep this copy where it is` }
  }
  throw new CustomsError('CANNOT_START', `${why}: nothing was written, since no server of the client would ` +
    `start${shared ? '; the file is shared, so a path of this machine does not help' : ''}`)
}

/** @returns undefined when it is our program in this version */
const failureOf = async (
  words: readonly string[], version: string, versionOf: Context['versionOf'],
): Promise<string | undefined> => {
  const found = await versionOf(words)
  if ('failure' in found) return plain(found.failure, 300)
  return found.version === version ? undefined : `it is ${plain(found.version, 100)}, not ${version}`
}
