import { write } from 'node:fs'
import { Writable } from 'node:stream'
import { isWindows } from './machine.js'

/**
 * stdout of this process, for a client that may stop reading. On Windows Node writes to a pipe at once and
 * waits for the reader, with the whole event loop (Node.js, process I/O); there a thread of the pool writes.
 */
export const standardOutput = (platform: NodeJS.Platform = process.platform): Writable =>
  (isWindows(platform) ? outputInThread(process.stdout.fd) : process.stdout)

/** Writes to a file descriptor in a thread of the pool. */
export const outputInThread = (descriptor: number): Writable => new Writable({
  write: (chunk: Buffer, _encoding, done) => writeAll(descriptor, chunk, done),
})

const writeAll = (descriptor: number, rest: Buffer, done: (error?: Error | null) => void): void =>
  write(descriptor, rest, (error, written) => {
    if (error !== null || written === rest.length) done(error)
    else writeAll(descriptor, rest.subarray(written), done)
  })
