/** How the relay is connected on one side. */
export interface Connection {
  readonly transport: 'pipe' | 'tcp'
  /** Of an HTTP server. */
  readonly address?: string
  readonly port?: number
}

/** The attributes that all telemetry of one server shares. */
export interface MeasuredPlace {
  /** The server's name in the configuration. */
  readonly server: string
  readonly toClient: Connection
  readonly toServer: Connection
}

export const pipe: Connection = { transport: 'pipe' }

export const httpPlace: Connection = { transport: 'tcp' }

/** @param url of the server; undefined: it is a process */
export const connectionTo = (url: string | undefined): Connection => {
  if (url === undefined) return pipe
  const { protocol, hostname, port } = new URL(url)
  return { transport: 'tcp', address: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}
