import { Gathering, type Gathered } from '../gather.js'

/**
 * What one line of a stream was. Its bytes are those up to the line feed: a carriage return before that stays, for to
 * JSON it is white space, and so it leaves as it came.
 */
export type Line = Gathered

const lineFeed = 0x0a

/**
 * Splits a byte stream into stdio frames at LF (MCP stdio transport, 2026-07-28). Lines that hold nothing but white
 * space are skipped; a last line without LF counts. The chunks must not be written to again: a line that lies within
 * one is a part of it.
 */
export class LineSplitter {
  readonly #line: Gathering

  /**
   * @param maxBytes longest line, in bytes without its LF; of a longer one only the ends are kept, and told at its LF
   */
  constructor(maxBytes: number) {
    this.#line = new Gathering(maxBytes)
  }

  /** The lines that the chunk completes. */
  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = []
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      this.#line.add(chunk.subarray(from, end))
      lines.push(...this.end())
      from = end + 1
    }
    this.#line.add(chunk.subarray(from))
    return lines
  }

  /** The line that the end of the stream completes. */
  end(): readonly Line[] {
    const line = this.#line.take()
    return line === undefined || (line.kind === 'whole' && isBlank(line.bytes)) ? [] : [line]
  }
}

const isBlank = (bytes: Buffer): boolean => bytes.every(one => one === 0x20 || one === 0x09 || one === 0x0d)
