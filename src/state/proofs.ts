import { createHmac, timingSafeEqual } from 'node:crypto'

/** How far the clocks of two replicas may differ, in milliseconds. */
const clocksMs = 60_000

/** Signatures by a secret that all replicas have. */
export class Proofs {
  readonly #secret: string

  constructor(secret: string) {
    this.#secret = secret
  }

  sign(...parts: readonly string[]): string {
    return createHmac('sha256', this.#secret).update(JSON.stringify(parts)).digest('base64url')
  }

  isSigned(signature: string, ...parts: readonly string[]): boolean {
    const [a, b] = [Buffer.from(signature), Buffer.from(this.sign(...parts))]
    return a.length === b.length && timingSafeEqual(a, b)
  }

  /** A proof that a replica passes this request on. @param facts what the request is */
  proofOf(facts: readonly string[], now = Date.now()): string {
    return `${now}.${this.sign('pass', String(now), ...facts)}`
  }

  isProof(proof: string, facts: readonly string[], now = Date.now()): boolean {
    const [at = '', signature = ''] = proof.split('.')
    return Math.abs(now - Number(at)) < clocksMs && this.isSigned(signature, 'pass', at, ...facts)
  }
}
