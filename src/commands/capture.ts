import type { Capture } from '../capture/capture.js'
import type { Configuration } from '../config/configuration.js'
import type { SharedFlags } from './flags.js'

/**
 * Where `--capture` names a file, it is opened, and the operator is told what goes there.
 * @throws CustomsError CANNOT_AUDIT
 */
export const captureOf = async ({ capture: file }: SharedFlags, { audit }: Configuration): Promise<Capture | undefined> => {
  if (file === undefined) return undefined
  const { openCapture } = await import('../capture/capture.js')
  const payloads = audit.payloads === 'full' ? 'full' : 'redacted'
  const capture = openCapture(file, payloads, say)
  say(`keeping every message with its payload${payloads === 'full' ? '' : ', without what looks like a secret,'} in ${file}`)
  return capture
}

const say = (message: string): void => {
  process.stderr.write(`mcp-customs: ${message}\n`)
}
