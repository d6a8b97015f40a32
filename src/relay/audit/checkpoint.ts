import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cannotRead, CustomsError } from '#relay/base/errors.js'
import { isString, field, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { canonical } from '#relay/base/canonical.js'
import { isoTime, sealedLine, type RecordLine, type Position } from './record.js'

/** The `event` of the records about the log itself. */
const checkpointEvent = 'audit/checkpoint'
export const lossEvent = 'audit/lost'

/**
 * Why a checkpoint is written: a relay continues or signs a log (`start`), time or records have passed
 * (`interval`), a file ends (`rotation`), the next one begins (`continuation`), or the log is closed (`end`).
 * Without a signing key, none is written at intervals and at the end.
 */
const reasons = ['start', 'interval', 'rotation', 'continuation', 'end'] as const
type Reason = (typeof reasons)[number]

export interface Checkpoint {
  readonly reason: Reason
  /** In a start or continuation: the hash of the first record of the log, which names it. */
  readonly log?: string | undefined
}

/**
 * The line of a checkpoint. The signature (Ed25519, base64) covers the record's canonical form without `hash`
 * and `signature`; through `prev` it covers every record before as well.
 */
export const checkpointLine = (
  { reason, log }: Checkpoint, last: Position, now: Date, key: KeyObject | undefined,
): RecordLine => {
  const [before, time] = [{ event: checkpointEvent, from: 'relay' }, isoTime(now)]
  const continued = { log, prev: last.hash, reason, seq: last.seq + 1 }
  const signature = key && sign(null, Buffer.from(JSON.stringify({ ...before, ...continued, time })), key)
  return sealedLine(before, [{ ...continued, signature: signature?.toString('base64'), time }], last)
}

/** The line that says how many records could not be written before it (`onFailure: continue`). */
export const lossLine = (lost: number, last: Position, now: Date): RecordLine =>
  sealedLine(
    { event: lossEvent, from: 'relay' },
    [{ lost, prev: last.hash, seq: last.seq + 1, time: isoTime(now) }], last,
  )

/** Whether one of the keys signed the record. */
export const isSignedBy = (keys: readonly KeyObject[], record: DataObject): boolean => {
  const signature = field(record, 'signature')
  if (!isString(signature)) return false
  const bytes = Buffer.from(canonical({ ...record, hash: undefined, signature: undefined }))
  return keys.some(key => verify(null, bytes, key, Buffer.from(signature, 'base64')))
}

/**
 * The event, if the relay itself caused the record; undefined for requests of a client or server, whatever
 * their method is called. Logs of earlier versions do not have `from`.
 */
export const ownEvent = (record: DataObject): Data | undefined => {
  const from = field(record, 'from')
  return from === undefined || from === 'relay' ? field(record, 'event') : undefined
}

export const checkpointOf = (record: DataObject): Checkpoint | undefined => {
  const [reason, log] = [field(record, 'reason'), field(record, 'log')]
  if (ownEvent(record) !== checkpointEvent || !isReason(reason)) return undefined
  return { reason, log: isString(log) ? log : undefined }
}

const isReason = (reason: unknown): reason is Reason => reasons.some(one => one === reason)

/**
 * The private key that signs checkpoints: Ed25519, PEM (PKCS#8, `openssl genpkey -algorithm ed25519`).
 * @throws CustomsError BAD_CONFIG; the message quotes nothing of the file
 */
export const readSigningKey = (file: string): KeyObject => readKey(file, createPrivateKey, 'private')

/** The public key: PEM (SPKI, as `openssl pkey -pubout` writes it). @throws CustomsError BAD_CONFIG */
export const readPublicKey = (file: string): KeyObject => readKey(file, createPublicKey, 'public')

const readKey = (file: string, create: (pem: Buffer) => KeyObject, kind: string): KeyObject => {
  let pem: Buffer
  try {
    pem = readFileSync(file)
  } catch (cause) {
    throw cannotRead('BAD_CONFIG', file, cause)
  }
  try {
    const key = create(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // OpenSSL's reasons are obscure; the error below says what is expected.
  }
  throw new CustomsError('BAD_CONFIG', `${file}: is no Ed25519 ${kind} key in PEM`)
}
