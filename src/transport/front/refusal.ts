import type { JsonObject } from '../../protocol/json.js'
import { errorCode, type IdKey } from '../../protocol/json-rpc.js'
import { responseBytes } from '../../protocol/message.js'

/** An HTTP answer of our own, in place of one that the server could have given. */
export interface Refusal {
  readonly status: number
  /** Of the JSON-RPC error in the body. */
  readonly code: number
  /** Ours: nothing that the client sent stands in it. */
  readonly message: string
  /** Of the JSON-RPC error, where its code prescribes them. */
  readonly data?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  /** Where no MCP is spoken: without a body, which somebody could read as something else. */
  readonly isPlain?: boolean
}

export const refusal = (status: number, message: string, headers: Readonly<Record<string, string>> = {}): Refusal => ({
  status,
  code: errorCode.blocked,
  message,
  headers,
})

/** @param key the id of the request that is refused; `null` where none could be read (JSON-RPC 2.0, section 5) */
export const refusalBody = ({ code, message, data }: Pick<Refusal, 'code' | 'message' | 'data'>, key: IdKey = 'null'): Buffer =>
  responseBytes(key, 'error', { code, message, data })
