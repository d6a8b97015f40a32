import { isAscii } from 'node:buffer'
import { byte } from './scan.js'

/** Escapes of control characters other than TAB, LF and CR, and of whatever lies outside ASCII. */
const escapes = ['\\u', '\\b', '\\f']

/**
 * True when no string of a JSON text can hold anything but printable ASCII, TAB, LF and CR: nothing hides in such a text, and
 * most results are one. Told from the bytes at memory speed, where a walk over the strings costs as much as parsing them.
 */
export const isPlain = (bytes: Buffer): boolean =>
  isAscii(bytes) &&
  !bytes.includes(0x7f) &&
  (!bytes.includes(byte.backslash) || escapes.every(escape => !bytes.includes(escape)))
