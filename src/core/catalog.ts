import type { JsonObject } from '../protocol/json.js'

/** A tool as the client may call it: what the server declared, with what the operator put in its place. */
export interface Tool {
  readonly name: string
  readonly definition: JsonObject
  readonly inputSchema: JsonObject | boolean
  readonly outputSchema: JsonObject | boolean | undefined
}
