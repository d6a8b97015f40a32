import type { Capture } from '../capture/capture.js'
import type { Configuration } from '../config/configuration.js'
import { pathText } from '../errors.js'
import type { SharedFlags } from './flags.js'

/**
 * Where `--capture` names a file, it is opened.
 * @throws CustomsError CANNOT_AUDIT
 */
export const captureOf = async ({ capture: file }: Pick<SharedFlags, 'capture'>, configuration: Configuration): Promise<Capture | undefined> => {
  if (file === undefined) return undefined
  const { openCapture } = await import('../capture/capture.js')
  return openCapture(file, payloadsOf(configuration), say)
}

/** The operator is told what goes there. */
export const tellOfCapture = ({ capture: file }: Pick<SharedFlags, 'capture'>, configuration: Configuration): void => {
  if (file === undefined) return
  say(`keeping every message with its payload${payloadsOf(configuration) === 'full' ? '' : ', without what looks like a secret,'} in ${pathText(file)}`)
}

const payloadsOf = ({ audit }: Configuration) => (audit.payloads === 'full' ? 'full' : 'redacted')

const say = (message: string): void => {
  process.stderr.write(`mcp-customs: ${message}\n`)
}
