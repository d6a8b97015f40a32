import type { Log } from '../audit/log.js'
import type { Usage } from '../audit/log-file.js'
import { openAudit, type Audit, type AuditOptions } from '../audit/sink.js'
import type { AuditConfiguration } from '../config/configuration.js'

/** The standard output, which `serve` has to spare. */
const standardOutput = 1

type AuditsOptions = Pick<AuditOptions, 'followers' | 'failed'> & { readonly log: Log }

/**
 * The logs of a gateway: one for all of its servers where the operator names a file, else one for each. Each is opened
 * once, and stays open when the configuration is read again: its chain has one writer. What of each call is kept in it is the guard's to say.
 */
export class Audits {
  readonly #options: AuditsOptions
  readonly #open = new Map<string, Promise<Audit>>()
  /** By the server's name; two may share a file. */
  readonly #opened = new Map<string, Audit>()

  constructor(options: AuditsOptions) {
    this.#options = options
  }

  /** @throws CustomsError CANNOT_AUDIT */
  async open(configuration: AuditConfiguration, server: string): Promise<Audit> {
    const { file } = configuration
    const key = file === undefined ? `server ${server}` : `file ${file}`
    const audit = this.#open.get(key) ?? openAudit({ ...configuration, server, stream: standardOutput, ...this.#options })
    this.#open.set(key, audit)
    // What could not be opened is tried again when the configuration is read again.
    audit.catch(() => this.#open.delete(key))
    this.#opened.set(server, await audit)
    return audit
  }

  /** That of a server, once it is open. */
  of(server: string): Audit | undefined {
    return this.#opened.get(server)
  }

  /** What those on disk take up, by the server's name. */
  usage(): ReadonlyMap<string, Usage> {
    return new Map([...this.#opened].flatMap(([server, audit]) => {
      const usage = audit.usage()
      return usage ? [[server, usage] as const] : []
    }))
  }

  /** @throws CustomsError CANNOT_AUDIT when one could not be brought to its end; all are closed */
  async close(): Promise<void> {
    const audits = await Promise.all(this.#open.values())
    const failures = audits.flatMap(audit => {
      try {
        audit.close()
        return []
      } catch (error) {
        return [error]
      }
    })
    if (failures.length > 0) throw failures[0]
  }
}
