import { createHash, randomBytes } from 'node:crypto'

/** V8 hashes what is longer than 16,383 characters by its length alone: as keys of a Map, a thousand of one length would all collide. */
const longest = 1000

// Nobody can name a text that is the key of another.
const salt = randomBytes(16)

/** What stands for a text from the wire as the key of a Map or Set. */
export const nameKey = (text: string): string =>
  text.length <= longest ? text : createHash('sha256').update(salt).update(text).digest('base64')

/** What a name costs, in steps: to be hashed or to be copied. */
export const costOfName = (text: string): number => 2 + (text.length >> 2)
