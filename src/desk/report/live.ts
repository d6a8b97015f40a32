import type { Parts } from './summary.js'

/** A browser that shows a live page. */
export interface Viewer {
  /** @returns false when its buffer is full: nothing more is sent before `drained` */
  send(json: string): boolean
  cut(): void
}

export interface LiveOptions {
  readonly parts: () => Parts
  /** Calls back after a number of milliseconds. @returns cancels the call */
  readonly after?: (ms: number, run: () => void) => () => void
  /** A monotonic clock, in milliseconds. */
  readonly clock?: () => number
}

/** The shortest time between two messages, in milliseconds. */
const pauseMs = 400
/** A viewer whose buffer stays full for this many milliseconds is disconnected. */
const stallMs = 30_000

/** A part of the summary, with the version in which it changed last. */
interface Part {
  readonly json: string
  readonly version: number
}

interface Progress {
  /** The newest version of parts that the viewer was sent. */
  version: number
  /** When its buffer became full. */
  stalledAt: number | undefined
}

/**
 * Sends viewers the parts of a summary that have changed. A slow viewer skips versions, but ends with the
 * same parts as the others: at most one message waits for each viewer.
 */
export class Live {
  readonly #current: () => Parts
  readonly #after: NonNullable<LiveOptions['after']>
  readonly #clock: () => number
  readonly #viewers = new Map<Viewer, Progress>()
  #parts: ReadonlyMap<string, Part> = new Map()
  #version = 0
  #sentAt = -Infinity
  #stop: (() => void) | undefined

  constructor({ parts, after = timer, clock = () => performance.now() }: LiveOptions) {
    this.#current = parts
    this.#after = after
    this.#clock = clock
  }

  get viewers(): number {
    return this.#viewers.size
  }

  /** The parts may have changed. */
  changed(): void {
    if (this.#stop || this.#viewers.size === 0) return
    this.#stop = this.#after(Math.max(0, this.#sentAt + pauseMs - this.#clock()), () => {
      this.#stop = undefined
      this.#sendAll()
    })
  }

  add(viewer: Viewer): void {
    // The parts are not kept up to date while there are no viewers.
    if (this.#viewers.size === 0) this.#renew()
    const progress: Progress = { version: 0, stalledAt: undefined }
    this.#viewers.set(viewer, progress)
    this.#send(viewer, progress)
  }

  remove(viewer: Viewer): void {
    this.#viewers.delete(viewer)
    if (this.#viewers.size > 0) return
    this.#stop?.()
    this.#stop = undefined
  }

  /** The viewer's buffer has room again. */
  drained(viewer: Viewer): void {
    const progress = this.#viewers.get(viewer)
    if (!progress) return
    progress.stalledAt = undefined
    if (progress.version < this.#version) this.#send(viewer, progress)
  }

  close(): void {
    this.#stop?.()
    for (const viewer of this.#viewers.keys()) viewer.cut()
    this.#viewers.clear()
  }

  #sendAll(): void {
    this.#sentAt = this.#clock()
    this.#renew()
    for (const [viewer, progress] of this.#viewers) {
      if (progress.stalledAt === undefined) this.#send(viewer, progress)
      else if (this.#sentAt - progress.stalledAt > stallMs) {
        this.#viewers.delete(viewer)
        viewer.cut()
      }
    }
  }

  #renew(): void {
    this.#version += 1
    const parts = new Map<string, Part>()
    for (const [name, part] of this.#current()) {
      const json = JSON.stringify(part)
      const before = this.#parts.get(name)
      parts.set(name, before?.json === json ? before : { json, version: this.#version })
    }
    this.#parts = parts
  }

  #send(viewer: Viewer, progress: Progress): void {
    const members = [...this.#parts].filter(([, { version }]) => version > progress.version)
      .map(([name, { json }]) => `${JSON.stringify(name)}:${json}`)
    progress.version = this.#version
    if (!viewer.send(`{${members.join()}}`)) progress.stalledAt = this.#clock()
  }
}

const timer = (ms: number, run: () => void): (() => void) => {
  const timeout = setTimeout(run, ms)
  return () => clearTimeout(timeout)
}
