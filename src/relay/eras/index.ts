import { randomUUID } from 'node:crypto'
import type { FrameLimits } from '#relay/protocol/frame.js'
import type { Transport } from '#relay/transport/transport.js'
import { legacyClient } from './legacy-client.js'
import { type Began, translated } from './stage.js'
import type { EraOptions } from './translator.js'

/**
 * Which clients and servers of different eras understand each other. `auto`: legacy clients (`initialize`) in
 * front of servers that speak 2026-07-28 only. `both`: also modern clients in front of legacy servers.
 */
export type Translate = 'auto' | 'both' | 'off'

export interface Eras {
  readonly translate: Translate
  readonly limits: FrameLimits
  readonly began?: Began | undefined
}

/** The client's transport as a relay sees it that speaks the server's era. */
export const translate = (
  client: Transport, { translate, limits, began = () => {} }: Eras, options: Omit<EraOptions, 'limits' | 'newId'>,
): Transport => {
  const all: EraOptions = { ...options, limits, newId: randomUUID }
  return translate === 'off' ? client : translated(client, legacyClient(all), began)
}
