export const lineFeed = 0x0a
export const carriageReturn = 0x0d

/**
 * Finds the line ends of an event stream in a buffer: CR, LF, or both. Asked with rising indices, it reads each byte
 * once.
 */
export class LineEnds {
  readonly #bytes: Buffer
  #feed = -1
  #return = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The index of the first CR or LF from an index on; -1 when there is none. */
  from(at: number): number {
    if (this.#feed < at) this.#feed = this.#find(lineFeed, at)
    if (this.#return < at) this.#return = this.#find(carriageReturn, at)
    const end = Math.min(this.#feed, this.#return)
    return end === Infinity ? -1 : end
  }

  /** The index after the line end at an index. */
  after(end: number): number {
    return this.#bytes[end] === carriageReturn && this.#bytes[end + 1] === lineFeed ? end + 2 : end + 1
  }

  #find(one: number, at: number): number {
    const index = this.#bytes.indexOf(one, at)
    return index < 0 ? Infinity : index
  }
}

/** @param visit gets where a line begins, where it ends, and where the next begins; the last line may have no end */
export const eachLine = (bytes: Buffer, visit: (from: number, to: number, next: number) => void): void => {
  const ends = new LineEnds(bytes)
  for (let from = 0; from < bytes.length;) {
    const end = ends.from(from)
    const to = end < 0 ? bytes.length : end
    const next = end < 0 ? bytes.length : ends.after(end)
    visit(from, to, next)
    from = next
  }
}
