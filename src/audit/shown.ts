import { withoutSecrets } from './secrets.js'
import { stripHidden } from '../protocol/text/hidden.js'

/** Longest text of a peer's, in characters; as in a record. */
const longest = 256

/** A text from the wire as it is told: cut, without secrets, and with nothing that would change how it is shown. */
export const shown = (text: string): string => {
  const short = text.length <= longest ? text : `${text.slice(0, longest)}…`
  return withoutSecrets(plain.test(short) ? short : stripHidden(short.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '')))
}

const plain = /^[\x20-\x7e]*$/
