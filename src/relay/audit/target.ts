import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

export interface TargetOptions {
  /** The module of the operator's pino transport. */
  readonly file: string
  readonly options: Readonly<Record<string, unknown>>
}

/**
 * Ends the stream; no record contains this character. thread-stream's own `end` would block the relay until
 * the transport is done.
 */
export const endMark = '\0'

/** Runs in pino's worker thread: loads the operator's transport, and ends it at the end mark. */
export default async ({ file, options }: TargetOptions): Promise<Writable> => {
  const inner = await makerIn(await import(pathToFileURL(file).href))(options)
  let isEnding = false
  const outer = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      isEnding = chunk.endsWith(endMark)
      if (isEnding) inner.end(chunk.slice(0, -endMark.length))
      else if (!inner.write(chunk)) return void inner.once('drain', () => done())
      done()
    },
  })
  inner.on('error', (error: Error) => outer.destroy(error))
  inner.once('close', () => outer.destroy(isEnding ? undefined : new Error('it has ended by itself')))
  return outer
}

type Maker = (options: Readonly<Record<string, unknown>>) => Writable | Promise<Writable>

/** The default export; for a compiled CommonJS module, the default export of the default export. */
const makerIn = (module: unknown): Maker => {
  let found = module
  for (let depth = 0; depth < 2; depth += 1) {
    if (typeof found === 'object' && found !== null && 'default' in found) found = found.default
  }
  if (typeof found !== 'function') throw new Error('is no pino transport: its default export is no function')
  return found as Maker
}
