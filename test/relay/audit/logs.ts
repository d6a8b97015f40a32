import type { Audit, AuditOptions } from '#relay/audit/audit.js'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readPublicKey } from '#relay/audit/checkpoint.js'
import { openAudit } from '#relay/audit/sink.js'
import { called, ended, started } from './entries.js'

export const open = (file: string | undefined, more: Partial<AuditOptions> = {}): Promise<Audit> =>
  openAudit({ file, server: 'weather', ...more })

export const records = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8').trimEnd().split('\n').map(line => JSON.parse(line) as Record<string, unknown>)

let sessions = 0

/** Opens the log, writes a session of three records, and closes it. */
export const writeSession = async (
  file: string | undefined, more: Partial<AuditOptions> = {},
): Promise<string> => {
  const audit = await open(file, more)
  const id = `s-${++sessions}`
  for (const one of [started, called, ended]) audit.write({ ...one, session: id })
  const { file: written = '' } = audit
  audit.close()
  return written
}

/** A pair of keys in a folder: the file of the private one, and the public one. */
export const keysIn = (folder: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const [signKey, pub] = [join(folder, 'audit.key'), join(folder, 'audit.pub')]
  writeFileSync(signKey, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(pub, publicKey.export({ type: 'spki', format: 'pem' }))
  return { signKey, pub, key: readPublicKey(pub) }
}

/** The clock of a test: it goes when it is told. */
export const clock = (start: string) => {
  let time = Date.parse(start)
  return { now: () => new Date(time), pass: (ms: number) => void (time += ms) }
}

/** What the operator was told of. */
export const listener = () => {
  const heads: string[] = []
  const warnings: string[] = []
  return {
    heads,
    warnings,
    log: {
      checkpoint: (_file: string | undefined, { hash }: { readonly hash: string }): void =>
        void heads.push(hash),
      warn: (message: string): void => void warnings.push(message),
    },
  }
}
