/** As much of an AbortSignal as a request goes by. */
export interface Abortable {
  readonly aborted: boolean
  addEventListener(type: 'abort', act: () => void): void
  removeEventListener(type: 'abort', act: () => void): void
}

/** Cuts off one call: to make an AbortController for every one of them costs more than all else that is done to send it. */
export class CallSignal implements Abortable {
  #aborted = false
  #acts: readonly (() => void)[] = none

  get aborted(): boolean {
    return this.#aborted
  }

  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    for (const act of this.#acts) act()
    this.#acts = none
  }

  addEventListener(_: 'abort', act: () => void): void {
    this.#acts = [...this.#acts, act]
  }

  removeEventListener(_: 'abort', act: () => void): void {
    this.#acts = this.#acts.length === 1 && this.#acts[0] === act ? none : this.#acts.filter(one => one !== act)
  }

  /** For what takes nothing less. */
  asAbortSignal(): AbortSignal {
    if (this.#aborted) return AbortSignal.abort()
    const controller = new AbortController()
    this.addEventListener('abort', () => controller.abort())
    return controller.signal
  }
}

const none: readonly never[] = []
