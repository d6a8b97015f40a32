/** Method parameters are bivariant, so that the transports of both SDKs fit. */
type Handler<Parameters extends unknown[]> = { handle(...parameters: Parameters): void }['handle']

/**
 * The used part of a transport of the MCP SDK for TypeScript: `@modelcontextprotocol/sdk` (v1) or
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
  /** Each message has an HTTP request, which is cancelled by closing it (v2). */
  readonly hasPerRequestStream?: boolean | undefined
  setProtocolVersion?: Handler<[version: string]> | undefined
  setSupportedProtocolVersions?: Handler<[versions: string[]]> | undefined
}

/** The same with the types that the SDKs' clients expect. */
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
