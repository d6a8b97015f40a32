import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { codeOf, CustomsError } from '../errors.js'
import { isString, member, type Json, type JsonObject } from '../protocol/unmetered.js'
import { canonical } from '../canonical.js'
import { isoTime, sealed, type Line, type Position } from './record.js'

/** The `event` of the records that are about the log itself. */
export const checkpointEvent = 'audit/checkpoint'
export const lossEvent = 'audit/lost'

/**
 * Why a checkpoint stands where it does: a relay opens the log (`start`), goes on (`interval`), ends a file (`rotation`), begins
 * the next one (`continuation`), or closes the log (`end`). Without a key to sign with there are only those of rotation.
 */
export type Occasion = 'start' | 'interval' | 'rotation' | 'continuation' | 'end'

export interface Checkpoint {
  readonly reason: Occasion
  /** Of a continuation, whose log it continues: the hash of the log's first record. */
  readonly log?: string | undefined
}

/**
 * The line of a checkpoint. The signature (Ed25519, base64) is of the record's canonical form without `hash` and `signature`:
 * by `prev` it vouches for everything before as well.
 */
export const checkpointLine = ({ reason, log }: Checkpoint, last: Position, now: Date, key: KeyObject | undefined): Line => {
  const before = `"event":"${checkpointEvent}","from":"relay",`
  const middle = `${log === undefined ? '' : `"log":"${log}",`}"prev":"${last.hash}","reason":"${reason}","seq":${last.seq + 1},`
  const time = `"time":"${isoTime(now)}"`
  const signature = key && sign(null, Buffer.from(`{${before}${middle}${time}}`), key).toString('base64')
  return sealed(before, middle + (signature === undefined ? '' : `"signature":"${signature}",`) + time, last)
}

/** The line that says how many records could not be written since the last one that was (`onFailure: continue`). */
export const lossLine = (lost: number, last: Position, now: Date): Line =>
  sealed(`"event":"${lossEvent}","from":"relay",`, `"lost":${lost},"prev":"${last.hash}","seq":${last.seq + 1},"time":"${isoTime(now)}"`, last)

/** Whether one of the keys signed the record. */
export const isSignedBy = (keys: readonly KeyObject[], record: JsonObject): boolean => {
  const signature = member(record, 'signature')
  if (!isString(signature)) return false
  const bytes = Buffer.from(canonical({ ...record, hash: undefined, signature: undefined }))
  return keys.some(key => verify(null, bytes, key, Buffer.from(signature, 'base64')))
}

/** The event of a record that the relay made of itself, for nobody; undefined for every other record. Logs of earlier versions do not say who asked. */
export const ownEvent = (record: JsonObject): Json | undefined => {
  const from = member(record, 'from')
  return from === undefined || from === 'relay' ? member(record, 'event') : undefined
}

/** What the record says of the log; undefined for every other record. */
export const checkpointOf = (record: JsonObject): Checkpoint | undefined => {
  const [reason, log] = [member(record, 'reason'), member(record, 'log')]
  if (ownEvent(record) !== checkpointEvent || !isOccasion(reason)) return undefined
  return { reason, log: isString(log) ? log : undefined }
}

const occasions: ReadonlySet<unknown> = new Set<Occasion>(['start', 'interval', 'rotation', 'continuation', 'end'])
const isOccasion = (reason: unknown): reason is Occasion => occasions.has(reason)

/**
 * The key that signs checkpoints: Ed25519, PEM (PKCS#8, as `openssl genpkey -algorithm ed25519` writes it).
 * @throws CustomsError BAD_CONFIG; no byte of the file is in the message
 */
export const readSigningKey = (file: string): KeyObject => readKey(file, createPrivateKey, 'private')

/** The key that checks them: PEM (SPKI, as `openssl pkey -pubout` writes it). @throws CustomsError BAD_CONFIG */
export const readPublicKey = (file: string): KeyObject => readKey(file, createPublicKey, 'public')

const readKey = (file: string, create: (pem: Buffer) => KeyObject, kind: string): KeyObject => {
  const fail = (reason: string): never => {
    throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
  }
  let pem: Buffer
  try {
    pem = readFileSync(file)
  } catch (cause) {
    return fail(`cannot be read (${codeOf(cause)})`)
  }
  try {
    const key = create(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // Said below: the reasons of OpenSSL help nobody.
  }
  return fail(`is no Ed25519 ${kind} key in PEM`)
}
