import { partsOf } from './parts.js'
import type { Summary } from './summary.js'

/** Somebody who looks at a live page. */
export interface Viewer {
  /** @returns false when it takes no more for now: it is sent nothing until it says that it does again */
  send(json: string): boolean
  cut(): void
}

export interface LiveOptions {
  readonly summary: () => Summary
  /** Calls back after so many milliseconds. @returns what stops it */
  readonly after?: (ms: number, run: () => void) => () => void
  /** A monotonic clock, in milliseconds. */
  readonly clock?: () => number
}

/** From one message to the next at least, in milliseconds: people cannot read faster. */
const pauseMs = 400
/** Who takes nothing for so many milliseconds is cut off. */
const stallMs = 30_000

interface Place {
  /** The last version of each part that it was sent is at most this. */
  version: number
  /** Since when it takes nothing. */
  stalledAt: number | undefined
}

/**
 * Tells viewers what has changed in a summary: those of its parts that are not as they were. Who is slow misses versions, and no part: nobody
 * has more than one message waiting.
 */
export class Live {
  readonly #summary: () => Summary
  readonly #after: NonNullable<LiveOptions['after']>
  readonly #clock: () => number
  readonly #viewers = new Map<Viewer, Place>()
  #parts = new Map<string, { readonly json: string; readonly version: number }>()
  #version = 0
  #sentAt = -Infinity
  #stop: (() => void) | undefined

  constructor({ summary, after = timer, clock = () => performance.now() }: LiveOptions) {
    this.#summary = summary
    this.#after = after
    this.#clock = clock
  }

  get viewers(): number {
    return this.#viewers.size
  }

  /** There may be something new. */
  changed(): void {
    if (this.#stop || this.#viewers.size === 0) return
    this.#stop = this.#after(Math.max(0, this.#sentAt + pauseMs - this.#clock()), () => {
      this.#stop = undefined
      this.#tell()
    })
  }

  add(viewer: Viewer): void {
    // Nobody looked: nobody knows whether what was sent last is still so.
    if (this.#viewers.size === 0) this.#renew()
    const place: Place = { version: 0, stalledAt: undefined }
    this.#viewers.set(viewer, place)
    this.#send(viewer, place)
  }

  remove(viewer: Viewer): void {
    this.#viewers.delete(viewer)
    if (this.#viewers.size > 0) return
    this.#stop?.()
    this.#stop = undefined
  }

  /** It takes more again. */
  drained(viewer: Viewer): void {
    const place = this.#viewers.get(viewer)
    if (!place) return
    place.stalledAt = undefined
    if (place.version < this.#version) this.#send(viewer, place)
  }

  close(): void {
    this.#stop?.()
    for (const viewer of this.#viewers.keys()) viewer.cut()
    this.#viewers.clear()
  }

  #tell(): void {
    this.#sentAt = this.#clock()
    this.#renew()
    for (const [viewer, place] of this.#viewers) {
      if (place.stalledAt === undefined) this.#send(viewer, place)
      else if (this.#sentAt - place.stalledAt > stallMs) {
        this.#viewers.delete(viewer)
        viewer.cut()
      }
    }
  }

  #renew(): void {
    this.#version += 1
    const parts = new Map<string, { readonly json: string; readonly version: number }>()
    for (const [name, part] of partsOf(this.#summary())) {
      const json = JSON.stringify(part)
      const before = this.#parts.get(name)
      parts.set(name, before?.json === json ? before : { json, version: this.#version })
    }
    this.#parts = parts
  }

  #send(viewer: Viewer, place: Place): void {
    const changed = [...this.#parts].filter(([, { version }]) => version > place.version)
    place.version = this.#version
    const takesMore = viewer.send(`{${changed.map(([name, { json }]) => `${JSON.stringify(name)}:${json}`).join()}}`)
    if (!takesMore) place.stalledAt = this.#clock()
  }
}

const timer = (ms: number, run: () => void): (() => void) => {
  const timeout = setTimeout(run, ms)
  return () => clearTimeout(timeout)
}
