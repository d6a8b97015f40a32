import { codeOf } from '#relay/base/errors.js'
import { columnsOf, type Style } from './style.js'

/** Resolves when the text is written, also to a pipe: the command exits right after. */
export const print = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })

/** The pending characters at which lines are written. */
const most = 64 * 1024

/** Writes lines to a stream that may be a pipe whose reader has gone. */
export class TerminalOutput {
  #pending: string[] = []
  #length = 0
  #failure: Error | undefined

  constructor(private readonly stream: NodeJS.WritableStream) {
    stream.on('error', (error: Error) => void (this.#failure ??= error))
  }

  /** @returns false when nobody reads any more */
  line(text: string): boolean | Promise<boolean> {
    this.#pending.push(text)
    this.#length += text.length
    return this.#length < most || this.flush()
  }

  /**
   * @returns false when nobody reads any more
   * @throws what the system says when it cannot be written for another reason
   */
  async flush(): Promise<boolean> {
    if (this.#pending.length === 0) return this.#failure === undefined
    const text = `${this.#pending.join('\n')}\n`
    this.#pending = []
    this.#length = 0
    await new Promise<void>(resolve => this.stream.write(text, () => resolve()))
    if (this.#failure === undefined) return true
    if (codeOf(this.#failure) === 'EPIPE') return false
    throw this.#failure
  }
}

/** A text table: each column is as wide as its widest cell. @param rows cells of one line each */
export const table = (
  head: readonly string[], rows: readonly (readonly string[])[], style: Style,
): string => {
  const widths =
    head.map((title, column) => Math.max(...[title, ...rows.map(row => row[column] ?? '')].map(columnsOf)))
  const line = (cells: readonly string[]) => cells.map((cell, column) => cell +
    ' '.repeat((widths[column] ?? 0) - columnsOf(cell))).join('  ').trimEnd()
  return [line(head.map(style.title)), ...rows.map(line)].join('\n')
}
