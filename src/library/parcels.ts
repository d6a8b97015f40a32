import type { Envelope, Frame, FrameLimits } from '../protocol/frame.js'
import { parseJson } from '../protocol/json.js'
import { parseFrame } from '../protocol/parse.js'

/** A message as an SDK knows it, and what came with it. */
export interface Parcel {
  readonly message: unknown
  /** `extra` of a message that was received, `options` of one that is to be sent. */
  readonly extra: unknown
}

/**
 * Messages of an SDK on their way through the relay, which knows only frames. What passes unchanged comes out as the very object
 * that went in. A frame's envelope goes with whatever the relay makes of the frame: by it they are found again.
 */
export class Parcels<Kind extends Parcel> {
  readonly #limits: FrameLimits
  readonly #parcels = new WeakMap<Envelope, { readonly bytes: Buffer; readonly parcel: Kind }>()

  constructor(limits: FrameLimits) {
    this.#limits = limits
  }

  /** @throws TypeError when the message is no JSON value */
  frameOf(parcel: Kind): Frame {
    const text: unknown = JSON.stringify(parcel.message)
    if (typeof text !== 'string') throw new TypeError('the message is no JSON value')
    const envelope = {}
    const bytes = Buffer.from(text)
    this.#parcels.set(envelope, { bytes, parcel })
    return { ...parseFrame(bytes, this.#limits), bytes, envelope }
  }

  /** The message to hand on, and the parcel in whose place it stands; none for a message that is the relay's own. */
  open(frame: Frame): { readonly message: unknown; readonly parcel: Kind | undefined } {
    const found = frame.envelope && this.#parcels.get(frame.envelope)
    const message: unknown = found?.bytes === frame.bytes ? found.parcel.message : parseJson(frame.bytes.toString())
    return { message, parcel: found?.parcel }
  }
}
