import { ModernServer } from '../actors/modern.js'
import { SessionWorld } from './session.js'

/** A legacy client over stdio before a server of 2026-07-28 only. */
export class TranslatedWorld extends SessionWorld {
  constructor(seed: number) {
    super(seed, ModernServer)
  }
}
