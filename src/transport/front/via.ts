import { randomBytes } from 'node:crypto'
import { passedOn } from '../http/headers.js'
import type { Arrival } from './arrival.js'

/** This process, in `Via`: not its address, which is nobody's business. */
const pseudonym = `mcp-customs-${randomBytes(6).toString('hex')}`

/** It has been here before: a server that it was handed on to has led it back. */
export const isLoop = (via: string | undefined): boolean => via?.includes(pseudonym) === true

/** The headers of a request that is handed on, with whom it is handed on for. */
export const through = ({ headers, peer, scheme }: Arrival): ReadonlyMap<string, string> =>
  passedOn(headers, { via: `1.1 ${pseudonym}`, 'x-forwarded-for': peer.address, 'x-forwarded-proto': scheme, 'x-forwarded-host': headers.get('host') ?? '' })
