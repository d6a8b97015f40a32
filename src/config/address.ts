import { fail, type Keys } from './problem.js'

/** Where to listen. */
export interface Address {
  /** Without the brackets of IPv6. */
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
}

/** @param text `HOST:PORT` or `[IPv6]:PORT`, by the schema's pattern */
export const readAddress = (text: string, keys: Keys): Address => {
  const [, bracketed, plain, digits] = /^(?:\[(.*)\]|([^:]*)):(\d+)$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host !== undefined && port <= 65535 ? { host, port } : fail(keys, 'must be HOST:PORT, the port from 0 to 65535')
}
