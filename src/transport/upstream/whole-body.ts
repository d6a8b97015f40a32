import type { Frame } from '../../protocol/frame.js'
import type { IdKey } from '../../protocol/json-rpc.js'
import { Gathering, type Gathered } from '../gather.js'
import { decoded } from '../http/content-coding.js'
import { only } from '../http/headers.js'
import { nextPiece } from './body.js'
import type { Latch } from './latch.js'
import type { HttpReply } from './pool.js'

/**
 * A body that is one message, unpacked.
 * @param maxBytes of one that is longer no more is read
 * @returns undefined where it is empty
 * @throws UndecodableBody, or what the connection fails with
 */
export const wholeBody = async ({ body, headers }: HttpReply, maxBytes: number, latch: Latch): Promise<Gathered | undefined> => {
  const gathering = new Gathering(maxBytes, Number(only(headers, 'content-length')) || 0)
  const source = decoded(body, headers)
  // Not by `for await`: most bodies are here as a whole by the time that they are read, and need no waiting for.
  for (;;) {
    const piece = nextPiece(source)
    const next = piece instanceof Promise ? await piece : piece
    if (next.done === true) break
    if (latch.isClosed) await latch.passed()
    gathering.add(next.value)
    if (gathering.size > maxBytes) {
      await source.return(undefined)
      break
    }
  }
  return gathering.take()
}

/** A whole body without an id that can be read is the answer to what was asked with it, and to nothing else. */
export const answering = (frame: Frame, asked: () => readonly IdKey[]): Frame => {
  const { message } = frame
  return message.kind === 'unusable' && message.keys.length === 0 ? { ...frame, message: { ...message, keys: asked() } } : frame
}
