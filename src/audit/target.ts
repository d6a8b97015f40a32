import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

/** What pino's thread is started with. */
export interface TargetOptions {
  /** The module of the transport. */
  readonly file: string
  /** The transport's own. */
  readonly options: Readonly<Record<string, unknown>>
  /** How long it may take for its end, in milliseconds: the relay's main thread waits for it. */
  readonly endMs: number
}

/** Runs in pino's thread: the operator's transport, with an end that comes in time. */
export default async ({ file, options, endMs }: TargetOptions): Promise<Writable> => {
  const inner = await makerIn(await import(pathToFileURL(file).href), file)(options)
  const outer = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      if (inner.write(chunk)) done()
      else inner.once('drain', () => done())
    },
    final(done) {
      const timer = setTimeout(done, endMs)
      inner.once('close', () => {
        clearTimeout(timer)
        done()
      })
      inner.end()
    },
  })
  inner.on('error', (error: Error) => outer.destroy(error))
  inner.once('close', () => {
    if (!outer.writableEnded) outer.destroy(new Error('it has ended by itself'))
  })
  return outer
}

type Maker = (options: Readonly<Record<string, unknown>>) => Writable | Promise<Writable>

/** The default export; of a CommonJS module that was compiled, the default of the default. */
const makerIn = (module: unknown, file: string): Maker => {
  let found = module
  for (let depth = 0; depth < 2 && typeof found === 'object' && found !== null && 'default' in found; depth += 1) found = found.default
  if (typeof found !== 'function') throw new Error(`${file} is no pino transport: its default export is no function`)
  return found as Maker
}
