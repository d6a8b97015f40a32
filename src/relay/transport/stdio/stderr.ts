import { write } from 'node:fs'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { codeOf } from '#relay/base/errors.js'

const maxLines = 20
const maxCharacters = 16_384

/** The last lines that a process wrote to stderr. */
export class LastLines {
  readonly #decoder = new StringDecoder('utf8')
  #text = ''

  readonly add = (chunk: Buffer): void => {
    this.#text = (this.#text + this.#decoder.write(chunk)).slice(-maxCharacters)
  }

  /** For a new process. */
  clear(): void {
    this.#text = ''
  }

  /** Untrusted, without blank lines. */
  get lines(): readonly string[] {
    return this.#text.split(/[\r\n]+/).filter(line => line.trim() !== '').slice(-maxLines)
  }
}

const descriptor = 2
const writeTo = promisify(write)
const retryMs = 10

/** Chunks are written one after the other, so that a reader that stands still holds one thread only. */
let written: Promise<void> = Promise.resolve()

/** Resolves when everything that was forwarded is written, or after a second. */
export const stderrWritten = (): Promise<unknown> =>
  Promise.race([written, pause(1000, undefined, { ref: false })])

/**
 * Forwards a server's stderr to that of this process as it is, and keeps its last lines. It is written
 * asynchronously: a client that does not read stderr pauses the server, and not the relay.
 */
export const forwardStderr = (from: Readable, lastLines: LastLines): void => {
  from.on('data', (chunk: Buffer) => {
    lastLines.add(chunk)
    from.pause()
    written = written.then(() => writeAll(chunk)).then(() => void from.resume())
  })
}

const writeAll = async (chunk: Buffer): Promise<void> => {
  for (let rest = chunk; rest.length > 0;) {
    try {
      rest = rest.subarray((await writeTo(descriptor, rest)).bytesWritten)
    } catch (error) {
      // Any other failure means that nobody reads it.
      if (codeOf(error) !== 'EAGAIN') return
      await pause(retryMs)
    }
  }
}
