/** Where to listen. */
export interface Address {
  /** Without the brackets of IPv6. */
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
}

/** @param text `HOST:PORT` or `[IPv6]:PORT`; undefined when it is neither */
export const parseAddress = (text: string): Address | undefined => {
  const [, bracketed, plain, digits] = /^(?:\[([0-9A-Fa-f:.%]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host !== undefined && port <= 65535 ? { host, port } : undefined
}
