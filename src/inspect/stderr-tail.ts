import { StringDecoder } from 'node:string_decoder'
import { plain } from './plain.js'

const mostLines = 20
const mostCharacters = 16_384

/** The last lines that a server wrote to its stderr: of interest when it fails. */
export class StderrTail {
  readonly #decoder = new StringDecoder('utf8')
  #text = ''

  readonly hear = (chunk: Buffer): void => {
    this.#text = (this.#text + this.#decoder.write(chunk)).slice(-mostCharacters)
  }

  /** Another process begins. */
  clear(): void {
    this.#text = ''
  }

  /** Fit for a terminal. */
  get lines(): readonly string[] {
    const lines = this.#text.split(/[\r\n]+/).map(line => plain(line, 200))
    return lines.filter(line => line !== '').slice(-mostLines)
  }
}
