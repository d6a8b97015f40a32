import type { Flag } from './flags.js'

export const auditFlags: Readonly<Record<string, Flag>> = {
  key: { type: 'string', multiple: true, describe: 'public key that signed the checkpoints: Ed25519, PEM (repeatable)' },
  head: { type: 'string', multiple: true, describe: 'hash of a record that must be there, as the relay told the operator (repeatable)' },
}
