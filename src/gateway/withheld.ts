import { joined } from '../core/batches.js'
import { errorAnswer } from '../core/refusal.js'
import type { Frame } from '../protocol/frame.js'
import { errorCode } from '../protocol/json-rpc.js'

/** Who waits for an answer is told that there is none; nothing else leaves. */
export const withheld = ({ message }: Frame, reason: string): Frame | undefined => {
  if (message.kind !== 'batch') {
    return message.kind === 'result' || message.kind === 'error' ? errorAnswer(message, errorCode.gone, `mcp-customs: ${reason}`) : undefined
  }
  const answers = message.members.flatMap(member => withheld(member, reason) ?? [])
  return answers.length === 0 ? undefined : joined(answers)
}
