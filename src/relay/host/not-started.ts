import { CustomsError } from '#relay/base/errors.js'
import { standardOutput } from '#relay/base/platform/standard-output.js'
import { defaultLimits } from '#relay/config/configuration.js'
import { errorFrame } from '#relay/core/refusal.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { stdioClient } from '#relay/transport/stdio/client.js'

/** How long `wrap` waits for `initialize` before it ends with the error, in milliseconds. */
const initializeMs = 10_000

/**
 * Answers `initialize` with the reason why `wrap` did not start the server: a wrong option, file or lock.
 * Clients show this error to the user, but not stderr.
 * @throws the reason
 */
export const answerInitialize = async (reason: unknown): Promise<never> => {
  if (!(reason instanceof CustomsError) || process.stdin.isTTY) throw reason
  const client = stdioClient({ input: process.stdin, output: standardOutput(), limits: defaultLimits })
  const answered = new Promise<void>(resolve => {
    setTimeout(resolve, initializeMs)
    client.start(event => {
      if (event.type === 'ended') resolve()
      if (event.type !== 'frame' || event.frame.message.kind !== 'request') return
      const { message } = event.frame
      client.send(event.exchange, errorFrame(
        message, errorCode.blocked, `mcp-customs did not start the server: ${reason.message}`,
      ))
      // A modern client may ask for server/discover first, and then try initialize.
      if (message.method === 'initialize') resolve()
    })
  })
  await answered
  await client.close()
  throw reason
}
