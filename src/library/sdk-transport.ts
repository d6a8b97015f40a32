/** Parameters of a method may be narrower in the type that is given: transports of both SDKs are taken as they are. */
type Handler<Parameters extends unknown[]> = { handle(...parameters: Parameters): void }['handle']

/**
 * A transport of an MCP SDK for TypeScript, as far as it is used here: that of `@modelcontextprotocol/sdk` (v1), and that of
 * `@modelcontextprotocol/client` (v2).
 */
export interface SdkTransport {
  start(): Promise<void>
  send(message: unknown, options?: unknown): Promise<void>
  close(): Promise<void>
  onmessage?: Handler<[message: unknown, extra?: unknown]> | undefined
  onclose?: Handler<[]> | undefined
  onerror?: Handler<[error: Error]> | undefined
  readonly sessionId?: string | undefined
  /** One HTTP request for each message: closing it is what cancels (v2). */
  readonly hasPerRequestStream?: boolean | undefined
  setProtocolVersion?: Handler<[version: string]> | undefined
  setSupportedProtocolVersions?: Handler<[versions: string[]]> | undefined
}

/** The same, as the SDKs' clients take it. */
export interface GuardedTransport {
  start(): Promise<void>
  send(message: unknown, options?: unknown): Promise<void>
  close(): Promise<void>
  onmessage?: ((message: unknown, extra?: unknown) => void) | undefined
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  readonly sessionId?: string
  readonly hasPerRequestStream?: boolean
  setProtocolVersion?: ((version: string) => void) | undefined
  setSupportedProtocolVersions?: ((versions: string[]) => void) | undefined
}
