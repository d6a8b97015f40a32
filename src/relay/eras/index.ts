import { randomUUID } from 'node:crypto'
import type { FrameLimits } from '#relay/protocol/frame.js'
import type { Transport } from '#relay/transport/transport.js'
import { legacyClient } from './legacy-client.js'
import { ModernClient } from './modern-client.js'
import { translated, type Told } from './stage.js'
import type { EraOptions } from './translator.js'

/**
 * Which clients and servers of different eras understand each other. `auto`: legacy clients (`initialize`) in
 * front of servers that speak 2026-07-28 only. `both`: also modern clients in front of legacy servers.
 */
export type Translate = 'auto' | 'both' | 'off'

export interface Eras extends Partial<Told> {
  readonly translate: Translate
  readonly limits: FrameLimits
}

/**
 * The client's transport as a relay sees it that speaks the server's era. Modern clients that share a session
 * are translated before it (`LegacySessions`): a legacy server needs sessions.
 */
export const translate = (
  client: Transport, { translate, limits, began = () => {}, leftOut = () => {} }: Eras,
  options: Omit<EraOptions, 'limits' | 'newId'>,
): Transport => {
  if (translate === 'off') return client
  const all: EraOptions = { ...options, limits, newId: randomUUID }
  const told = { began, leftOut }
  const isBoth = translate === 'both' && !options.isShared
  const inner = isBoth ? translated(client, new ModernClient(all), told) : client
  // Legacy clients have sessions of their own: nobody may change the era of a session that many share.
  return options.isShared ? inner : translated(inner, legacyClient(all), told)
}
