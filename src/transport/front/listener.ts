import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { CustomsError } from '../../errors.js'

/** In PEM. */
export interface FrontTls {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** Authorities of client certificates: without one of theirs nobody is let in. */
  readonly ca?: string | Buffer
}

/** Longest header section of a request, in bytes. */
const headerBytes = 32 * 1024

const settings = {
  maxHeaderSize: headerBytes,
  // A slow sender is given up on; how long an answer takes is nobody's business here.
  headersTimeout: 20_000,
  requestTimeout: 120_000,
  // Longer than the usual proxies keep theirs, so that it is never us who closes a connection just as it is used again.
  keepAliveTimeout: 75_000,
  noDelay: true,
  // A repeated Content-Type, Host or Authorization must not be read as its first: joined, it matches nothing.
  joinDuplicateHeaders: true,
  // Refused at the door instead, with a body like every other refusal.
  requireHostHeader: false,
}

/** @param tls undefined: plain HTTP */
export const createListener = (tls: FrontTls | undefined): Server => 
  tls ? createTlsServer({ ...settings, ...tls, requestCert: tls.ca !== undefined, rejectUnauthorized: tls.ca !== undefined }) : createServer(settings)

/** New connections are met with this certificate; those that are open keep theirs. A listener without TLS stays without. */
export const renewTls = (server: Server, tls: FrontTls | undefined): void => {
  if (tls && server instanceof TlsServer) server.setSecureContext(tls)
}

/**
 * @returns where it listens: `http://HOST:PORT`
 * @throws CustomsError CANNOT_START
 */
export const listen = async (server: Server, host: string, port: number): Promise<string> => {
  try {
    server.listen({ host, port })
    await once(server, 'listening')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    throw new CustomsError('CANNOT_START', `cannot listen on ${host}:${port}${code}`, { cause })
  }
  const address = server.address()
  const bound = typeof address === 'object' && address ? address.port : port
  return `${server instanceof TlsServer ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound}`
}
