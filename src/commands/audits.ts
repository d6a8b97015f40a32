import { openAudit, type Audit } from '../audit/sink.js'
import type { AuditConfiguration } from '../config/configuration.js'

/** The standard output, which `serve` has to spare. */
const standardOutput = 1

/**
 * The logs of a gateway: one for all of its servers where the operator names a file, else one for each. Each is opened
 * once, and stays open when the configuration is read again: its chain has one writer.
 */
export class Audits {
  readonly #open = new Map<string, Audit>()

  /** @throws CustomsError CANNOT_AUDIT */
  open({ file, payloads }: AuditConfiguration, server: string): Audit {
    const key = file === undefined ? `server ${server}` : `file ${file}`
    const audit = this.#open.get(key) ?? openAudit({ file, payloads, server, stream: standardOutput })
    this.#open.set(key, audit)
    return audit
  }

  close(): void {
    for (const audit of this.#open.values()) audit.close()
  }
}
