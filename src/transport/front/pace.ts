import type { FrontResponse } from './request.js'
import { ChurnSet } from '../../core/memory.js'
import type { Timers } from '../timers.js'

export interface PaceSettings {
  /** An answer that is silent is told of at the latest after so many milliseconds, and again as often. */
  readonly keepAliveMs: number
  /** A reader that takes nothing of what waits for it for so many milliseconds is cut off. */
  readonly stallMs: number
  readonly timers: Timers
}

/** So often it is looked at in the time that an answer may be silent. */
const looks = 3

/** How open answers get on: one clock for all of them. */
export class Pace {
  readonly #settings: PaceSettings
  readonly #paced = new ChurnSet<Paced>()
  #stop: (() => void) | undefined

  constructor(settings: PaceSettings) {
    this.#settings = settings
  }

  follow(paced: Paced): void {
    this.#paced.add(paced)
    const { keepAliveMs, timers } = this.#settings
    this.#stop ??= timers.every(keepAliveMs / looks, () => this.#look())
  }

  leave(paced: Paced): void {
    this.#paced.delete(paced)
  }

  #look(): void {
    const { keepAliveMs, stallMs } = this.#settings
    for (const paced of this.#paced.values()) paced.look(keepAliveMs / looks, stallMs)
    if (this.#paced.size > 0) return
    this.#stop?.()
    this.#stop = undefined
  }
}

/** One answer while it is open. */
export abstract class Paced {
  readonly #response: FrontResponse
  /** Looks since something was written. */
  #silence = 0
  #written = 0
  /** What the reader had taken of it when it was last looked at, in bytes, and how long that is so. */
  #taken = -Infinity
  #unmovedMs = 0

  constructor(response: FrontResponse) {
    this.#response = response
  }

  /** Nothing was written for a while. */
  protected abstract beat(): void

  protected wrote(bytes: number): void {
    this.#silence = 0
    this.#written += bytes
  }

  look(sinceMs: number, stallMs: number): void {
    const waiting = this.#response.writableLength
    const taken = this.#written - waiting
    this.#unmovedMs = waiting > 0 && taken <= this.#taken ? this.#unmovedMs + sinceMs : 0
    this.#taken = taken
    // Who takes nothing of an answer must not keep it here for ever, whole or not.
    if (this.#unmovedMs >= stallMs) {
      this.#response.destroy()
      return
    }
    if (++this.#silence < looks) return
    this.#silence = 0
    this.beat()
  }
}
