import type { Frame } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'

/** The ids of the requests in a message. */
export const requestKeys = ({ message }: Frame): readonly IdKey[] => {
  if (message.kind === 'batch') return message.members.flatMap(requestKeys)
  return message.kind === 'request' ? [message.key] : []
}

/** The ids of the requests that a message answers. */
export const answerKeys = ({ message }: Frame): readonly IdKey[] => {
  if (message.kind === 'batch') return message.members.flatMap(answerKeys)
  if (message.kind === 'page') return message.key === undefined ? [] : [message.key]
  return message.kind === 'result' || message.kind === 'error' ? [message.key] : []
}
