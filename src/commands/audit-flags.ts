import type { Flags } from './flag.js'

export const auditFlags: Flags = {
  key: { type: 'string', value: 'FILE', multiple: true, describe: 'public key that signed the checkpoints: Ed25519, PEM' },
  head: { type: 'string', value: 'HASH', multiple: true, describe: 'hash of a record that must be there, as the relay told the operator' },
}
