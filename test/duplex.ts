import { Duplex, PassThrough } from 'node:stream'

/** Two streams; what is written to one is read from the other. */
export const duplexPair = (): readonly [Duplex, Duplex] => {
  const [there, back] = [new PassThrough(), new PassThrough()]
  return [Duplex.from({ readable: back, writable: there }), Duplex.from({ readable: there, writable: back })]
}
