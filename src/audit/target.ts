import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

/** What pino's thread is started with. */
export interface TargetOptions {
  /** The module of the transport. */
  readonly file: string
  /** The transport's own. */
  readonly options: Readonly<Record<string, unknown>>
}

/** The last that is sent: no record holds this character. The end that thread-stream has would block the relay until the transport is done. */
export const endMark = '\0'

/** Runs in pino's thread: the operator's transport, which ends when it is told to. */
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

/** The default export; of a CommonJS module that was compiled, the default of the default. */
const makerIn = (module: unknown): Maker => {
  let found = module
  for (let depth = 0; depth < 2 && typeof found === 'object' && found !== null && 'default' in found; depth += 1) found = found.default
  if (typeof found !== 'function') throw new Error('is no pino transport: its default export is no function')
  return found as Maker
}
