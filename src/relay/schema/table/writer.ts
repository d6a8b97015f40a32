/** Appends words and texts to a buffer; positions are offsets in bytes. */
export class Writer {
  #bytes = Buffer.alloc(1024)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** @returns a copy */
  get bytes(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }

  /** Reserves this number of bytes, all of them zero. */
  reserve(length: number): number {
    const at = this.#length
    this.#length = (at + length + 7) & ~7
    while (this.#length > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)])
    }
    return at
  }

  setWord(at: number, value: number): void {
    this.#bytes.writeUInt32LE(value >>> 0, at)
  }

  setHalf(at: number, value: number): void {
    this.#bytes.writeUInt16LE(value, at)
  }

  words(values: readonly number[]): number {
    const at = this.reserve(4 * values.length)
    for (const [index, value] of values.entries()) this.setWord(at + 4 * index, value)
    return at
  }

  setDouble(at: number, value: number): void {
    this.#bytes.writeDoubleLE(value, at)
  }

  /** @returns where it begins, and its length */
  text(text: string): readonly [at: number, length: number] {
    const bytes = Buffer.from(text)
    const at = this.reserve(bytes.length)
    bytes.copy(this.#bytes, at)
    return [at, bytes.length]
  }
}
